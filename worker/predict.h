/* The command predict: it needs a checkpoint, and no data set. */
#ifndef PACELINE_PREDICT_H
#define PACELINE_PREDICT_H

#include "worker/commands.h"

#define PREDICT_TOP 3 /* likeliest classes, unless --top says otherwise */

/* Collective. Rank 0 sends one event for each sample of o->inputs, and one for each input that
 * cannot be read. If there are any of these, it fails after it has answered all others. */
MUST_CHECK int worker_predict(const struct job *job, struct comm *comm,
                              const struct kernels *kernels, const struct worker_options *o,
                              struct err *err);

#endif
