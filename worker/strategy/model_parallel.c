/*
 * ModelParallel: each worker has some of the layers, with their parameters, optimiser state and
 * activations, and sees every batch. Activations travel to the workers of the layers that take
 * them, their gradients back: a pipeline. With strategy.microBatches a batch goes through it in
 * pieces, all of them forward, then all of them back (GPipe, Huang et al. 2019), so that workers
 * compute at the same time; weights change once per batch.
 *
 * A micro-batch is an aligned block of the batch's lanes, and its gradient a node of their one
 * tree. The micro-batches' sums are added in the order of that tree, by the counter that sums
 * batches elsewhere. Where an output has several readers, what each gives to its gradient travels
 * apart, and is added in the order of one worker. So the bytes are those of one worker.
 */
#include <math.h>

#include "paceline/job_split.h"
#include "paceline/mem.h"
#include "worker/comm/p2p.h"
#include "worker/strategy/accumulator.h"
#include "worker/strategy/strategies.h"
#include "worker/train/step.h"

/* An output that a worker needs of another: layer's, for rank. */
struct route {
    int layer, rank;
    bool auxiliary; /* side outputs alone need it there: it goes in training only */
    bool there;     /* in the running pass */
};

/* Where layer `to` takes, as its input number `input`, the output of a layer of another worker:
 * what comes back for it, one way or the other. */
struct link {
    int from, to, input, tag;
    float *gradient;
    int expected; /* of p2p_expect; -1: it is added */
};

struct model_parallel {
    struct p2p *p2p;
    struct route *routes; /* from this rank and to it, in the order of the layers */
    int n_routes;
    struct link *links; /* the last readers first */
    int n_links;
    int *owner;              /* of each layer of the model */
    int last;                /* the owner of the last one, who has the losses */
    struct accumulator sums; /* of micro-batches; unused where gradients are applied at once */
    bool at_once;
    bool final;           /* the running micro-batch is the batch's last one */
    float *loss_gradient; /* of the outputs of the last layer, of a whole batch */
};

/* Micro-batch `index` of a batch of n samples that is cut into `count`. */
struct micro_batch {
    struct lane_block lanes;
    uint32_t first, n; /* samples */
};

static struct micro_batch micro_batch(const struct trainer *t, uint32_t n, int index, int count)
{
    const int lanes = t->lanes.total / count;
    struct micro_batch m = {.lanes = {.first = index * lanes}};

    while (1 << m.lanes.level < lanes)
        m.lanes.level++;
    m.first = lane_begin(t->lanes.total, m.lanes.first, n);
    m.n = lane_samples(t->lanes.total, m.lanes.first, lanes, n);
    return m;
}

/* How many a batch of n is cut into: none of them is without a sample. */
static int model_parallel_micro_batches(const struct trainer *t, uint32_t n)
{
    int count = (int)t->job->strategy.micro_batches;

    while (count > 1 && (uint32_t)count > n)
        count /= 2;
    return count;
}

static bool is_mine(const struct trainer *t, const struct model_parallel *m, int layer)
{
    return m->owner[layer] == comm_rank(t->comm);
}

/* --- life --- */

static void model_parallel_share(struct trainer *t) { t->lanes = t->shared; }

static bool model_parallel_takes(const struct trainer *t, uint32_t batch)
{
    (void)t, (void)batch;
    return true;
}

static int model_parallel_place(struct trainer *t, struct err *err)
{
    AUTO(net_parts_release) struct net_parts parts;
    AUTO(auto_free) int *worker = NULL;

    net_parts_init(&parts, &t->net);
    worker = xcalloc((size_t)parts.n, sizeof *worker);
    if (job_split(t->job, &parts, &t->net, job_split_kind(t->job), t->workers, worker, err) != 0)
        return -1;
    t->owners = xcalloc(t->net.n_layers, sizeof *t->owners);
    for (int p = 0; p < parts.n; p++)
        for (size_t i = 0; i < parts.items[p].n; i++)
            t->owners[parts.items[p].first + i] = worker[p];
    return 0;
}

