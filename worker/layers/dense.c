/* Dense layers, with ReLU fused after them where the net has one; of a text, on each position. In
 * bf16 weights and maps are packed in front of each pass: forward the weights, then x; on the way
 * back dy by lanes, then by rows. */
#include "paceline/mem.h"
#include "worker/layers/lane_sum.h"
#include "worker/layers/param_list.h"
#include "worker/layers/rows.h"

struct dense_task {
    struct layer *l;
    const struct pass *p;
    const struct dense_kernels *k;
    float *out, *dx;
    const float *x, *dy;
    int chunk0, chunk1; /* the chunks of one round */
    size_t direct;      /* floats of scratch before the gradient chunk */
};

static const struct dense_kernels *dense_kernels(const struct layer *l, const struct pass *p)
{
    return l->bf16 ? p->kernels->dense_bf16 : p->kernels->dense;
}

/* Where the second of the two that bf16 packs begins. */
static float *packed_rows(const struct dense_task *t)
{
    const struct dense *d = &t->l->dense;

    return t->l->packed + (t->dy ? dense_lane_words(d, (int)t->p->n) : dense_bf16_weight_words(d));
}

static void dense_pack_share(void *arg, int thread, int n_threads)
{
    const struct dense_task *t = arg;
    const struct dense *d = &t->l->dense;
    const int chunks = dense_chunks(d), columns = t->dy ? d->out : d->in;

    if (!t->dy)
        t->k->pack(d, t->l->packed, t->p->params + t->l->weight->offset,
                   share_begin(chunks, thread, n_threads),
                   share_begin(chunks, thread + 1, n_threads));
    t->k->pack_rows(packed_rows(t), t->dy ? t->dy : t->x, (int)t->p->n, columns,
                    share_begin(columns / 16, thread, n_threads) * 16,
                    share_begin(columns / 16, thread + 1, n_threads) * 16);
}

static void dense_forward_share(void *arg, int thread, int n_threads)
{
    const struct dense_task *t = arg;
    const struct layer *l = t->l;
    const int blocks = l->dense.out / 16;
    const float *bias = l->bias ? t->p->params + l->bias->offset : NULL;

    t->k->forward(&l->dense, t->out, t->k->pack_rows ? packed_rows(t) : t->x,
                  t->k->pack ? l->packed : t->p->params + l->weight->offset, bias, l->relu,
                  (int)t->p->n, share_begin(blocks, thread, n_threads),
                  share_begin(blocks, thread + 1, n_threads), t->p->scratch[thread]);
}

static void dense_layer_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct row_pass rows;
    struct dense_task t = {
        .l = l, .p = rows_of(&rows, p, l->rows), .k = dense_kernels(l, p), .out = y, .x = x};
    if (!p->n)
        return;
    if (t.k->pack)
        threads_run(p->threads, dense_pack_share, &t);
    threads_run(p->threads, dense_forward_share, &t);
}

/* Floats of scratch that the kernels of the way back take. */
static size_t backward_scratch(const struct layer *l, int n)
{
    return l->bf16 ? dense_bf16_scratch_floats(&l->dense, n) : dense_backward_scratch(&l->dense, n);
}

static size_t chunk_offset(const struct layer *l, int chunk)
{
    return l->weight->offset + (size_t)chunk * DENSE_CHUNK * (size_t)l->dense.out;
}
static size_t chunk_floats(const struct layer *l, int chunk)
{
    return (size_t)dense_chunk_inputs(&l->dense, chunk) * (size_t)l->dense.out;
}

/* One chunk of 64 inputs: data gradient, weight gradient and, where it may, the update, while its
 * weights are in the cache. */
static void backward_chunk(const struct dense_task *t, int chunk, int thread)
{
    const struct layer *l = t->l;
    const struct pass *p = t->p;
    struct gradient_sink *sink = p->sink;
    float *scratch = p->scratch[thread], *direct = scratch + t->direct;

    if (t->dx && p->n)
        t->k->backward_data(&l->dense, chunk, t->dx, t->k->pack_rows ? packed_rows(t) : t->dy,
                            p->params + l->weight->offset, (int)p->n, scratch);
    if (l->weight->frozen)
        return;
    for (int b = 0; b < p->n_blocks; b++) {
        if (!block_samples(&p->blocks[b]))
            continue;
        float *dw = sink->apply ? direct : sink->blocks[b] + chunk_offset(l, chunk);
        t->k->backward_weights(&l->dense, chunk, dw, t->x, l->packed, (int)p->n, &p->blocks[b],
                               scratch);
    }
    if (sink->apply)
        sink->apply(sink->arg, chunk_offset(l, chunk), chunk_floats(l, chunk), direct,
                    PARAM_WEIGHT);
}

static void dense_backward_share(void *arg, int thread, int n_threads)
{
    const struct dense_task *t = arg;
    int n = t->chunk1 - t->chunk0, end = t->chunk0 + share_begin(n, thread + 1, n_threads);
    for (int c = t->chunk0 + share_begin(n, thread, n_threads); c < end; c++) {
        backward_chunk(t, c, thread);
        if (thread == 0)
            pass_poll(t->p);
    }
}

static void bias_lane(void *arg, uint32_t begin, uint32_t end, float *dst)
{
    const struct dense_task *t = arg;
    size_t n = (size_t)t->l->dense.out;
    memset(dst, 0, n * sizeof *dst);
    for (uint32_t i = begin; i < end; i++)
        t->p->kernels->reduce->add(dst, t->dy + i * n, n);
}

