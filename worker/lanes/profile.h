/*
 * Where a rank's time goes, layer by layer: the time of its first thread, which all threads of a
 * kernel take, is cut at each change, so nothing counts twice. Off (NULL) it costs a branch.
 */
#ifndef PACELINE_PROFILE_H
#define PACELINE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum profile_part {
    PROFILE_FORWARD,
    PROFILE_BACKWARD, /* of a convolution: the gradient of its input */
    PROFILE_WEIGHTS,  /* of a convolution: the gradient of its weights */
    PROFILE_UPDATE,
    N_PROFILE_PARTS
};

struct profile;
/* Of a model of so many layers, and the thread that calls. */
struct profile *profile_new(int n_layers);
void profile_free(struct profile *p);
void profile_clear(struct profile *p);
/* Microseconds since profile_clear. */
double profile_us(const struct profile *p, int layer, enum profile_part part);

/* What follows is this layer's (below zero: that of the layer that runs), until profile_leave gets
 * what was returned. Other threads' calls do nothing. */
int profile_begin(struct profile *p, int layer, enum profile_part part);
void profile_end(struct profile *p, int was);

/* `make bench-profiler` builds with PROFILE_NONE, without even the branch, to compare with. */
#ifdef PROFILE_NONE
#define PROFILE_IS_ON(p) ((void)(p), false)
#else
#define PROFILE_IS_ON(p) ((p) != NULL)
#endif

static inline int profile_enter(struct profile *p, int layer, enum profile_part part)
{
    return PROFILE_IS_ON(p) ? profile_begin(p, layer, part) : 0;
}

static inline void profile_leave(struct profile *p, int was)
{
    if (PROFILE_IS_ON(p))
        profile_end(p, was);
}

#endif