/* Thread 0: the running micro-batch's gradient is final there. */
static void model_parallel_ready(void *arg, size_t offset, size_t n)
{
    struct trainer *t = arg;
    const struct model_parallel *m = t->own;

    accumulator_add(&m->sums, offset, n);
    if (m->final)
        step_update(t, offset, n, m->sums.slabs);
}

static void poll_p2p(void *arg) { p2p_poll(arg); }

/* The largest micro-batch; a smaller batch may be cut into fewer. */
static size_t model_parallel_most_samples(const struct trainer *t)
{
    const uint32_t n = (uint32_t)t->job->training.batch_size;
    const int count = model_parallel_micro_batches(t, n);
    uint32_t most = 2;

    for (int i = 0; i < count; i++)
        most = micro_batch(t, n, i, count).n > most ? micro_batch(t, n, i, count).n : most;
    return most;
}

static void add_route(struct trainer *t, struct model_parallel *m, int layer, int reader)
{
    const int me = comm_rank(t->comm), rank = m->owner[reader];

    if (rank == m->owner[layer] || (m->owner[layer] != me && rank != me))
        return;
    for (int i = 0; i < m->n_routes; i++)
        if (m->routes[i].layer == layer && m->routes[i].rank == rank) {
            m->routes[i].auxiliary &= t->model.layers[reader].auxiliary;
            return;
        }
    m->routes[m->n_routes++] = (struct route){
        .layer = layer, .rank = rank, .auxiliary = t->model.layers[reader].auxiliary};
}

static void add_link(struct trainer *t, struct model_parallel *m, struct link l)
{
    const size_t floats = t->model.layers[l.from].out_floats * model_parallel_most_samples(t);

    if (m->owner[l.from] == m->owner[l.to] || l.from < t->model.lowest_trained ||
        (!is_mine(t, m, l.from) && !is_mine(t, m, l.to)))
        return;
    l.gradient = xaligned(floats * sizeof *l.gradient);
    t->gradient_floats += floats;
    m->links[m->n_links++] = l;
}

/* What crosses between workers; tags are the same on all of them. */
static void init_links(struct trainer *t, struct model_parallel *m)
{
    const struct model *model = &t->model;
    int n = 0, tag = 1 + model->n_layers;

    for (int i = 0; i < model->n_layers; i++)
        n += model->layers[i].n_inputs;
    m->routes = xcalloc((size_t)n, sizeof *m->routes);
    m->links = xcalloc((size_t)n, sizeof *m->links);
    for (int i = model->n_layers - 1; i >= 0; i--)
        for (int k = 0; k < model->layers[i].n_inputs; k++, tag++)
            if (model->layers[i].inputs[k] >= 0)
                add_link(t, m, (struct link){model->layers[i].inputs[k], i, k, tag, NULL, -1});
    for (int layer = 0; layer < model->n_layers; layer++)
        for (int i = layer + 1; i < model->n_layers; i++)
            for (int k = 0; k < model->layers[i].n_inputs; k++)
                if (model->layers[i].inputs[k] == layer)
                    add_route(t, m, layer, i);
}

static void model_parallel_init(struct trainer *t)
{
    const int count = (int)t->job->strategy.micro_batches;
    const struct model *model = &t->model;
    struct model_parallel *m = t->own = xcalloc(1, sizeof *m);

    m->p2p = p2p_new(t->comm, t->job->strategy.wait_seconds);
    m->owner = xcalloc((size_t)model->n_layers, sizeof *m->owner);
    for (int i = 0; i < model->n_layers; i++)
        m->owner[i] = t->owners[model->layers[i].number];
    m->last = m->owner[model->n_layers - 1];
    if (is_mine(t, m, model->n_layers - 1))
        m->loss_gradient = xaligned(model->layers[model->n_layers - 1].out_floats *
                                    model->max_samples * sizeof *m->loss_gradient);
    init_links(t, m);
    t->pass.poll = poll_p2p;
    t->pass.poll_arg = m->p2p;
    t->sink.arg = t;
    t->sink.n_blocks = 1;
    m->at_once = count == 1;
    if (m->at_once) {
        t->sink.apply = step_apply;
        return;
    }
    t->sink.ready = model_parallel_ready;
    accumulator_init(&m->sums, t->kernels->reduce, lane_tree_of_batches(count, 1), 0,
                     model->n_floats);
    t->gradient_floats += model->n_floats * (size_t)m->sums.n_slabs;
}

