/*
 * Parameters on servers: who keeps what, and how all of it comes together again. Servers are the
 * ranks behind the workers; without any the workers serve a share each.
 */
#ifndef PACELINE_SERVERS_H
#define PACELINE_SERVERS_H

#include "worker/model/placement.h"
#include "worker/train/trainer.h"

struct servers {
    struct placement placement;
    int first, n; /* ranks first .. first + n */
};

/* Whether this rank is one of those behind the workers; and the first of them, who has the clock.
 */
bool servers_is_one(const struct trainer *t);
bool servers_is_clock(const struct trainer *t);

/* For struct strategy, where workers have whole batches and servers none. */
void servers_share(struct trainer *t);
bool servers_takes(const struct trainer *t, uint32_t batch);

/* Whose note comes next, as debug.pushOrder says, from *turn on: first every worker, then those of
 * the list again and again, without those who are quiet; -1: of anybody. */
int servers_turn(const struct trainer *t, size_t *turn, const bool *quiet);

void servers_init(struct servers *s, const struct trainer *t);
void servers_release(struct servers *s);

/* This server's shards, by a slab of gradients; behind optimizer_begin_step. */
void servers_update(const struct servers *s, struct trainer *t, const float *gradients);

/* Collective. Weights and optimiser state from their servers to every rank. */
void servers_gather(const struct servers *s, struct trainer *t);

#endif
