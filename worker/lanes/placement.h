/*
 * Which server owns which parameters: the slab as shards, in order of their offsets. Servers are
 * consecutive ranks; where an optimiser is sharded, the workers. Pure.
 *
 * greedy: whole tensors, each to the server that has the least so far, in the order of the model
 * (algorithm 3.7 of study 003). balanced: stripes of equal length, dealt in turn, so that a layer
 * lies on all servers, and all have about the same.
 */
#ifndef PACELINE_PLACEMENT_H
#define PACELINE_PLACEMENT_H

#include <stddef.h>

#include "paceline/spec.h"

struct shard {
    size_t offset, n;
    int server; /* from 0 */
};

struct placement {
    struct shard *shards;
    int n;
    int first, servers; /* server s is rank first + s */
};

/* Of tensors, whose servers are not read, that lie in order in a slab of n_floats. Ranks are
 * counted from the first server; who has others in front sets p->first. */
void placement_init(struct placement *p, enum placement_kind kind, const struct shard *tensors,
                    int n_tensors, size_t n_floats, int servers);
void placement_release(struct placement *p);

/* The shard that this parameter is in. */
const struct shard *placement_find(const struct placement *p, size_t offset);

static inline int placement_owner(const struct placement *p, const struct shard *shard)
{
    return p->first + shard->server;
}

#endif
