/* Layers of several inputs: their sum, or their channels one after the other; and its reverse,
 * some channels of one. */
#include "paceline/mem.h"
#include "worker/layers/layer.h"

struct merge_task {
    const struct layer *l;
    const struct pass *p;
    float *y;
    const float *const *x;
    float *const *dx;
    const bool *fresh;
    const float *out; /* what ReLU gave */
    float *dy;
    void (*sample)(const struct merge_task *t, uint32_t i);
};

static void merge_share(void *arg, int thread, int n_threads)
{
    const struct merge_task *t = arg;
    const int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads); i < end; i++)
        t->sample(t, (uint32_t)i);
}

static void merge_run(struct merge_task t) { threads_run(t.p->threads, merge_share, &t); }

static void merge_release(struct layer *l) { free(l->part_channels); }

/* Sums, in the order of the inputs, with ReLU where the net has it after them */

static void add_forward_sample(const struct merge_task *t, uint32_t i)
{
    const size_t n = t->l->out_floats, at = i * n;

    for (int k = 1, last = t->l->n_inputs - 1; k <= last; k++)
        t->p->kernels->pool->add(t->y + at, (k > 1 ? t->y : t->x[0]) + at, t->x[k] + at, n,
                                 t->l->relu && k == last);
}

static void add_forward(struct layer *l, const struct pass *p, float *y, const float *const *x)
{
    merge_run((struct merge_task){.l = l, .p = p, .y = y, .x = x, .sample = add_forward_sample});
}

static void add_backward_sample(const struct merge_task *t, uint32_t i)
{
    const size_t n = t->l->out_floats, at = i * n;

    if (t->l->relu)
        t->p->kernels->pool->relu_backward(t->dy + at, t->dy + at, t->out + at, n);
    for (int k = 0; k < t->l->n_inputs; k++) {
        if (t->dx[k] == t->dy) /* it has it */
            continue;
        if (t->dx[k] && t->fresh[k])
            memcpy(t->dx[k] + at, t->dy + at, n * sizeof(float));
        else if (t->dx[k])
            t->p->kernels->reduce->add(t->dx[k] + at, t->dy + at, n);
    }
}

static void add_backward(struct layer *l, const struct pass *p, float *const *dx, const bool *fresh,
                         float *dy, const float *y)
{
    merge_run((struct merge_task){.l = l,
                                  .p = p,
                                  .dx = dx,
                                  .fresh = fresh,
                                  .dy = dy,
                                  .out = y,
                                  .sample = add_backward_sample});
}

/* Channels: block b of an input goes to the lanes of one or two blocks of the output. */

struct run_of_lanes {
    size_t whole, part; /* floats: in the output, in the input */
    size_t n;           /* lanes */
};

static int lanes_of(struct run_of_lanes runs[2], int at, int channels, int block, size_t pixels)
{
    const int n = channels - block * 16 < 16 ? channels - block * 16 : 16;
    const int to = at + block * 16, head = n < 16 - to % 16 ? n : 16 - to % 16;

    runs[0] = (struct run_of_lanes){(size_t)(to / 16) * pixels * 16 + (size_t)(to % 16),
                                    (size_t)block * pixels * 16, (size_t)head};
    runs[1] = (struct run_of_lanes){(size_t)(to / 16 + 1) * pixels * 16,
                                    (size_t)block * pixels * 16 + (size_t)head, (size_t)(n - head)};
    return n > head ? 2 : 1;
}

static void clear_last_block(float *map, int channels, size_t pixels)
{
    if (channels % 16)
        memset(map + (size_t)(channels / 16) * pixels * 16, 0, pixels * 16 * sizeof *map);
}

static void copy_each(float *to, const float *from, size_t n, size_t pixels)
{
    for (size_t px = 0; px < pixels * 16; px += 16)
        memcpy(to + px, from + px, n * sizeof *to);
}

/* n lanes of each pixel: whole blocks at once, and the widths that growths of 4, 8 and 12 leave as
 * constants of the code. */
static void copy_lanes(float *to, const float *from, size_t n, size_t pixels)
{
    switch (n) {
    case 16:
        memcpy(to, from, pixels * 16 * sizeof *to);
        break;
    case 12:
        copy_each(to, from, 12, pixels);
        break;
    case 8:
        copy_each(to, from, 8, pixels);
        break;
    case 4:
        copy_each(to, from, 4, pixels);
        break;
    default:
        copy_each(to, from, n, pixels);
    }
}

static void put_channels(float *whole, int at, const float *part, int channels, size_t pixels)
{
    struct run_of_lanes r[2];

    for (int b = 0; b < blocks_of(channels); b++)
        for (int k = 0, n = lanes_of(r, at, channels, b, pixels); k < n; k++)
            copy_lanes(whole + r[k].whole, part + r[k].part, r[k].n, pixels);
}

static void add_channels(float *part, int channels, const float *whole, int at, size_t pixels)
{
    struct run_of_lanes r[2];

    for (int b = 0; b < blocks_of(channels); b++)
        for (int k = 0, n = lanes_of(r, at, channels, b, pixels); k < n; k++)
            for (size_t px = 0; px < pixels * 16; px += 16)
                for (size_t i = 0; i < r[k].n; i++)
                    part[r[k].part + px + i] += whole[r[k].whole + px + i];
}

