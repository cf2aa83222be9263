#include "worker/strategy/servers.h"

#include "paceline/mem.h"
#include "worker/train/step.h"

bool servers_is_one(const struct trainer *t) { return comm_rank(t->comm) >= t->workers; }

bool servers_has_shards(const struct trainer *t)
{
    return comm_rank(t->comm) >= t->placement.first;
}

bool servers_is_clock(const struct trainer *t) { return comm_rank(t->comm) == t->placement.first; }

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

void servers_update(struct trainer *t, const float *gradients)
{
    for (int i = 0; i < t->placement.n; i++) {
        const struct shard *shard = &t->placement.shards[i];

        if (placement_owner(&t->placement, shard) == comm_rank(t->comm))
            step_update(t, shard->offset, shard->n, gradients);
    }
}

void servers_gather(struct trainer *t)
{
    const int slots = t->sharded ? 0 : t->optimizer.n_slots;

    for (int slot = -1; slot < slots; slot++) {
        float *slab = slot < 0 ? t->model.weights : t->optimizer.slots[slot];

        for (int i = 0; i < t->placement.n; i++) {
            const struct shard *shard = &t->placement.shards[i];

            comm_broadcast(t->comm, slab + shard->offset, shard->n * sizeof *slab,
                           placement_owner(&t->placement, shard));
        }
    }
}

/* The state of parameters [offset, offset + n), which have one owner, to their place in a slab of
 * rank `writer`. */
static void bring(struct trainer *t, int slot, size_t offset, size_t n, int owner, int writer,
                  float *slab)
{
    const int me = comm_rank(t->comm);
    float *from = me == owner ? optimizer_state(&t->optimizer, slot, offset) : slab + offset;

    if (owner != writer && (me == owner || me == writer))
        comm_pass(t->comm, from, n * sizeof *from, owner, writer);
    else if (me == owner && me == writer)
        memcpy(slab + offset, from, n * sizeof *from);
}

/* Shard by shard, to the place of the tensor in the slab of gradients, which are none now. */
static void collect_state(struct trainer *t, int slot, const struct param *param)
{
    const struct placement *p = &t->placement;
    const struct shard *shard = placement_find(p, param->offset);
    const size_t end = param->offset + param->floats;
    const int writers[] = {0, t->mirror};

    for (size_t at = param->offset; at < end; at = shard->offset + shard->n, shard++) {
        const size_t shard_end = shard->offset + shard->n;

        for (size_t i = 0; i < ARRAY_LEN(writers) && writers[i] >= 0; i++)
            bring(t, slot, at, (end < shard_end ? end : shard_end) - at, placement_owner(p, shard),
                  writers[i], t->sink.blocks[0]);
    }
}

const float *servers_collect(struct trainer *t, int slot, const struct param *param)
{
    const int me = comm_rank(t->comm);

    if (slot >= 0)
        collect_state(t, slot, param);
    if (me != 0 && me != t->mirror)
        return NULL;
    model_export(&t->model, param, trainer_room(t),
                 slot < 0 ? t->model.weights : t->sink.blocks[0]);
    return t->checkpoint_tensor;
}

void servers_count_transfers(const struct trainer *t, const struct ps_transport *e,
                             struct transfers *most)
{
    int in = 0, out = 0;

    if (servers_has_shards(t))
        ps_transport_most(e, &in, &out);
    *most = (struct transfers){.in = comm_max(t->comm, in), .out = comm_max(t->comm, out)};
}

void servers_report_transfers(const struct transfers *most, cJSON *done)
{
    cJSON_AddNumberToObject(done, "transfersIn", (double)most->in);
    cJSON_AddNumberToObject(done, "transfersOut", (double)most->out);
}
