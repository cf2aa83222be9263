/* Convolution, with ReLU and 2x2 max pooling fused after it where the net has them. In bf16 the
 * weights are packed in front of each pass. */
#include "paceline/mem.h"
#include "worker/layers/lane_sum.h"
#include "worker/layers/layer.h"
#include "worker/layers/param_list.h"

#define SLICE_BYTES (512 * 1024) /* of a weight gradient; two blocks of outputs at least */

struct conv_task {
    struct layer *l;
    const struct pass *p;
    const struct conv_kernels *k;
    float *dx;
    float *dy;
    bool gated; /* what ReLU lets through is already all that is in dy */
    const float *x, *y;
    float *out;
    float *target; /* where the block's gradient goes: weights, then biases */
    const struct lane_ends *block;
    bool together; /* all lanes of it at once */
};

/* How many samples of those that are left the next kernel takes. */
static int samples_together(const struct layer *l, int left)
{
    const int most = l->pool ? 1 : conv_samples(&l->conv);
    return left < most ? left : most;
}

static void conv_pack_share(void *arg, int thread, int n_threads)
{
    const struct conv_task *t = arg;
    const struct layer *l = t->l;
    const int blocks = blocks_of(l->conv.k);

    t->k->pack(&l->conv, l->packed, t->p->params + l->weight->offset,
               share_begin(blocks, thread, n_threads), share_begin(blocks, thread + 1, n_threads));
}

static void forward_samples(const struct conv_task *t, int i, int n, float *scratch)
{
    const struct layer *l = t->l;
    const float *w = t->k->pack ? l->packed : t->p->params + l->weight->offset;
    const float *b = l->bias ? t->p->params + l->bias->offset : NULL;
    const float *x = t->x + (size_t)i * l->in_floats;
    float *y = t->out + (size_t)i * l->out_floats;
    uint8_t *argmax = l->pool ? l->argmax + (t->p->first + (size_t)i) * l->out_floats : NULL;

    if (n > 1)
        t->k->forward_samples(&l->conv, n, y, x, w, b, l->relu, scratch);
    else
        t->k->forward(&l->conv, y, argmax, x, w, b, l->relu, l->pool, scratch);
}

static void conv_forward_share(void *arg, int thread, int n_threads)
{
    const struct conv_task *t = arg;
    int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads), n; i < end; i += n) {
        n = samples_together(t->l, end - i);
        forward_samples(t, i, n, t->p->scratch[thread]);
    }
}

static const struct conv_kernels *conv_kernels(const struct layer *l, const struct pass *p)
{
    return l->bf16 ? p->kernels->conv_bf16 : p->kernels->conv;
}

static void conv_layer_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct conv_task t = {.l = l, .p = p, .k = conv_kernels(l, p), .x = x, .out = y};
    if (t.k->pack)
        threads_run(p->threads, conv_pack_share, &t);
    threads_run(p->threads, conv_forward_share, &t);
}

/* The gradient of the convolution's own sums for blocks [ob0, ob1) of one sample. */
static const float *sums_gradient(const struct conv_task *t, int i, int ob0, int ob1, float *buffer)
{
    const struct layer *l = t->l;
    const struct pool_kernels *k = t->p->kernels->pool;
    size_t block = l->out_floats / (size_t)blocks_of(l->conv.k);
    size_t at = (size_t)i * l->out_floats + (size_t)ob0 * block;
    size_t kept = t->p->first * l->out_floats + at;

    if (l->pool) {
        k->unpool2(buffer, t->dy + at, l->relu ? t->y + at : NULL, l->argmax + kept, ob1 - ob0,
                   l->conv.oh, l->conv.ow);
        return buffer;
    }
    if (l->relu && !t->gated) {
        k->relu_backward(buffer, t->dy + at, t->y + at, (size_t)(ob1 - ob0) * block);
        return buffer;
    }
    return t->dy + at;
}

/* The gradient of the sums takes the place of dy: for both gradients at once. */
static void gate_sample(const struct conv_task *t, int i)
{
    const size_t n = t->l->out_floats, at = (size_t)i * n;

    t->p->kernels->pool->relu_backward(t->dy + at, t->dy + at, t->y + at, n);
}

/* The weights as the data gradient reads them. */
static void turn_share(void *arg, int thread, int n_threads)
{
    const struct conv_task *t = arg;
    const struct layer *l = t->l;
    const int blocks = blocks_of(l->conv.c);

    t->k->pack_transposed(&l->conv, l->packed, t->p->params + l->weight->offset,
                          share_begin(blocks, thread, n_threads),
                          share_begin(blocks, thread + 1, n_threads));
}

static void data_samples(const struct conv_task *t, int i, int n, const float *dy, float *scratch)
{
    const struct layer *l = t->l;
    float *dx = t->dx + (size_t)i * l->in_floats;

    if (n > 1)
        t->k->backward_data_samples(&l->conv, n, dx, dy, l->packed, scratch);
    else
        t->k->backward_data(&l->conv, dx, dy, l->packed, scratch);
}