static void take_channels(float *part, int channels, const float *whole, int at, size_t pixels)
{
    struct run_of_lanes r[2];

    clear_last_block(part, channels, pixels);
    for (int b = 0; b < blocks_of(channels); b++)
        for (int k = 0, n = lanes_of(r, at, channels, b, pixels); k < n; k++)
            copy_lanes(part + r[k].part, whole + r[k].whole, r[k].n, pixels);
}

static size_t part_floats(const struct layer *l, int k)
{
    return map_floats((struct shape){l->part_channels[k], l->out.h, l->out.w});
}

static void concat_forward_sample(const struct merge_task *t, uint32_t i)
{
    const struct layer *l = t->l;
    const size_t pixels = (size_t)(l->out.h * l->out.w);
    float *y = t->y + i * l->out_floats;

    clear_last_block(y, l->out.c, pixels);
    for (int k = 0, at = 0; k < l->n_inputs; at += l->part_channels[k++])
        put_channels(y, at, t->x[k] + i * part_floats(l, k), l->part_channels[k], pixels);
}

static void concat_forward(struct layer *l, const struct pass *p, float *y, const float *const *x)
{
    merge_run((struct merge_task){.l = l, .p = p, .y = y, .x = x, .sample = concat_forward_sample});
}

static void concat_backward_sample(const struct merge_task *t, uint32_t i)
{
    const struct layer *l = t->l;
    const size_t pixels = (size_t)(l->out.h * l->out.w);
    const float *dy = t->dy + i * l->out_floats;

    for (int k = 0, at = 0; k < l->n_inputs; at += l->part_channels[k++])
        if (t->dx[k])
            (t->fresh[k] ? take_channels : add_channels)(t->dx[k] + i * part_floats(l, k),
                                                         l->part_channels[k], dy, at, pixels);
}

static void concat_backward(struct layer *l, const struct pass *p, float *const *dx,
                            const bool *fresh, float *dy, const float *y)
{
    (void)y;
    merge_run((struct merge_task){
        .l = l, .p = p, .dx = dx, .fresh = fresh, .dy = dy, .sample = concat_backward_sample});
}

/* Of inputs of so many channels each. */
static void merge_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    l->part_channels = xcalloc((size_t)l->n_inputs, sizeof *l->part_channels);
    for (int i = 0; i < l->n_inputs; i++)
        l->part_channels[i] = o->made[l->inputs[i]].out.c;
    l->passes = n->spec.type == LAYER_ADD;
    l->relu = o->relu;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
}

const struct layer_ops add_ops = {.kind = "add",
                                  .init = merge_init,
                                  .forward_n = add_forward,
                                  .backward_n = add_backward,
                                  .release = merge_release};

const struct layer_ops concat_ops = {.kind = "concat",
                                     .init = merge_init,
                                     .forward_n = concat_forward,
                                     .backward_n = concat_backward,
                                     .release = merge_release};

/* Some channels of one input */

struct slice_task {
    const struct layer *l;
    const struct pass *p;
    float *to;
    const float *from;
    void (*sample)(const struct layer *l, float *to, const float *from);
    size_t to_floats, from_floats;
};

static void slice_share(void *arg, int thread, int n_threads)
{
    const struct slice_task *t = arg;
    const int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads); i < end; i++)
        t->sample(t->l, t->to + (size_t)i * t->to_floats, t->from + (size_t)i * t->from_floats);
}

static void slice_sample(const struct layer *l, float *y, const float *x)
{
    take_channels(y, l->out.c, x, l->first, (size_t)(l->out.h * l->out.w));
}

/* Of plain values, from the first one on, [C][H][W]. */
static void slice_plain(const struct layer *l, float *y, const float *x)
{
    const size_t pixels = (size_t)(l->out.h * l->out.w);

    clear_last_block(y, l->out.c, pixels);
    for (size_t c = 0; c < (size_t)l->out.c; c++)
        for (size_t px = 0; px < pixels; px++)
            y[((c / 16) * pixels + px) * 16 + c % 16] = x[(size_t)l->first + c * pixels + px];
}

static void slice_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct slice_task t = {.l = l,
                           .p = p,
                           .to = y,
                           .from = x,
                           .sample = l->image_input ? slice_plain : slice_sample,
                           .to_floats = l->out_floats,
                           .from_floats = l->in_floats};

    threads_run(p->threads, slice_share, &t);
}

static void slice_back(const struct layer *l, float *dx, const float *dy)
{
    memset(dx, 0, l->in_floats * sizeof *dx);
    put_channels(dx, l->first, dy, l->out.c, (size_t)(l->out.h * l->out.w));
}

static void slice_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                           const float *x, const float *y)
{
    struct slice_task t = {.l = l,
                           .p = p,
                           .to = dx,
                           .from = dy,
                           .sample = slice_back,
                           .to_floats = l->in_floats,
                           .from_floats = l->out_floats};

    (void)x, (void)y;
    if (dx)
        threads_run(p->threads, slice_share, &t);
}

static void slice_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    (void)o;
    l->image_input = l->inputs[0] < 0;
    if (l->image_input)
        l->in_floats = (size_t)(n->in.c * n->in.h * n->in.w);
    l->first = n->spec.first;
    if (l->image_input && n->spec.type == LAYER_SLICE)
        l->first *= n->in.h * n->in.w;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
}

const struct layer_ops slice_ops = {
    .kind = "slice", .init = slice_init, .forward = slice_forward, .backward = slice_backward};

const struct layer_ops input_ops = {
    .kind = "input", .init = slice_init, .forward = slice_forward, .backward = slice_backward};
