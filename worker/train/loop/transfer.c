#include "worker/train/loop/transfer.h"

#include <math.h>

#include "paceline/predict.h"
#include "worker/comm/ps_transport.h"

#define PATIENCE_SECONDS 600
#define PART ((size_t)1 << 20) /* parameters; 34 ms at 1 Gbit/s */

void transfer_time(struct trainer *t, size_t floats, int warm, double *seconds, int n)
{
    const struct shard all = {.n = floats};
    struct placement placement;
    struct ps_transport *e;
    bool there = true;

    placement_init(&placement, PLACEMENT_GREEDY, &all, 1, all.n, 1);
    placement.first = 1;
    e = ps_transport_new(t->comm, &placement, PATIENCE_SECONDS);
    for (int i = -warm; i < n; i++) {
        double start = trainer_seconds();

        if (comm_rank(t->comm) == 1) {
            ps_transport_take(e, 0, t->model.weights);
            ps_transport_tell(e, 0, &there, sizeof there);
        } else if (comm_rank(t->comm) == 0) {
            ps_transport_push(e, t->model.weights);
            ps_transport_hear(e, 1, &there, sizeof there);
            if (i >= 0)
                seconds[i] = trainer_seconds() - start;
        }
    }
    ps_transport_free(e);
    placement_release(&placement);
}

double transfer_estimate(struct trainer *t)
{
    const struct estimate_costs any = {.gradient_s = 1, .transfer_s = 1};
    const size_t all = t->model.n_floats, part = all < PART ? all : PART;
    double seconds = 0;

    if (comm_size(t->comm) == 1 || isnan(predict_rate(t->job, &any)))
        return 0;
    transfer_time(t, part, 1, &seconds, 1);
    return seconds * (double)all / (double)part;
}
