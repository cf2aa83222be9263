/*
 * The file of a study (docs/tasks/run-a-study.md): one job in several variants, what is measured of
 * each, and what should come out.
 */
#ifndef PACELINE_CLI_STUDY_FILE_H
#define PACELINE_CLI_STUDY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/err.h"
#include "paceline/yaml.h"

#define STUDY_VARIANTS_MAX 256
#define STUDY_SEEDS_MAX 100

enum study_format {
    STUDY_NUMBER,
    STUDY_PERCENT,
    STUDY_SECONDS,
    STUDY_RATE,
    STUDY_LOSS,
    STUDY_BYTES
};

/* A number of a run. */
struct study_measure {
    const char *field; /* of the event done, or "epoch.", of the last epoch, or "start." */
    const char *less;  /* without this field of the same run; NULL: nothing */
    const char *per;   /* divided by this field of the same run; NULL: by nothing */
    int against;       /* and by what this variant has for the same seed; -1: by nothing */
    enum study_format format;
    int rank; /* from 1: lists are read at this rank; 0: their largest entry */
};

struct study_variant {
    char *name;         /* its own */
    const char *series; /* the curve it is a point of; NULL: none */
    double x;           /* where on it */
    const cJSON *use;   /* names of presets; NULL: none */
    const cJSON *set;   /* fields of the job; NULL: none */
    const cJSON *at;    /* paths of fields that are x; NULL: none */
    bool point;         /* one of `points`, which a scale may leave out */
    bool calibrates;    /* a gradient and a transfer are timed; nothing is trained */
    const char *peer;   /* another framework's command, run instead; NULL: none */
    int calibration;    /* the variant whose times estimates are made of; -1: none */
};

struct study_scale {
    const char *name, *note; /* note may be "" */
    int seeds;
    const cJSON *set;
    const cJSON *presets; /* before the study's; NULL: none */
    const cJSON *points;  /* that are run; NULL: all */
};

struct study_column {
    const char *title;
    struct study_measure measure;
    double *published; /* per variant; NAN: nothing survives. NULL: of none */
};

struct study_table {
    const char *title;
    struct study_column *columns;
    size_t n_columns;
    int *variants; /* its rows */
    size_t n_variants;
    bool by_rank; /* a row for each rank of these */
};

struct study_plot {
    const char *title, *x_label;
    struct study_measure measure;
    bool over_epochs;    /* a curve per variant, of a field of the epochs; else one per series */
    const cJSON *series; /* the names of those drawn; NULL: all */
    struct study_measure beside; /* dashed, of each series too; no field: none */
    const char *beside_title;
};

/* The measure rises from each of these variants to the next. */
struct study_ordering {
    const char *text;
    struct study_measure measure;
    int *variants;
    size_t n_variants;
};

/* A binary search for the first variant of a series whose measure is the reference's, less within.
 */
struct study_search {
    const char *title;
    struct study_measure measure;
    int reference;
    double within;
    int *variants; /* by x */
    size_t n_variants;
};

/* Texts and trees are the document's. */
struct study {
    struct yaml_doc doc;
    const char *name, *title, *source, *about;
    const cJSON *job;     /* the spec that all variants share */
    const cJSON *presets; /* fields of the job by name, for variants to use; NULL: none */
    struct study_scale *scales;
    struct study_variant *variants;
    struct study_table *tables;
    struct study_plot *plots;
    struct study_ordering *orderings;
    struct study_search *searches;
    size_t n_scales, n_variants, n_tables, n_plots, n_orderings, n_searches;
};

/* file is for messages. Fails (ERR_INVALID) with the first fault and its line. The caller owns *s
 * (study_release), also after a failure. */
MUST_CHECK int study_parse(struct study *s, const char *text, size_t len, const char *file,
                           struct err *err);
void study_release(struct study *s); /* also fit for AUTO */

/* -1: there is none of that name. */
int study_variant(const struct study *s, const char *name);
const struct study_scale *study_scale(const struct study *s, const char *name); /* or NULL */

/* Whether the scale runs it. */
bool study_runs(const struct study_scale *scale, const struct study_variant *v);
/* Whether a list has the series; no list (NULL) has all. */
bool study_shows(const cJSON *list, const char *series);
/* The fields of a preset: the scale's, else the study's; NULL: there is none of that name. */
const cJSON *study_preset(const struct study *s, const struct study_scale *scale, const char *name);

#endif
