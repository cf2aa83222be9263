/* Layers without parameters: pooling, activations, dropout, packing of the input image,
 * flattening and channels of zeros. */
#include "paceline/mem.h"
#include "worker/layers/layer.h"

struct task {
    struct layer *l;
    const struct pass *p;
    float *to;
    const float *from, *x, *y;
    void (*sample)(const struct task *t, uint32_t i);
};

static void simple_share(void *arg, int thread, int n_threads)
{
    const struct task *t = arg;
    int end = share_begin((int)t->p->n, thread + 1, n_threads);
    for (int i = share_begin((int)t->p->n, thread, n_threads); i < end; i++)
        t->sample(t, (uint32_t)i);
}

static void simple_run(struct task t) { threads_run(t.p->threads, simple_share, &t); }

/* Pooling */

static void pool_forward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    const struct pool_kernels *k = t->p->kernels->pool;
    (l->activation == LAYER_MAXPOOL ? k->max_forward : k->avg_forward)(
        &l->window, t->to + i * l->out_floats, t->from + i * l->in_floats);
}

static void pool_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    simple_run((struct task){.l = l, .p = p, .to = y, .from = x, .sample = pool_forward_sample});
}

static void pool_backward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    const struct pool_kernels *k = t->p->kernels->pool;
    float *dx = t->to + i * l->in_floats;
    const float *dy = t->from + i * l->out_floats;
    if (l->activation == LAYER_MAXPOOL)
        k->max_backward(&l->window, dx, dy, t->x + i * l->in_floats);
    else
        k->avg_backward(&l->window, dx, dy);
}

static void pool_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                          const float *x, const float *y)
{
    (void)y;
    if (dx)
        simple_run((struct task){
            .l = l, .p = p, .to = dx, .from = dy, .x = x, .sample = pool_backward_sample});
}

static void pool_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    const bool global = n->spec.type == LAYER_GLOBALAVGPOOL;

    (void)o;

    l->activation = n->spec.type;
    l->out = n->out;
    l->in_floats = map_floats(n->in);
    l->out_floats = map_floats(n->out);
    l->window = (struct pool){
        .blocks = blocks_of(n->in.c),
        .h = n->in.h,
        .w = n->in.w,
        .oh = n->out.h,
        .ow = n->out.w,
        .kernel_h = global ? n->in.h : n->spec.kernel[0],
        .kernel_w = global ? n->in.w : n->spec.kernel[1],
        .stride_h = global ? 1 : n->spec.stride[0],
        .stride_w = global ? 1 : n->spec.stride[1],
        .pad_t = n->pad_top,
        .pad_l = n->pad_left,
    };
}

const struct layer_ops pool_ops = {
    .kind = "pool", .init = pool_init, .forward = pool_forward, .backward = pool_backward};

/* Activations */

/* Padding lanes stay zero, so that the weights after them do. */
static void clear_padding(struct shape map, float *y)
{
    size_t pixels = (size_t)(map.h * map.w);
    int used = map.c % 16;
    float *last = y + map_floats(map) - pixels * 16;
    for (size_t i = 0; used && i < pixels; i++)
        memset(last + i * 16 + used, 0, sizeof(float) * (size_t)(16 - used));
}

/* Of a text, that of each row. */
static void clear_rows(const struct layer *l, float *y)
{
    const struct shape row = {l->out.c, l->out.h, l->out.w / l->rows};

    for (int r = 0; r < l->rows; r++)
        clear_padding(row, y + (size_t)r * (l->out_floats / (size_t)l->rows));
}

static const struct activation *activation_of(const struct task *t)
{
    return &t->p->kernels->activation->of[t->l->activation];
}

static void activation_forward_sample(const struct task *t, uint32_t i)
{
    const size_t at = i * t->l->out_floats;

    activation_of(t)->forward(t->to + at, t->from + at, t->l->out_floats);
    clear_rows(t->l, t->to + at);
}

static void activation_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    simple_run(
        (struct task){.l = l, .p = p, .to = y, .from = x, .sample = activation_forward_sample});
}

static void activation_backward_sample(const struct task *t, uint32_t i)
{
    const size_t at = i * t->l->out_floats;

    activation_of(t)->backward(t->to + at, t->from + at, t->x + at, t->y + at, t->l->out_floats);
}

static void activation_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                                const float *x, const float *y)
{
    if (dx)
        simple_run((struct task){.l = l,
                                 .p = p,
                                 .to = dx,
                                 .from = dy,
                                 .x = x,
                                 .y = y,
                                 .sample = activation_backward_sample});
}

static void activation_init(struct layer *l, const struct net_layer *n,
                            const struct layer_options *o)
{
    (void)o;
    l->activation = n->spec.type;
    l->reads_output = layer_type_traits[n->spec.type] & TRAIT_OUTPUT;
    l->out_floats = l->in_floats;
}

const struct layer_ops activation_ops = {.kind = "activation",
                                         .init = activation_init,
                                         .forward = activation_forward,
                                         .backward = activation_backward};

/* Dropout: masks keyed by sample, so the rank and thread that has it does not matter. */

static uint16_t *mask_of(const struct task *t, uint32_t i)
{
    return t->l->mask + (t->p->first + (size_t)i) * (t->l->out_floats / 16);
}

