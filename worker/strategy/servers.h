/*
 * Parameters that only their owners update (t->placement), and how they come back to all ranks. The
 * owners are the servers, which are the ranks after the workers; without servers each worker owns a
 * share.
 */
#ifndef PACELINE_SERVERS_H
#define PACELINE_SERVERS_H

#include "worker/comm/ps_transport.h"
#include "worker/train/trainer.h"

/* Whether this rank is a server, that is, a rank after the workers. */
bool servers_is_one(const struct trainer *t);
/* Whether this rank owns parameters: it is a server, or a worker of a job without servers. */
bool servers_has_shards(const struct trainer *t);
/* Whether this rank is the first owner, which keeps the clock. */
bool servers_is_clock(const struct trainer *t);

/* For struct strategy, where workers have whole batches and servers none. */
void servers_share(struct trainer *t);
bool servers_takes(const struct trainer *t, uint32_t batch);

/* The worker whose note debug.pushOrder wants next, from *turn on: first each worker once, then the
 * workers of the list again and again; quiet workers are skipped. -1: a note of any worker. */
int servers_turn(const struct trainer *t, size_t *turn, const bool *quiet);

/* Updates this server's shards with a slab of gradients. Call optimizer_begin_step before. */
void servers_update(struct trainer *t, const float *gradients);

/* The most transfers of parameters that any server had under way at once. */
struct transfers {
    int64_t in, out;
};
/* Collective. */
void servers_count_transfers(const struct trainer *t, const struct ps_transport *e,
                             struct transfers *most);
void servers_report_transfers(const struct transfers *most, cJSON *done);

/* For struct strategy. servers_gather brings every rank the owners' weights, and optimiser state
 * that is not sharded. servers_collect brings a tensor of sharded state to the ranks that write. */
void servers_gather(struct trainer *t);
const float *servers_collect(struct trainer *t, int slot, const struct param *param);

#endif
