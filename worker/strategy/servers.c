#include "worker/strategy/servers.h"

#include "paceline/mem.h"
#include "worker/train/step.h"

bool servers_is_one(const struct trainer *t) { return comm_rank(t->comm) >= t->workers; }

bool servers_is_clock(const struct trainer *t) { return comm_rank(t->comm) == t->workers; }

void servers_share(struct trainer *t)
{
    struct lane_tree whole = {.total = t->lane_tree.total, .workers = 1};

    lanes_init(&t->lanes, whole, servers_is_one(t) ? 1 : 0);
}

bool servers_takes(const struct trainer *t, uint32_t batch)
{
    (void)batch;
    return !servers_is_one(t);
}

int servers_turn(const struct trainer *t, size_t *turn, const bool *quiet)
{
    const size_t workers = (size_t)t->workers, n = t->job->debug.n_push_order;

    for (size_t tries = n ? workers + n : 0; tries > 0; tries--, (*turn)++) {
        int64_t worker =
            *turn < workers ? (int64_t)*turn : t->job->debug.push_order[(*turn - workers) % n];
        if (worker < t->workers && !quiet[worker])
            return (int)worker;
    }
    return -1;
}

void servers_init(struct servers *s, const struct trainer *t)
{
    const int dedicated = comm_size(t->comm) - t->workers, n_tensors = t->model.n_params;
    AUTO(auto_free) struct shard *tensors = xcalloc((size_t)n_tensors, sizeof *tensors);

    *s = (struct servers){.first = dedicated ? t->workers : 0,
                          .n = dedicated ? dedicated : t->workers};
    for (int i = 0; i < n_tensors; i++)
        tensors[i] =
            (struct shard){.offset = t->model.params[i].offset, .n = t->model.params[i].floats};
    placement_init(&s->placement, t->job->strategy.placement, tensors, n_tensors, t->model.n_floats,
                   s->n);
}

void servers_release(struct servers *s) { placement_release(&s->placement); }

void servers_update(const struct servers *s, struct trainer *t, const float *gradients)
{
    for (int i = 0; i < s->placement.n; i++) {
        const struct shard *shard = &s->placement.shards[i];

        if (s->first + shard->server == comm_rank(t->comm))
            step_update(t, shard->offset, shard->n, gradients);
    }
}

void servers_gather(const struct servers *s, struct trainer *t)
{
    for (int slot = -1; slot < t->optimizer.n_slots; slot++) {
        float *slab = slot < 0 ? t->model.weights : t->optimizer.slots[slot];

        for (int i = 0; i < s->placement.n; i++) {
            const struct shard *shard = &s->placement.shards[i];

            comm_broadcast(t->comm, slab + shard->offset, shard->n * sizeof *slab,
                           s->first + shard->server);
        }
    }
}
