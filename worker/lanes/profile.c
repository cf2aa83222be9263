#include "worker/lanes/profile.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "paceline/file.h"
#include "paceline/mem.h"

struct profile {
    pthread_t thread;
    int n_layers;
    int now; /* layer * N_PROFILE_PARTS + part; the last one: no layer */
    double since;
    double *us;
};

static double clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

struct profile *profile_new(int n_layers)
{
    struct profile *p = xcalloc(1, sizeof *p);

    p->thread = pthread_self();
    p->n_layers = n_layers;
    p->now = n_layers * N_PROFILE_PARTS;
    p->us = xcalloc((size_t)p->now + 1, sizeof *p->us);
    p->since = clock_us();
    return p;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    free(p->us);
    free(p);
}

void profile_clear(struct profile *p)
{
    memset(p->us, 0, ((size_t)p->n_layers * N_PROFILE_PARTS + 1) * sizeof *p->us);
    p->since = clock_us();
}

double profile_us(const struct profile *p, int layer, enum profile_part part)
{
    return p->us[layer * N_PROFILE_PARTS + (int)part];
}

static void profile_become(struct profile *p, int now)
{
    const double at = clock_us();

    p->us[p->now] += at - p->since;
    p->since = at;
    p->now = now;
}

int profile_begin(struct profile *p, int layer, enum profile_part part)
{
    int was;

    if (!pthread_equal(p->thread, pthread_self()))
        return 0;
    was = p->now;
    if (layer < 0)
        layer = was / N_PROFILE_PARTS;
    if (layer < p->n_layers)
        profile_become(p, layer * N_PROFILE_PARTS + (int)part);
    return was;
}

void profile_end(struct profile *p, int was)
{
    if (pthread_equal(p->thread, pthread_self()) && was != p->now)
        profile_become(p, was);
}