static void poll_between(const struct conv_task *t, int thread)
{
    if (thread == 0)
        pass_poll(t->p);
}

static void data_share(void *arg, int thread, int n_threads)
{
    const struct conv_task *t = arg;
    struct layer *l = t->l;
    float *scratch = t->p->scratch[thread], *buffer = scratch + l->scratch_kernels;
    int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads), n; i < end; i += n) {
        n = samples_together(l, end - i);
        for (int j = i; t->gated && j < i + n; j++)
            gate_sample(t, j);
        data_samples(t, i, n, sums_gradient(t, i, 0, blocks_of(l->conv.k), buffer), scratch);
        poll_between(t, thread);
    }
}

struct weights_share {
    const struct conv_task *t;
    int thread, ob0, ob1;
};

/* One sample's part of the biases. */
static void bias_sample(const struct weights_share *s, uint32_t i, bool first, float *dst)
{
    const struct conv_task *t = s->t;
    const struct layer *l = t->l;
    const size_t block = l->out_floats / (size_t)blocks_of(l->conv.k);
    const size_t at = i * l->out_floats + (size_t)s->ob0 * block;

    if (l->bias)
        t->p->kernels->pool->channel_sums(dst + l->weight->floats + s->ob0 * 16, t->dy + at,
                                          l->relu && !t->gated ? t->y + at : NULL, s->ob1 - s->ob0,
                                          (int)(block / 16), first);
}

static void biases_lane(void *arg, uint32_t begin, uint32_t end, float *dst)
{
    for (uint32_t i = begin; i < end; i++)
        bias_sample(arg, i, i == begin, dst);
}

static void weights_lane(void *arg, uint32_t begin, uint32_t end, float *dst)
{
    const struct weights_share *s = arg;
    const struct conv_task *t = s->t;
    const struct layer *l = t->l;
    float *scratch = t->p->scratch[s->thread], *buffer = scratch + l->scratch_kernels;

    for (uint32_t i = begin; i < end; i++) {
        const float *dy = sums_gradient(t, (int)i, s->ob0, s->ob1, buffer);
        t->k->backward_weights(&l->conv, dst, t->x + i * l->in_floats, dy, i == begin, s->ob0,
                               s->ob1, scratch);
        bias_sample(s, i, i == begin, dst);
        poll_between(t, s->thread);
    }
}

/* The gradient of blocks [ob0, ob1): lane by lane, or of the weights all lanes together. */
static void weights_slice(const struct conv_task *t, int thread, int ob0, int ob1)
{
    const struct layer *l = t->l;
    struct weights_share share = {t, thread, ob0, ob1};
    size_t block = conv_weight_block(&l->conv);
    struct lane_sum sum = {
        .kernels = t->p->kernels,
        .block = t->block,
        .lane = t->together ? biases_lane : weights_lane,
        .arg = &share,
        .at = {(size_t)ob0 * block, l->weight->floats + (size_t)ob0 * 16},
        .n = {t->together ? 0 : (size_t)(ob1 - ob0) * block,
              l->bias ? (size_t)(ob1 - ob0) * 16 : 0},
        .levels = l->levels,
        .level_floats = l->level_floats,
    };
    if (t->together) {
        t->k->backward_weights_lanes(&l->conv, t->target, t->x, t->dy, t->block, ob0, ob1,
                                     t->p->scratch[thread]);
        poll_between(t, thread);
    }
    lane_sum_run(&sum, t->target);
}

/* Whether all lanes of the block are summed at once: where the gradient of the sums is all there,
 * and the map has few pixels. */
static bool weights_together(const struct conv_task *t)
{
    const struct layer *l = t->l;
    const bool is_there = !l->pool && (!l->relu || t->gated);

    return is_there && t->k->backward_weights_lanes && t->block->full &&
           (int)block_samples(t->block) <= conv_lanes_samples(&l->conv);
}

/* Slices of the gradient that stay in a second-level cache while all samples are added to them. In
 * bf16, lane by lane, all of it at once, as each call rounds the sample anew. */
static void weights_thread(void *arg, int thread, int n_threads)
{
    const struct conv_task *t = arg;
    const struct conv *c = &t->l->conv;
    const size_t bytes = conv_weight_block(c) * sizeof(float);
    const int begin = share_begin(blocks_of(c->k), thread, n_threads);
    const int end = share_begin(blocks_of(c->k), thread + 1, n_threads);
    const int fit = bytes < SLICE_BYTES / 4 ? (int)(SLICE_BYTES / bytes) / 2 * 2 : 2;
    const int step = t->together  ? conv_lanes_blocks(c, (int)block_samples(t->block))
                     : t->l->bf16 ? blocks_of(c->k)
                                  : fit;

    for (int ob = begin; ob < end; ob += step)
        weights_slice(t, thread, ob, ob + step < end ? ob + step : end);
}

