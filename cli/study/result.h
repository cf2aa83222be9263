/* The results of a study's runs: measures, their mean over seeds, and whether an ordering held. */
#ifndef PACELINE_CLI_STUDY_RESULT_H
#define PACELINE_CLI_STUDY_RESULT_H

#include "cli/base/format.h"
#include "cli/report/history.h"
#include "cli/study/file.h"

/* One history per variant and seed; a run that there is not has no event done. */
struct study_results {
    const struct study *study;
    int seeds;
    struct history *runs; /* variant by variant, seed by seed */
};

void study_results_init(struct study_results *r, const struct study *s, int seeds);
void study_results_release(struct study_results *r); /* also fit for AUTO */
struct history *study_run(const struct study_results *r, int variant, int seed);
bool study_has_run(const struct study_results *r, int variant); /* to its end, with any seed */

/* Whether the run went on from a checkpoint: the times and sums of its event done are those of its
 * last part. */
bool study_is_part(const struct history *h);

/* Of one run; seed from 0: (field - less) / per, against the same of another variant. NAN: the run
 * does not say, or of a part of itself only. A list counts as its largest entry. */
double study_value(const struct study_results *r, const struct study_measure *m, int variant,
                   int seed);

/* The mean over seeds and half of its 95% interval (Student's t; NAN for one seed). */
struct study_mean {
    double mean, half;
    int n; /* seeds that have it */
};
/* The rows of a table: variants with a run, by rank each of its ranks. */
struct study_row {
    int variant;
    int rank;        /* from 1; 0: all */
    char label[100]; /* "split-2, worker 1" */
};
/* Fills rows, whose caller has room for most; returns how many there are. */
size_t study_rows(const struct study_results *r, const struct study_table *t,
                  struct study_row *rows, size_t most);
/* Of a column in a row. */
struct study_mean study_cell(const struct study_results *r, const struct study_column *column,
                             const struct study_row *row);

#define STUDY_ROWS_MAX 1024

/* Adds to a run's perRank of the event done sentBytes and receivedBytes, the sums of bytesTo. */
void study_add_traffic(struct history *h);

struct study_mean study_mean(const double *values, int n);
struct study_mean study_mean_of(const struct study_results *r, const struct study_measure *m,
                                int variant);

/* Whether the measure rises from one variant to another, by the differences seed by seed: their 95%
 * interval lies above 0, below, or has it inside; so that one seed decides nothing. */
enum study_verdict { STUDY_HELD, STUDY_NOT_HELD, STUDY_UNDECIDED };
enum study_verdict study_rises(const struct study_results *r, const struct study_measure *m,
                               int from, int to);
/* Of the whole ordering: held when every pair is, not held when one is not. */
enum study_verdict study_judge(const struct study_results *r, const struct study_ordering *o);
const char *study_verdict_text(enum study_verdict v);

/* The field of an event done that says why another program was not measured. */
#define STUDY_NOT_COMPARED "notCompared"
/* The text of a cell: its mean, or that the row is not compared. */
struct format_text study_cell_text(const struct study_results *r, const struct study_column *column,
                                   const struct study_row *row);
struct format_text study_format(enum study_format format, double value); /* "-" for NAN */
/* "48.3 s +- 0.4 s"; without an interval the mean alone. */
struct format_text study_format_mean(enum study_format format, struct study_mean m);

#endif