static void bias_backward(struct dense_task *t)
{
    struct layer *l = t->l;
    const struct pass *p = t->p;
    struct gradient_sink *sink = p->sink;
    struct lane_sum sum = {.kernels = p->kernels,
                           .lane = bias_lane,
                           .arg = t,
                           .n = {l->bias->floats, 0},
                           .levels = l->levels,
                           .level_floats = l->level_floats};

    for (int b = 0; b < p->n_blocks; b++) {
        sum.block = &p->blocks[b];
        float *to = sink->apply ? l->levels + l->level_floats * (size_t)sum.block->level
                                : sink->blocks[b] + l->bias->offset;
        lane_sum_run(&sum, to);
        if (sink->apply)
            sink->apply(sink->arg, l->bias->offset, l->bias->floats, to, PARAM_BIAS);
    }
    if (!sink->apply)
        sink->ready(sink->arg, l->bias->offset, l->bias->floats);
}

/* dy as the gradients read it. */
static void pack_gradient(struct dense_task *t)
{
    struct layer *l = t->l;
    const struct pass *p = t->p;

    if (t->k->pack_rows && t->dx)
        threads_run(p->threads, dense_pack_share, t);
    for (int b = 0; !l->weight->frozen && b < p->n_blocks; b++)
        t->k->pack_lanes(&l->dense, l->packed, t->dy, (int)p->n, &p->blocks[b]);
}

static void dense_layer_backward(struct layer *l, const struct pass *samples, float *dx, float *dy,
                                 const float *x, const float *y)
{
    struct row_pass rows;
    const struct pass *p = rows_of(&rows, samples, l->rows);
    const int chunks = dense_chunks(&l->dense), n_threads = threads_count(p->threads);
    const int round = p->sink->apply ? chunks : n_threads > 1 ? 4 * n_threads : 1;
    struct dense_task t = {.l = l, .p = p, .k = dense_kernels(l, p), .dx = dx, .x = x, .dy = dy};

    t.direct = backward_scratch(l, (int)p->n);
    if (l->relu)
        p->kernels->pool->relu_backward(dy, dy, y, (size_t)p->n * (size_t)l->dense.out);
    if (l->bias && !l->weight->frozen)
        bias_backward(&t);
    pack_gradient(&t);
    for (t.chunk0 = 0; t.chunk0 < chunks; t.chunk0 = t.chunk1) {
        t.chunk1 = t.chunk0 + round < chunks ? t.chunk0 + round : chunks;
        threads_run(p->threads, dense_backward_share, &t);
        if (!p->sink->apply && !l->weight->frozen)
            p->sink->ready(p->sink->arg, chunk_offset(l, t.chunk0),
                           chunk_offset(l, t.chunk1 - 1) + chunk_floats(l, t.chunk1 - 1) -
                               chunk_offset(l, t.chunk0));
    }
}

static void dense_layer_release(struct layer *l) { free(l->levels); }

static size_t dense_layer_packed_floats(const struct layer *l, int n)
{
    const struct dense *d = &l->dense;
    const size_t forward = dense_bf16_weight_words(d) + dense_bf16_row_words(n, d->in);
    const size_t back = dense_lane_words(d, n) + dense_bf16_row_words(n, d->out);

    if (!l->bf16 || n == 0)
        return dense_lane_words(d, n);
    return forward > back ? forward : back;
}

static void dense_layer_init(struct layer *l, const struct net_layer *n,
                             const struct layer_options *o)
{
    const uint32_t samples = o->samples * (uint32_t)l->rows;
    l->relu = o->relu;
    l->bf16 = o->bf16;
    l->out = n->out;
    l->dense.out = blocks_of(n->out.c) * 16;
    l->out_floats = (size_t)l->dense.out * (size_t)l->rows;
    l->dense.in = (int)l->in_floats / l->rows; /* set by the model: the floats of the layer below */
    size_t fw = l->bf16 ? 0 : dense_forward_scratch(&l->dense, (int)samples); /* less than bw */
    size_t bw = backward_scratch(l, (int)samples) + (size_t)DENSE_CHUNK * (size_t)l->dense.out;
    l->scratch_floats = fw > bw ? fw : bw;
    l->level_floats = (size_t)l->dense.out;
    l->n_levels = o->levels + 1;
    l->levels = xaligned(l->level_floats * (size_t)l->n_levels * sizeof(float));
    l->packed_floats = dense_layer_packed_floats(l, (int)samples);
}

static void dense_layer_add_params(struct layer *l, const struct net_layer *n,
                                   struct param_list *list)
{
    const int in = n->rows ? n->in.c : n->in.c * n->in.h * n->in.w;

    l->weight = param_list_add_matrix(list, n, "weight", (size_t)l->dense.in * (size_t)l->dense.out,
                                      n->out.c, in);
    if (n->spec.bias)
        l->bias = param_list_add_channels(list, n, "bias", PARAM_BIAS, INIT_ZERO);
}

const struct layer_ops dense_ops = {.kind = "dense",
                                    .init = dense_layer_init,
                                    .add_params = dense_layer_add_params,
                                    .forward = dense_layer_forward,
                                    .backward = dense_layer_backward,
                                    .release = dense_layer_release};
