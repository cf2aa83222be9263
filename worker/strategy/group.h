/*
 * Workers in groups of equal size (study 002: mixed mode). To the servers a group is one
 * worker: its first rank talks to them. All its ranks compute a share of each of its batches, and
 * the gradient is their sum in the one tree of lanes. So a group's size changes no byte.
 */
#ifndef PACELINE_GROUP_H
#define PACELINE_GROUP_H

#include "worker/train/trainer.h"

struct group {
    int n, size;             /* groups, and ranks of each; n = workers, size 1: no groups */
    struct comm *comm;       /* of this rank's group; NULL: a server */
    struct lane_tree tree;   /* of a batch, over the group */
    struct reducer *reducer; /* NULL: one rank */
    float *slabs; /* of each of the rank's lane blocks; the first: the group's gradient */
};

/* For struct strategy: sets t->lanes. */
void group_share(struct trainer *t);
/* Collective over the world. A server receives gradients into the first slab. */
void group_init(struct group *g, struct trainer *t);
void group_release(struct group *g);

/* Whether this rank, or worker number `rank`, is a group's first. */
bool group_leads(const struct group *g, int rank);

/* Sends bytes from the group's first rank to all of the group. */
void group_tell(const struct group *g, void *bytes, size_t n);
/* Computes the gradient and the totals of the batcher's next batch, on all ranks of the group. */
struct totals group_compute(struct group *g, struct trainer *t);

#endif
