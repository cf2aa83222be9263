/* Names for the figures of a run: accuracy and samples for classes, perplexity and words for a
 * text, the mean error for labels that are numbers. */
#ifndef PACELINE_CLI_METRIC_LABELS_H
#define PACELINE_CLI_METRIC_LABELS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "cli/base/format.h"

struct metric_labels {
    const char *rate, *unit;        /* the field of events, and what it counts: "samples/s" */
    const char *rates, *things;     /* "Samples per second", "samples" */
    const char *quality, *brief;    /* field and word: "accuracy"; and the same for a bar */
    const char *validation, *test;  /* fields */
    const char *title, *test_title; /* "Accuracy", "Test accuracy" */
    struct format_text (*format)(double quality);
    bool share;  /* of 1: the more, the better */
    bool values; /* labels are numbers or bits: metric_labels_scores tells a test */
};

/* The terms that fit an event with metrics (progress, epoch, done, evaluation). NULL, for no event,
 * gives those of classes. */
const struct metric_labels *metric_labels_of(const cJSON *event);

/* "R2 0.9078, MAE 0.4873, loss 0.2107": the metrics of one set in an event, the most important
 * first. set is "test", or "" if the event has one set only. The caller frees the text. */
char *metric_labels_scores(const cJSON *event, const char *set);

#endif
