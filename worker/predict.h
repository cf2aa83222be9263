/* The command predict: it needs a checkpoint, and no data set. */
#ifndef PACELINE_PREDICT_H
#define PACELINE_PREDICT_H

#include "worker/commands.h"

#define PREDICT_TOP 3 /* likeliest classes, unless --top says otherwise */

/* Collective; rank 0 answers, with one event for each sample of o->inputs, and one for each that
 * cannot be read. Fails when there is any of the latter, after all others have been answered. */
MUST_CHECK int worker_predict(const struct job *job, struct comm *comm,
                              const struct kernels *kernels, const struct worker_options *o,
                              struct err *err);

#endif
