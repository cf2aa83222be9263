#include "paceline/predict.h"

#include <math.h>

#define MANY 1e6 /* batches: the first and last ones of a long training count little */

static enum estimate_algorithm algorithm_of(const struct job *job)
{
    static const enum estimate_algorithm of[] = {
        [ALGO_TREE] = ESTIMATE_TREE,   [ALGO_RING] = ESTIMATE_RING,
        [ALGO_MPI] = ESTIMATE_RING,    [ALGO_RECURSIVE_DOUBLING] = ESTIMATE_RECURSIVE_DOUBLING,
        [ALGO_NAIVE] = ESTIMATE_NAIVE,
    };

    return of[job->strategy.algorithm];
}

static enum estimate_server server_of(const struct job *job)
{
    if (job->strategy.type == STRATEGY_ALL_REDUCE)
        return ESTIMATE_ALL_REDUCE;
    return job->replicas[ROLE_PS].replicas ? ESTIMATE_CENTRAL : ESTIMATE_DISTRIBUTED;
}

static struct estimate_costs costs_of(const struct job *job, const struct estimate_costs *given)
{
    struct estimate_costs costs = *given;

    costs.batches = 1;
    costs.servers = (int)job->replicas[ROLE_PS].replicas;
    costs.algorithm = algorithm_of(job);
    costs.lanes = job_lanes(job);
    if (job->strategy.placement != PLACEMENT_GREEDY)
        costs.n_tensors = 0;
    return costs;
}

/* Each gradient is an update, and a step. Workers come to a server as they like, all at once at
 * worst. With the semaphore they come one at a time, but weights wait while a gradient comes in:
 * neither the best case nor the worst. */
static double async_rate(const struct job *job, struct estimate_costs *costs, int workers)
{
    struct estimate e;

    costs->batches = job->training.steps ? (double)job->training.steps : MANY;
    e = estimate_training(costs, ESTIMATE_ASYNC, server_of(job), workers);
    return costs->batches / (job->strategy.transfer_semaphore ? e.mean_s : e.worst_s);
}

/* Workers have whole batches of the update, the busiest one rounded up; what travels are sums of
 * batches. */
static double join_rate(const struct job *job, struct estimate_costs *costs, int workers)
{
    const double batches = (double)job->training.accumulate;
    const double own = ceil(batches / workers);
    struct estimate e;

    costs->lanes = (int)job->training.accumulate;
    e = estimate_update(costs, server_of(job), workers, own * costs->gradient_s);
    return batches / (job->strategy.schedule == COMM_ALL_AT_ONCE ? e.worst_s : e.best_s);
}

/* Between two meetings each worker makes updates of its own; then the mean of weights and of the
 * optimiser's state is taken. */
static double local_rate(const struct job *job, struct estimate_costs *costs, int workers)
{
    const double own = (double)(job->strategy.average_every * job->training.accumulate);

    costs->lanes = 0;
    costs->transfer_s *= 1 + job_optimizer_slots(&job->training.optimizer);
    return workers * own /
           estimate_update(costs, ESTIMATE_ALL_REDUCE, workers, own * costs->gradient_s).best_s;
}

/* Batches per second. */
static double batch_rate(const struct job *job, struct estimate_costs *costs)
{
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    const bool servers = job->strategy.type == STRATEGY_PARAMETER_SERVER;

    if (job->strategy.type == STRATEGY_LOCAL_SGD)
        return local_rate(job, costs, workers);
    if (!servers && job->strategy.type != STRATEGY_ALL_REDUCE)
        return NAN;
    if (servers && job->strategy.groups > 0)
        return NAN; /* what groups send within them is not known here */
    if (servers && job->strategy.mode != MODE_SYNC)
        return async_rate(job, costs, workers);
    if (workers == 1 || job->strategy.batch == BATCH_JOIN)
        return join_rate(job, costs, workers);
    return 1 / estimate_training(costs, ESTIMATE_SYNC_SPLIT, server_of(job), workers).best_s;
}

double predict_rate(const struct job *job, const struct estimate_costs *given)
{
    struct estimate_costs costs = costs_of(job, given);

    return batch_rate(job, &costs) * (double)job->training.batch_size;
}

bool predict_case(const struct job *job, enum estimate_type *type, enum estimate_server *server)
{
    const bool servers = job->strategy.type == STRATEGY_PARAMETER_SERVER;

    if ((!servers && job->strategy.type != STRATEGY_ALL_REDUCE) ||
        (servers && job->strategy.groups > 0))
        return false;
    *server = server_of(job);
    *type = job->strategy.batch == BATCH_JOIN ? ESTIMATE_SYNC_JOIN : ESTIMATE_SYNC_SPLIT;
    if (servers && job->strategy.mode != MODE_SYNC)
        *type = ESTIMATE_ASYNC;
    return true;
}

double predict_gradient(const struct job *job, const struct estimate_costs *given,
                        double samples_per_second)
{
    struct estimate_costs costs = costs_of(job, given);
    double seconds;

    costs.gradient_s = 0;
    seconds = (double)job->training.batch_size / samples_per_second - 1 / batch_rate(job, &costs);
    return seconds > 0 ? seconds : NAN;
}