static void dropout_forward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    size_t n = l->out_floats;
    const struct random_key key = {.seed = t->p->seed,
                                   .purpose = RANDOM_DROPOUT,
                                   .stream = t->p->epoch,
                                   .item = t->p->ids[i],
                                   .layer = l->number};
    t->p->kernels->random->dropout(t->to + i * n, t->from + i * n, mask_of(t, i), &key,
                                   (float)l->rate, n);
}

static void dropout_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    if (p->training)
        simple_run(
            (struct task){.l = l, .p = p, .to = y, .from = x, .sample = dropout_forward_sample});
    else if (y != x)
        memcpy(y, x, sizeof(float) * l->out_floats * p->n);
}

static void dropout_backward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    size_t n = l->out_floats;
    t->p->kernels->random->dropout_backward(t->to + i * n, t->from + i * n, mask_of(t, i),
                                            (float)l->rate, n);
}

static void dropout_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                             const float *x, const float *y)
{
    (void)x;
    (void)y;
    if (dx)
        simple_run(
            (struct task){.l = l, .p = p, .to = dx, .from = dy, .sample = dropout_backward_sample});
}

static void dropout_release(struct layer *l) { free(l->mask); }

static void dropout_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    l->rate = n->spec.rate;
    l->out_floats = l->in_floats;
    l->mask = xaligned(l->out_floats / 16 * o->samples * sizeof *l->mask);
}

const struct layer_ops dropout_ops = {.kind = "dropout",
                                      .init = dropout_init,
                                      .forward = dropout_forward,
                                      .backward = dropout_backward,
                                      .release = dropout_release};

/* Packing and unpacking */

static void pack_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    float *y = t->to + i * l->out_floats;
    const float *x = t->from + i * l->in_floats;
    size_t pixels = (size_t)(l->out.h * l->out.w);

    for (size_t c = 0; c < (size_t)l->out.c; c++) {
        for (size_t px = 0; px < pixels; px++)
            y[((c / 16) * pixels + px) * 16 + c % 16] = x[c * pixels + px];
    }
}

static void pack_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    simple_run((struct task){.l = l, .p = p, .to = y, .from = x, .sample = pack_sample});
}

static void pack_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                          const float *x, const float *y)
{
    (void)l, (void)p, (void)dx, (void)dy, (void)x, (void)y; /* nothing is trained below the input */
}

static const struct layer_ops pack_ops = {
    .kind = "pack", .forward = pack_forward, .backward = pack_backward};

void layer_pack(struct layer *l, struct shape in, bool flat)
{
    l->ops = &pack_ops;
    l->name = "input";
    l->image_input = true;
    l->out = flat ? (struct shape){in.c * in.h * in.w, 1, 1} : in;
    l->in_floats = (size_t)(in.c * in.h * in.w);
    l->out_floats = map_floats(l->out);
}

static void flatten_forward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    float *y = t->to + i * l->out_floats;
    const float *x = t->from + i * l->in_floats;
    for (size_t f = 0; f < (size_t)l->out.c; f++)
        y[f] = x[map_index(l->below, f)];
}

static void flatten_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    simple_run((struct task){.l = l, .p = p, .to = y, .from = x, .sample = flatten_forward_sample});
}

static void flatten_backward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    float *dx = t->to + i * l->in_floats;
    const float *dy = t->from + i * l->out_floats;
    memset(dx, 0, l->in_floats * sizeof *dx);
    for (size_t f = 0; f < (size_t)l->out.c; f++)
        dx[map_index(l->below, f)] = dy[f];
}

static void flatten_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                             const float *x, const float *y)
{
    (void)x, (void)y;
    if (dx)
        simple_run(
            (struct task){.l = l, .p = p, .to = dx, .from = dy, .sample = flatten_backward_sample});
}

static void flatten_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    (void)o;
    l->below = l->out;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
}

const struct layer_ops flatten_ops = {.kind = "flatten",
                                      .init = flatten_init,
                                      .forward = flatten_forward,
                                      .backward = flatten_backward};

/* Channels of zeros */

static void pad_forward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    float *y = t->to + i * l->out_floats;

    memcpy(y, t->from + i * l->in_floats, l->in_floats * sizeof *y);
    memset(y + l->in_floats, 0, (l->out_floats - l->in_floats) * sizeof *y);
}

static void pad_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    simple_run((struct task){.l = l, .p = p, .to = y, .from = x, .sample = pad_forward_sample});
}

static void pad_backward_sample(const struct task *t, uint32_t i)
{
    const struct layer *l = t->l;
    float *dx = t->to + i * l->in_floats;

    memcpy(dx, t->from + i * l->out_floats, l->in_floats * sizeof *dx);
    clear_padding(l->below, dx);
}

static void pad_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                         const float *x, const float *y)
{
    (void)x, (void)y;
    if (dx)
        simple_run(
            (struct task){.l = l, .p = p, .to = dx, .from = dy, .sample = pad_backward_sample});
}

static void pad_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    (void)o;
    l->below = l->out;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
}

const struct layer_ops padchannels_ops = {
    .kind = "padchannels", .init = pad_init, .forward = pad_forward, .backward = pad_backward};