static void model_parallel_release(struct trainer *t)
{
    struct model_parallel *m = t->own;

    p2p_free(m->p2p);
    accumulator_release(&m->sums);
    for (int i = 0; i < m->n_links; i++)
        free(m->links[i].gradient);
    free(m->links);
    free(m->routes);
    free(m->loss_gradient);
    free(m->owner);
    free(m);
}

/* --- a batch --- */

static void begin_pass(struct trainer *t, const struct batch *b, int index, int count)
{
    const struct micro_batch m = micro_batch(t, b->n, index, count);

    t->pass.first = m.first;
    t->pass.n = m.n;
    t->pass.n_update = b->n;
    t->pass.row = 0;
    t->pass.begins = b->index == 0;
    t->pass.ids = b->ids + m.first;
    t->pass.epoch = (uint32_t)b->epoch;
    step_cut(t, 0, m.lanes, b->n, m.first);
}

static void model_parallel_settle(struct trainer *t)
{
    const struct model_parallel *m = t->own;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);

    p2p_settle(m->p2p);
    phases_leave(&t->phases, was);
}

/* Values of layer i's output in the running pass. */
static size_t model_parallel_values_of(const struct trainer *t, int i)
{
    return t->model.layers[i].out_floats * t->pass.n;
}

/* The outputs that layer i takes of other workers. */
static void receive_inputs(struct trainer *t, int i, const float *x)
{
    struct model_parallel *m = t->own;
    const struct layer *l = &t->model.layers[i];
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);

    for (struct route *r = m->routes; r < m->routes + m->n_routes; r++)
        for (int k = 0; k < l->n_inputs && !r->there && r->rank == comm_rank(t->comm); k++) {
            if (l->inputs[k] != r->layer)
                continue;
            r->there = true;
            p2p_receive(m->p2p, m->owner[r->layer], 1 + r->layer,
                        model_output(&t->model, r->layer, &t->pass, x),
                        model_parallel_values_of(t, r->layer), "activations");
        }
    phases_leave(&t->phases, was);
}

static void send_output(struct trainer *t, int i, const float *x)
{
    struct model_parallel *m = t->own;

    for (const struct route *r = m->routes; r < m->routes + m->n_routes; r++)
        if (r->layer == i && r->rank != comm_rank(t->comm) && (t->pass.training || !r->auxiliary))
            p2p_send(m->p2p, r->rank, 1 + i, model_output(&t->model, i, &t->pass, x),
                     model_parallel_values_of(t, i));
}

static void walk_forward(struct trainer *t, const float *x)
{
    struct model_parallel *m = t->own;

    for (int i = 0; i < m->n_routes; i++)
        m->routes[i].there = false;
    for (int i = 0; i < t->model.n_layers; i++) {
        if (!is_mine(t, m, i) || (t->model.layers[i].auxiliary && !t->pass.training))
            continue;
        receive_inputs(t, i, x);
        model_forward_layer(&t->model, &t->pass, i, x);
        send_output(t, i, x);
    }
}

/* Places for all that will come, so that no worker waits until another one gets there. */
static void expect_gradients(struct trainer *t)
{
    struct model_parallel *m = t->own;

    for (struct link *l = m->links; l < m->links + m->n_links; l++)
        if (is_mine(t, m, l->from))
            l->expected = p2p_expect(m->p2p, m->owner[l->to], l->tag, l->gradient,
                                     model_parallel_values_of(t, l->from));
}

