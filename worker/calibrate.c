/*
 * paceline-worker calibrate: the two times that estimates are made of. One rank measures updates
 * of one batch; two ranks, how long all parameters take from one to the other.
 */
#include <string.h>

#include "paceline/mem.h"
#include "worker/commands.h"
#include "worker/train/loop/transfer.h"
#include "worker/train/telemetry/events.h"

#define WARM 3
#define TIMES_DEFAULT 20
#define TIMES_MAX 1000

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
        transfer_time(t, t->model.n_floats, WARM, seconds, n);
    if (comm_rank(t->comm) != 0)
        return 0;
    e = event_new("calibration");
    cJSON_AddNumberToObject(e, alone ? "gradientSeconds" : "transferSeconds", median(seconds, n));
    cJSON_AddNumberToObject(e, "bytes", (double)t->model.n_floats * sizeof(float));
    event_send(e);
    return 0;
}