static void weights_backward(struct layer *l, struct conv_task *t)
{
    const struct pass *p = t->p;
    struct gradient_sink *sink = p->sink;
    size_t floats = l->weight->floats + (l->bias ? l->bias->floats : 0);

    for (int b = 0; b < p->n_blocks; b++) {
        t->block = &p->blocks[b];
        t->together = weights_together(t);
        t->target = sink->apply ? l->levels + l->level_floats * (size_t)t->block->level
                                : sink->blocks[b] + l->weight->offset;
        threads_run(p->threads, weights_thread, t);
    }
    if (sink->apply) {
        sink->apply(sink->arg, l->weight->offset, l->weight->floats, t->target, PARAM_WEIGHT);
        if (l->bias)
            sink->apply(sink->arg, l->bias->offset, l->bias->floats, t->target + l->weight->floats,
                        PARAM_BIAS);
    } else {
        sink->ready(sink->arg, l->weight->offset, floats);
    }
}

static void conv_layer_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                                const float *x, const float *y)
{
    struct conv_task t = {
        .l = l, .p = p, .k = conv_kernels(l, p), .dx = dx, .dy = dy, .x = x, .y = y};
    t.gated = dx && l->relu && !l->pool;
    if (dx) {
        threads_run(p->threads, turn_share, &t);
        threads_run(p->threads, data_share, &t);
    }
    if (!l->weight->frozen) {
        const int was = profile_enter(p->profile, -1, PROFILE_WEIGHTS);

        weights_backward(l, &t);
        profile_leave(p->profile, was);
    }
}

static void conv_layer_release(struct layer *l) { free(l->argmax); }

static void conv_layer_init(struct layer *l, const struct net_layer *n,
                            const struct layer_options *o)
{
    const bool image_input = l->inputs[0] < 0;
    struct conv c = {
        .c = n->in.c,
        .h = n->in.h,
        .w = n->in.w,
        .k = n->out.c,
        .oh = n->out.h,
        .ow = n->out.w,
        .r = n->spec.kernel[0],
        .s = n->spec.kernel[1],
        .stride_h = n->spec.stride[0],
        .stride_w = n->spec.stride[1],
        .pad_t = n->pad_top,
        .pad_l = n->pad_left,
        .plain = image_input,
    };
    struct conv back = conv_transposed(&c);

    l->conv = c;
    l->relu = o->relu;
    l->pool = o->pool;
    l->image_input = image_input;
    l->out = o->pool ? (struct shape){c.k, c.oh / 2, c.ow / 2} : n->out;
    l->in_floats = conv_in_floats(&c);
    l->out_floats = map_floats(l->out);
    l->bf16 = o->bf16 && !image_input;
    /* what kernels need in either direction, then one sample's gradient of the sums */
    l->scratch_kernels = l->bf16 ? conv_bf16_scratch_floats(&c)
                                 : conv_scratch_floats(&c) + conv_scratch_floats(&back);
    l->scratch_floats = l->scratch_kernels + conv_out_floats(&c);
    const size_t lanes = conv_lanes_scratch_floats(&c, (int)o->samples);
    l->scratch_floats = lanes > l->scratch_floats ? lanes : l->scratch_floats;
    l->level_floats = conv_weight_floats(&c) + (size_t)blocks_of(c.k) * 16;
    l->n_levels = o->levels + 1;
    if (!image_input && o->samples)
        l->packed_floats = l->bf16 ? conv_bf16_weight_words(&c) : conv_weight_floats(&back);
    if (o->pool)
        l->argmax = xaligned(l->out_floats * o->samples);
}

static void conv_layer_add_params(struct layer *l, const struct net_layer *n,
                                  struct param_list *list)
{
    const int taps = n->spec.kernel[0] * n->spec.kernel[1];

    l->weight = param_list_add(list, n, "weight", PARAM_WEIGHT, conv_weight_floats(&l->conv));
    l->weight->fan_in = n->in.c * taps;
    l->weight->fan_out = n->out.c * taps;
    l->weight->n_dims = 4;
    l->weight->dims[0] = n->out.c;
    l->weight->dims[1] = n->in.c;
    l->weight->dims[2] = n->spec.kernel[0];
    l->weight->dims[3] = n->spec.kernel[1];
    if (n->spec.bias)
        l->bias = param_list_add_channels(list, n, "bias", PARAM_BIAS, INIT_ZERO);
}

const struct layer_ops conv_ops = {.kind = "conv",
                                   .init = conv_layer_init,
                                   .add_params = conv_layer_add_params,
                                   .forward = conv_layer_forward,
                                   .backward = conv_layer_backward,
                                   .release = conv_layer_release};