/* Adds what the readers after layer `reader` give to the gradient of layer i's output. */
static void add_gradients(struct trainer *t, int i, int reader)
{
    struct model_parallel *m = t->own;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);

    for (struct link *l = m->links; l < m->links + m->n_links && l->to > reader; l++) {
        if (l->from != i || l->expected < 0 || !is_mine(t, m, i))
            continue;
        p2p_await(m->p2p, l->expected, "gradients");
        l->expected = -1;
        model_add_gradient(&t->model, i, l->gradient, t->pass.n);
    }
    phases_leave(&t->phases, was);
}

static void layer_back(struct trainer *t, int i, const float *x)
{
    struct model_parallel *m = t->own;
    const struct layer *l = &t->model.layers[i];
    float *away[NET_INPUTS_MAX] = {NULL};

    add_gradients(t, i, i);
    for (int k = 0; k < l->n_inputs; k++)
        add_gradients(t, l->inputs[k], i);
    for (int k = 0; k < m->n_links; k++)
        if (m->links[k].to == i)
            away[m->links[k].input] = m->links[k].gradient;
    model_backward_layer(&t->model, &t->pass, i, x, away);
    for (const struct link *out = m->links; out < m->links + m->n_links; out++)
        if (out->to == i)
            p2p_send(m->p2p, m->owner[out->from], out->tag, out->gradient,
                     model_parallel_values_of(t, out->from));
}

/* What is still on its way is in the links' buffers, and has to be taken before more comes. */
static void walk_back(struct trainer *t, const float *x)
{
    struct model_parallel *m = t->own;
    const int last = t->model.n_layers - 1;

    model_parallel_settle(t);
    model_begin_backward(&t->model);
    expect_gradients(t);
    if (is_mine(t, m, last))
        model_add_gradient(&t->model, last,
                           m->loss_gradient + t->pass.first * t->model.layers[last].out_floats,
                           t->pass.n);
    for (int i = last; i >= t->model.lowest_trained; i--)
        if (is_mine(t, m, i))
            layer_back(t, i, x);
}

static void model_parallel_forward(struct trainer *t, const struct batch *b)
{
    const int count = model_parallel_micro_batches(t, b->n);
    const enum phase was = phases_enter(&t->phases, PHASE_FORWARD);

    for (int k = 0; k < count; k++) {
        begin_pass(t, b, k, count);
        walk_forward(t, b->x);
    }
    phases_leave(&t->phases, was);
}

static void back(struct trainer *t, const struct batch *b)
{
    struct model_parallel *m = t->own;
    const int count = model_parallel_micro_batches(t, b->n);
    const enum phase was = phases_enter(&t->phases, PHASE_BACKWARD);

    for (int k = 0; k < count; k++) {
        begin_pass(t, b, k, count);
        m->final = k + 1 == count;
        if (!m->at_once)
            t->sink.blocks[0] = accumulator_begin(&m->sums, k, count);
        walk_back(t, b->x);
    }
    phases_leave(&t->phases, was);
}

/* Those of the side outputs, each from its owner to that of the last layer, which adds them up,
 * sample by sample. */
static void model_parallel_side_losses(struct trainer *t, const struct batch *b)
{
    const struct model_parallel *m = t->own;
    const size_t bytes = (size_t)b->n * (size_t)t->model.positions * sizeof *t->side_losses;
    const int me = comm_rank(t->comm);
    enum phase was;

    step_side_losses(t, b, b->n);
    was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    for (int k = 0; k < t->model.n_sides; k++) {
        const int owner = m->owner[t->model.sides[k]];

        if (owner != m->last && (me == owner || me == m->last))
            comm_pass(t->comm, step_side_row(t, k), bytes, owner, m->last);
    }
    phases_leave(&t->phases, was);
}

