/*
 * Memory for buffers of which each is needed for some time only: those that are needed at the same
 * time have places of their own in one slab, others may have the same.
 */
#ifndef PACELINE_MEMORY_PLAN_H
#define PACELINE_MEMORY_PLAN_H

#include <stddef.h>

struct memory_need {
    size_t floats;
    int from, to; /* the first and the last step at which it is needed */
    size_t at;    /* set by memory_plan: floats from the slab's begin, a multiple of 16 */
};

/* Sets all places and returns the floats of the slab. The largest come first, each to the lowest
 * place that is free for its time: good, not always best. */
size_t memory_plan(struct memory_need *needs, int n);

#endif
