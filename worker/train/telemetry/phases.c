#include "worker/train/telemetry/phases.h"

#include <string.h>
#include <time.h>

const char *const phase_names[N_PHASES] = {
    [PHASE_OTHER] = "other",
    [PHASE_DATA] = "data",
    [PHASE_FORWARD] = "forward",
    [PHASE_BACKWARD] = "backward",
    [PHASE_COMMUNICATION] = "communication",
    [PHASE_UPDATE] = "update",
    [PHASE_EVALUATE] = "evaluate",
    [PHASE_CHECKPOINT] = "checkpoint",
};

static double clock_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void phases_become(struct phases *p, enum phase phase)
{
    const double now = clock_seconds();

    p->seconds[p->now] += now - p->since;
    p->since = now;
    p->now = phase;
}

void phases_begin(struct phases *p)
{
    p->thread = pthread_self();
    p->now = PHASE_OTHER;
    p->since = clock_seconds();
}

enum phase phases_enter(struct phases *p, enum phase phase)
{
    enum phase was;

    if (!pthread_equal(p->thread, pthread_self()))
        return PHASE_OTHER;
    was = p->now;
    if (was != PHASE_EVALUATE && was != phase)
        phases_become(p, phase);
    return was;
}

void phases_leave(struct phases *p, enum phase was)
{
    if (pthread_equal(p->thread, pthread_self()) && was != p->now)
        phases_become(p, was);
}

void phases_read(struct phases *p, double seconds[N_PHASES])
{
    phases_become(p, p->now);
    memcpy(seconds, p->seconds, sizeof p->seconds);
}
