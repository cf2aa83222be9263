#include "worker/strategy/group.h"

#include "paceline/mem.h"
#include "worker/strategy/servers.h"
#include "worker/train/step.h"

static int group_count(const struct trainer *t)
{
    return t->job->strategy.groups ? (int)t->job->strategy.groups : t->workers;
}

static struct lane_tree tree_of(const struct trainer *t)
{
    return (struct lane_tree){.total = t->lane_tree.total, .workers = t->workers / group_count(t)};
}

void group_share(struct trainer *t)
{
    const struct lane_tree tree = tree_of(t);

    lanes_init(&t->lanes, tree,
               servers_is_one(t) ? tree.workers : comm_rank(t->comm) % tree.workers);
}

/* Thread 0: the batch's gradient is final there. */
static void group_ready(void *arg, size_t offset, size_t n)
{
    const struct group *g = arg;

    if (g->reducer)
        reducer_submit(g->reducer, offset, n);
}

static void group_poll_reducer(void *arg) { reducer_poll(arg); }

static void group_init_reducer(struct group *g, struct trainer *t)
{
    const struct reducer_config config = {.algorithm = ALGO_TREE,
                                          .wire = WIRE_FP32,
                                          .schedule = t->job->strategy.schedule,
                                          .fusion_bytes = (size_t)t->job->strategy.fusion_bytes};

    g->reducer = reducer_new(g->comm, t->kernels, &config, g->tree, t->model.n_floats);
    t->pass.poll = group_poll_reducer;
    t->pass.poll_arg = g->reducer;
    t->gradient_floats += t->model.n_floats; /* what is on its way */
}

void group_init(struct group *g, struct trainer *t)
{
    const size_t n = t->model.n_floats, slabs = t->lanes.n_blocks ? (size_t)t->lanes.n_blocks : 1;

    *g = (struct group){.n = group_count(t), .tree = tree_of(t)};
    g->size = g->tree.workers;
    g->comm = comm_part(t->comm, servers_is_one(t) ? -1 : comm_rank(t->comm) / g->size);
    g->slabs = xaligned(n * slabs * sizeof *g->slabs);
    t->gradient_floats += n * slabs;
    t->sink.ready = group_ready;
    t->sink.arg = g;
    t->sink.n_blocks = t->lanes.n_blocks;
    for (size_t i = 0; i < slabs; i++)
        t->sink.blocks[i] = g->slabs + n * i;
    if (g->comm && g->size > 1)
        group_init_reducer(g, t);
}

void group_release(struct group *g)
{
    reducer_free(g->reducer);
    comm_part_free(g->comm);
    free(g->slabs);
}

bool group_leads(const struct group *g, int rank) { return rank % g->size == 0; }

void group_tell(const struct group *g, void *bytes, size_t n)
{
    comm_broadcast(g->comm, bytes, n, 0);
}

struct totals group_compute(struct group *g, struct trainer *t)
{
    const struct batch *b = step_batch(t);
    enum phase was;
    size_t offset, n;

    step_forward(t, b, b->n_global);
    comm_lanes_begin(g->comm, g->tree, t->lane_values, LANE_VALUES);
    if (g->reducer)
        reducer_begin(g->reducer, b->n_global, t->sink.blocks);
    step_backward(t, b);
    was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    if (g->reducer) {
        reducer_finish(g->reducer);
        while (reducer_take(g->reducer, &offset, &n))
            ;
    }
    comm_lanes_end(g->comm, t->all_lane_values);
    phases_leave(&t->phases, was);
    return step_fold(t, b->n_global, t->all_lane_values);
}
