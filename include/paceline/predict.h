/* The throughput that a job should have, by the estimates for its strategy. Pure. */
#ifndef PACELINE_PREDICT_H
#define PACELINE_PREDICT_H

#include "paceline/estimate.h"
#include "paceline/spec.h"

/*
 * Samples per second on the job's workers. Of costs the times are read, of a batch of the job and
 * of a transfer, and with greedy placement the tensors; the job says the rest. Synchronous servers
 * are taken at their best, as the engine's receive while they send, but with strategy.schedule
 * allAtOnce at their worst, and asynchronous ones at their worst, or between both with
 * strategy.transferSemaphore. Bytes that are sent while others compute are not counted. NAN: nobody
 * has a formula for this strategy.
 */
double predict_rate(const struct job *job, const struct estimate_costs *costs);

/* The case of study 003's formulas that fits the job; false: none does. One worker's all-reduce is
 * one worker. */
bool predict_case(const struct job *job, enum estimate_type *type, enum estimate_server *server);

/* The gradient's seconds, from the samples per second that one worker of the job reached: what is
 * left of a batch's time without its transfers. NAN as above, or when nothing is left. */
double predict_gradient(const struct job *job, const struct estimate_costs *costs,
                        double samples_per_second);

#endif
