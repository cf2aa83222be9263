/* What the figures of a run are called: of images accuracy and samples, of a text perplexity and
 * words. */
#ifndef PACELINE_CLI_TERMS_H
#define PACELINE_CLI_TERMS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "cli/format.h"

struct terms {
    const char *rate, *unit;        /* the field of events, and what it counts: "samples/s" */
    const char *rates, *things;     /* "Samples per second", "samples" */
    const char *quality, *brief;    /* field and word: "accuracy"; and the same for a bar */
    const char *validation, *test;  /* fields */
    const char *title, *test_title; /* "Accuracy", "Test accuracy" */
    struct text (*format)(double quality);
    bool share; /* of 1: the more, the better */
};

/* Those of an event with a rate: progress, epoch, done; NULL: there is none, so images'. */
const struct terms *terms_of(const cJSON *event);

#endif
