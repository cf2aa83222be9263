/*
 * One row for each loss that a job may name (spec.model.loss), and one for each metric.
 * worker/model/loss.c has the arithmetic of the losses, indexed by the same enum.
 */
#ifndef PACELINE_LOSSES_H
#define PACELINE_LOSSES_H

#include <stdbool.h>

#include "paceline/spec.h"

/* The kinds of labels of a sample. */
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

/* Confusion matrices, which some metrics need, are kept for at most this many classes. */
#define METRIC_CLASSES_MAX 100

static inline bool metric_fits(enum metric metric, enum label_kind kind)
{
    return metric_defs[metric].labels >> kind & 1;
}

/* The name of a metric's field in events: "testLoss" for the set "test"; "loss" for the set "",
 * which is training or the only set. */
struct metric_key {
    char s[40];
};
struct metric_key metric_key(const char *set, enum metric metric);

/* The metric that chooses the best checkpoint. */
enum metric metric_of_best(enum label_kind kind);

#endif
