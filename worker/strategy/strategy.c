#include "worker/strategy/strategy.h"

#include "worker/strategy/strategies.h"

const struct strategy *strategy_of(const struct job *job, int ranks)
{
    switch (job->strategy.type) {
    case STRATEGY_ALL_REDUCE:
        break;
    case STRATEGY_PARAMETER_SERVER:
        if (ranks == 1) /* it pushes to itself: each gradient is an update when it is there */
            return &all_reduce;
        if (job->strategy.mode != MODE_SYNC)
            return &downpour;
        if (job->strategy.schedule >= COMM_ONE_AT_A_TIME)
            return &sync_ps;
        return job->strategy.backup_workers > 0 ? &sync_ps : &all_reduce;
    case STRATEGY_LOCAL_SGD:
        return &local_sgd;
    case STRATEGY_ELASTIC_AVERAGING:
        return &elastic;
    case STRATEGY_MODEL_PARALLEL:
        return &model_parallel;
    case STRATEGY_SWITCH:
        return job->strategy.change.order == SERVERS_FIRST ? &downpour : &all_reduce;
    }
    return &all_reduce;
}

const struct strategy *strategy_after(const struct job *job)
{
    if (job->strategy.type != STRATEGY_SWITCH)
        return NULL;
    return job->strategy.change.order == SERVERS_FIRST ? &all_reduce : &downpour;
}

int strategy_check(const struct job *job, int ranks, struct err *err)
{
    const long long backups = job->strategy.backup_workers > 0 ? job->strategy.backup_workers : 0;
    const long long batches = job->training.accumulate + backups;
    const bool join = job->strategy.batch == BATCH_JOIN;
    const int servers = (int)job->replicas[ROLE_PS].replicas, workers = ranks - servers;

    if (workers < 1)
        return err_set(err, ERR_INVALID,
                       "spec.replicas.ps.replicas: %d servers in a world of %d ranks; needed: a "
                       "worker besides them",
                       servers, ranks);
    if (job->strategy.elastic_force * workers > 1)
        return err_set(
            err, ERR_INVALID,
            "spec.strategy.elasticForce: %g for %d workers; allowed: at most 1 / workers",
            job->strategy.elastic_force, workers);
    if (job->strategy.type == STRATEGY_MODEL_PARALLEL)
        return 0; /* what it can do depends on the network: see its place */
    if (job->strategy.groups > 0 && workers % job->strategy.groups != 0)
        return err_set(err, ERR_INVALID,
                       "spec.strategy.groups: %lld groups of %d workers; allowed: 0, or what "
                       "divides the workers",
                       (long long)job->strategy.groups, workers);
    if (workers > job_lanes(job))
        return err_set(
            err, ERR_INVALID,
            "spec.training.lanes: %d lanes for %d workers; allowed: at least one lane per "
            "worker",
            job_lanes(job), workers);
    if (join ? workers > batches : workers > 1 && batches > 1)
        return err_set(err, ERR_INVALID,
                       "spec.training.accumulate: %lld batches per update for %d workers; allowed: "
                       "%s",
                       batches, workers, join ? "at least one per worker" : "1 with batch split");
    return 0;
}
