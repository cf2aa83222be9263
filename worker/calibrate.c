/*
 * paceline-worker calibrate: the two times that estimates are made of. One rank measures updates
 * of one batch; two ranks, how long all parameters take from one to the other.
 */
#include <string.h>

#include "paceline/mem.h"
#include "worker/comm/exchange.h"
#include "worker/commands.h"
#include "worker/train/events.h"

#define WARM 3
#define TIMES_DEFAULT 20
#define TIMES_MAX 1000
#define PATIENCE_SECONDS 600

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int time_gradients(struct trainer *t, double *seconds, int n, struct err *err)
{
    for (int i = -WARM; i < n; i++) {
        double start = trainer_seconds();

        if (trainer_step(t, err) != 0)
            return -1;
        if (i >= 0)
            seconds[i] = trainer_seconds() - start;
    }
    return 0;
}

/* Rank 0 sends what asynchronous workers push to a server that has everything, until it is there.
 */
static void time_transfers(struct trainer *t, double *seconds, int n)
{
    const struct shard all = {.n = t->model.n_floats};
    struct placement placement;
    struct exchange *e;
    bool there = true;

    placement_init(&placement, PLACEMENT_GREEDY, &all, 1, all.n, 1);
    e = exchange_new(t->comm, &placement, 1, 1, PATIENCE_SECONDS);
    for (int i = -WARM; i < n; i++) {
        double start = trainer_seconds();

        if (comm_rank(t->comm) == 1) {
            exchange_take(e, 0, t->model.weights);
            exchange_tell(e, 0, &there, sizeof there);
            continue;
        }
        exchange_push(e, t->model.weights);
        exchange_hear(e, 1, &there, sizeof there);
        if (i >= 0)
            seconds[i] = trainer_seconds() - start;
    }
    exchange_free(e);
    placement_release(&placement);
}

int worker_calibrate(struct trainer *t, const struct worker_options *o, struct err *err)
{
    const int n = o->steps > 0 && o->steps < TIMES_MAX ? (int)o->steps : TIMES_DEFAULT;
    const bool alone = comm_size(t->comm) == 1;
    AUTO(auto_free) double *seconds = xcalloc((size_t)n, sizeof *seconds);
    cJSON *e;

    if (comm_size(t->comm) > 2)
        return err_set(err, ERR_INVALID,
                       "a world of %d ranks; needed: 1 to time the gradient, 2 the transfer",
                       comm_size(t->comm));
    if (alone && time_gradients(t, seconds, n, err) != 0)
        return -1;
    if (!alone)
        time_transfers(t, seconds, n);
    if (comm_rank(t->comm) != 0)
        return 0;
    e = event_new("calibration");
    cJSON_AddNumberToObject(e, alone ? "gradientSeconds" : "transferSeconds", median(seconds, n));
    cJSON_AddNumberToObject(e, "bytes", (double)t->model.n_floats * sizeof(float));
    event_send(e);
    return 0;
}
