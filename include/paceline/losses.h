/*
 * The losses that a job may name (spec.model.loss), and the metrics that models are judged by: one
 * row each. worker/model/loss.c has the arithmetic of the losses, by the same enum.
 */
#ifndef PACELINE_LOSSES_H
#define PACELINE_LOSSES_H

#include <stdbool.h>

#include "paceline/spec.h"

/* What the label of a sample is. */
enum label_kind {
    LABELS_CLASS,   /* one of the outputs */
    LABELS_WORDS,   /* the same for each position of a text */
    LABELS_NUMBERS, /* a number for each output */
    LABELS_BITS,    /* 0 or 1 for each output */
};

struct loss_def {
    const char *name;
    enum label_kind labels; /* of samples that are no text */
};
extern const struct loss_def loss_defs[N_LOSSES];

enum label_kind job_labels(const struct job *job);

static inline bool labels_are_classes(enum label_kind kind)
{
    return kind == LABELS_CLASS || kind == LABELS_WORDS;
}

struct metric_def {
    const char *name;
    bool larger;     /* the larger, the better */
    bool of_set;     /* known of a whole set alone: not of training while it runs */
    unsigned labels; /* kinds of labels that have it: 1 << kind, or-ed */
};
extern const struct metric_def metric_defs[N_METRICS];

/* Counts of pairs of classes, which some metrics are made of, are kept of so many at most. */
#define METRIC_CLASSES_MAX 100

static inline bool metric_fits(enum metric metric, enum label_kind kind)
{
    return metric_defs[metric].labels >> kind & 1;
}

/* The field of events that has it: of the set "test" "testLoss", of "" (training, or the only set)
 * "loss". */
struct metric_key {
    char s[40];
};
struct metric_key metric_key(const char *set, enum metric metric);

/* What "best" checkpoints are chosen by. */
enum metric metric_of_best(enum label_kind kind);

#endif
