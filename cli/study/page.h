/* The report of a study as one page: tables, ours beside the published figures, plots, orderings.
 */
#ifndef PACELINE_CLI_STUDY_PAGE_H
#define PACELINE_CLI_STUDY_PAGE_H

#include "cli/study/result.h"

void study_html(const struct study_results *r, const struct study_scale *scale, struct buf *out);

/* "2 ranks x 1 thread, avx512, NAME OF CPU" of the first run that there is; "" without one. */
struct machine_line {
    char s[200];
};
struct machine_line study_machine(const struct study_results *r);
/* Whether any of its runs was simulated. */
bool study_simulated(const struct study_results *r);

#endif
