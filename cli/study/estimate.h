/* The result that a run of a study should have reached, by study 003's formulas. Pure. */
#ifndef PACELINE_CLI_STUDY_ESTIMATE_H
#define PACELINE_CLI_STUDY_ESTIMATE_H

#include "cli/report/history.h"
#include "paceline/predict.h"

/*
 * Adds to a run's event done, by the gradientSeconds and transferSeconds of a calibration's,
 * speedups against one worker that transfers nothing (equation 4.23): "estimate" has speedup, best
 * and worst (section 4, of equal shards), predicted (predict.h, with these tensors where placement
 * is greedy) and measured, of the run itself. A figure without a formula is null. A run that has
 * not ended gets nothing.
 */
void study_estimate(struct history *h, const struct job *job, const struct history *calibration,
                    const size_t *tensors, size_t n_tensors);

#endif
