/* The split of a ModelParallel job's network over its workers, and each worker's share. */
#ifndef PACELINE_JOB_SPLIT_H
#define PACELINE_JOB_SPLIT_H

#include "paceline/net_parts.h"
#include "paceline/spec.h"

enum split_kind { SPLIT_AUTOMATIC, SPLIT_NAIVE, SPLIT_BY_HAND, N_SPLIT_KINDS };
extern const char *const split_kind_names[N_SPLIT_KINDS];

/* The job's own: by hand where it has a strategy.layerPlacement. */
enum split_kind job_split_kind(const struct job *job);

/* worker[i] has part i. ERR_INVALID: more workers than parts, or a placement that tears a part or
 * names a worker that is not there. */
MUST_CHECK int job_split(const struct job *job, const struct net_parts *parts,
                         const struct net *net, enum split_kind kind, int workers, int *worker,
                         struct err *err);

/* One worker's share: FLOPs of a sample, and about so many bytes of parameters with their
 * gradients and the optimiser's state, and of activations. */
struct split_share {
    double load, parameters, activations;
};
/* shares[0 .. workers) */
void job_split_shares(const struct job *job, const struct net_parts *parts, const int *worker,
                      int workers, struct split_share *shares);

/* The largest speedup of a pipeline over one worker: all of the work over that of the slowest
 * worker, times M/(M + S - 1) for M micro-batches in S stages, the share of the time in which none
 * of them waits for the pipe to fill or to drain (Huang et al. 2019, section 2.3). */
double job_split_ceiling(const struct job *job, const struct split_share *shares, int workers);

#endif