/* The owner of the outputs has the losses of the whole batch. */
static void losses(struct trainer *t, const struct batch *b, uint32_t n_mean,
                   struct score_sums *sums)
{
    const struct model_parallel *m = t->own;

    t->pass.first = 0;
    t->pass.n = b->n;
    if (m->last == comm_rank(t->comm))
        step_losses(t, &t->lanes, b->n, b,
                    model_output(&t->model, t->model.n_layers - 1, &t->pass, b->x),
                    m->loss_gradient, n_mean, sums);
}

/* They become everybody's; nothing of the batch is on its way any more. */
static void share_losses(struct trainer *t)
{
    struct model_parallel *m = t->own;
    const size_t bytes = (size_t)t->lanes.total * LANE_VALUES * sizeof *t->lane_values;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);

    if (m->last == comm_rank(t->comm))
        memcpy(t->all_lane_values, t->lane_values, bytes);
    p2p_share(m->p2p, m->last, t->all_lane_values, bytes, "the losses");
    p2p_settle(m->p2p);
    phases_leave(&t->phases, was);
}

static void model_parallel_evaluate(struct trainer *t, const struct batch *b,
                                    struct score_sums *sums)
{
    model_parallel_forward(t, b);
    losses(t, b, 0, sums);
    share_losses(t);
}

static int model_parallel_step(struct trainer *t, struct err *err)
{
    struct model_parallel *m = t->own;
    const struct batch *b = step_batch(t);
    struct totals sum;

    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), 1);
    t->pass.training = true;
    model_parallel_forward(t, b);
    model_parallel_side_losses(t, b);
    losses(t, b, b->n, NULL);
    if (t->job->debug.fail_nan && t->at.step >= 2)
        t->lane_values[0] = NAN;
    back(t, b);
    share_losses(t);
    t->orders = t->wish;
    p2p_share(m->p2p, 0, &t->orders, sizeof t->orders, "the orders");
    t->orders = trainer_read_orders(t, 0, t->orders);
    sum = step_fold(t, b->n, t->all_lane_values);
    t->pass.first = 0;
    t->pass.n = b->n;
    if (!isfinite(sum.loss))
        return step_diverged(t, sum.loss / (double)sum.samples, err);
    step_add(&t->at.epoch_totals, sum);
    t->at.step++;
    t->at.batch = t->at.batch % trainer_batches_per_epoch(t) + 1;
    return 0;
}

/* --- checkpoints --- */

/* Every tensor stays with its owner. */
static void model_parallel_gather(struct trainer *t) { (void)t; }

static int model_parallel_owner_of(const struct trainer *t, const struct param *param)
{
    return ((const struct model_parallel *)t->own)->owner[param->layer];
}

static const float *model_parallel_collect(struct trainer *t, int slot, const struct param *param)
{
    struct model_parallel *m = t->own;
    const int owner = model_parallel_owner_of(t, param), me = comm_rank(t->comm),
              writers[] = {0, t->mirror};
    const size_t n = param_elements(param);
    float *to = trainer_room(t);

    if (owner == me)
        model_export(&t->model, param, to, slot < 0 ? t->model.weights : t->optimizer.slots[slot]);
    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        if (owner == writers[i])
            continue;
        if (owner == me && writers[i] >= 0)
            p2p_send(m->p2p, writers[i], 0, to, n);
        else if (writers[i] == me)
            p2p_receive(m->p2p, owner, 0, to, n, "a tensor of the checkpoint");
    }
    p2p_settle(m->p2p);
    return me == 0 || me == t->mirror ? to : NULL;
}

const struct strategy model_parallel = {
    .share = model_parallel_share,
    .takes = model_parallel_takes,
    .place = model_parallel_place,
    .init = model_parallel_init,
    .release = model_parallel_release,
    .step = model_parallel_step,
    .gather = model_parallel_gather,
    .collect = model_parallel_collect,
    .evaluate = model_parallel_evaluate,
};
