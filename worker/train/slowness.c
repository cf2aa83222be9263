#include "worker/train/slowness.h"

#include "worker/kernels/random.h"

double slowness(const struct job *job, int rank, int64_t step)
{
    const struct random_key key = {.seed = job->training.seed,
                                   .purpose = RANDOM_JITTER,
                                   .stream = (uint32_t)step,
                                   .item = (uint32_t)rank};
    double times = (size_t)rank < job->debug.n_slowdown ? job->debug.slowdown[rank] : 1;

    if (job->debug.jitter > 0)
        times *= 1 + job->debug.jitter * 0x1p-32 * random_u32(&key, 0);
    return times;
}
