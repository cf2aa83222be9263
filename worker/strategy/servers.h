/*
 * Parameters that owners update (t->placement): servers, the ranks after the workers, or, without
 * any, the workers, a share each; and how all of it comes together again.
 */
#ifndef PACELINE_SERVERS_H
#define PACELINE_SERVERS_H

#include "worker/comm/ps_transport.h"
#include "worker/train/trainer.h"

/* Whether this rank is one of those after the workers; whether it owns parameters, as one of them
 * or, where there are none, as a worker; and whether it is the first owner, who has the clock. */
bool servers_is_one(const struct trainer *t);
bool servers_has_shards(const struct trainer *t);
bool servers_is_clock(const struct trainer *t);

/* For struct strategy, where workers have whole batches and servers none. */
void servers_share(struct trainer *t);
bool servers_takes(const struct trainer *t, uint32_t batch);

/* Whose note comes next, as debug.pushOrder says, from *turn on: first every worker, then those of
 * the list again and again, without those who are quiet; -1: of anybody. */
int servers_turn(const struct trainer *t, size_t *turn, const bool *quiet);

/* This server's shards, by a slab of gradients; after optimizer_begin_step. */
void servers_update(struct trainer *t, const float *gradients);

/* The most transfers of parameters that any server had under way at once. */
struct transfers {
    int64_t in, out;
};
/* Collective. */
void servers_count_transfers(const struct trainer *t, const struct ps_transport *e,
                             struct transfers *most);
void servers_report_transfers(const struct transfers *most, cJSON *done);

/* For struct strategy: weights from their owners to every rank, and state that is not sharded; and
 * state that is, to those that write. */
void servers_gather(struct trainer *t);
const float *servers_collect(struct trainer *t, int slot, const struct param *param);

#endif
