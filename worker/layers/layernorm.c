/*
 * Layer normalisation: y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and
 * variance (of C values) of the channels at each position of a sample. Ba, Kiros and Hinton 2016.
 *
 * Sums over channels and over positions are of doubles: of each of 16 interleaved channels block by
 * block, then of these 16 in order; of a channel's gradients position by position, sample by
 * sample. A lane's sum is rounded once; lanes are summed in the one tree.
 */
#include <math.h>

#include "paceline/mem.h"
#include "worker/layers/lane_sum.h"
#include "worker/layers/layer.h"
#include "worker/layers/param_list.h"

struct layernorm {
    double epsilon;
    int channels, blocks;
    size_t positions;
    size_t block_stride, position_stride; /* floats from one to the next */
    double *means, *inverses;             /* of each position of each sample; 1/root */
};

struct layernorm_task {
    const struct layer *l;
    const struct layernorm *m;
    const struct pass *p;
    float *y, *dx;
    const float *x, *dy;
    const struct lane_ends *block;
    float *target;
    int block0, block1; /* whose gradients are summed */
};

/* Channels of block b that are there. */
static int layernorm_width(const struct layernorm *m, int b)
{
    return m->channels - 16 * b < 16 ? m->channels - 16 * b : 16;
}

static double layernorm_fold(const double sums[16])
{
    double sum = 0;

    for (int i = 0; i < 16; i++)
        sum += sums[i];
    return sum;
}

/* Of the channels at x. */
static void layernorm_moments(const struct layernorm *m, const float *x, double *mean,
                              double *inverse)
{
    double sums[16] = {0}, squares[16] = {0};

    for (int b = 0; b < m->blocks; b++)
        for (int i = 0; i < layernorm_width(m, b); i++)
            sums[i] += (double)x[(size_t)b * m->block_stride + (size_t)i];
    *mean = layernorm_fold(sums) / m->channels;
    for (int b = 0; b < m->blocks; b++)
        for (int i = 0; i < layernorm_width(m, b); i++) {
            const double d = (double)x[(size_t)b * m->block_stride + (size_t)i] - *mean;
            squares[i] += d * d;
        }
    *inverse = 1 / sqrt(layernorm_fold(squares) / m->channels + m->epsilon);
}

static void layernorm_forward_share(void *arg, int thread, int n_threads)
{
    const struct layernorm_task *t = arg;
    const struct layernorm *m = t->m;
    const float *scale = t->p->params + t->l->weight->offset;
    const float *shift = t->p->params + t->l->bias->offset;
    const int n = (int)(t->p->n * m->positions), end = share_begin(n, thread + 1, n_threads);

    for (int k = share_begin(n, thread, n_threads); k < end; k++) {
        const size_t sample = (size_t)k / m->positions, position = (size_t)k % m->positions;
        const size_t at = sample * t->l->out_floats + position * m->position_stride;
        double *mean = m->means + t->p->first * m->positions + (size_t)k;
        double *inverse = m->inverses + t->p->first * m->positions + (size_t)k;

        layernorm_moments(m, t->x + at, mean, inverse);
        for (int b = 0; b < m->blocks; b++)
            for (size_t i = 0; i < 16; i++) {
                const size_t e = at + (size_t)b * m->block_stride + i;
                const float normal = (float)(((double)t->x[e] - *mean) * *inverse);
                t->y[e] = normal * scale[(size_t)b * 16 + i] + shift[(size_t)b * 16 + i];
            }
    }
}

static void layernorm_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct layernorm_task t = {.l = l, .m = l->state, .p = p, .y = y, .x = x};

    threads_run(p->threads, layernorm_forward_share, &t);
}

/* dx = inverse * (g - mean(g) - normal * mean(g * normal)), g = dy * gamma */
static void layernorm_data_share(void *arg, int thread, int n_threads)
{
    const struct layernorm_task *t = arg;
    const struct layernorm *m = t->m;
    const float *scale = t->p->params + t->l->weight->offset;
    const int n = (int)(t->p->n * m->positions), end = share_begin(n, thread + 1, n_threads);

    for (int k = share_begin(n, thread, n_threads); k < end; k++) {
        const size_t sample = (size_t)k / m->positions, position = (size_t)k % m->positions;
        const size_t at = sample * t->l->out_floats + position * m->position_stride;
        const double mean = m->means[t->p->first * m->positions + (size_t)k];
        const double inverse = m->inverses[t->p->first * m->positions + (size_t)k];
        double sums[16] = {0}, products[16] = {0};

        for (int b = 0; b < m->blocks; b++)
            for (int i = 0; i < layernorm_width(m, b); i++) {
                const size_t e = at + (size_t)b * m->block_stride + (size_t)i;
                const double g = (double)t->dy[e] * (double)scale[b * 16 + i];
                sums[i] += g;
                products[i] += g * (((double)t->x[e] - mean) * inverse);
            }
        const double sum = layernorm_fold(sums) / m->channels;
        const double product = layernorm_fold(products) / m->channels;
        for (int b = 0; b < m->blocks; b++)
            for (int i = 0; i < 16; i++) {
                const size_t e = at + (size_t)b * m->block_stride + (size_t)i;
                const double g = (double)t->dy[e] * (double)scale[b * 16 + i];
                const double normal = ((double)t->x[e] - mean) * inverse;
                t->dx[e] =
                    i < layernorm_width(m, b) ? (float)(inverse * (g - sum - normal * product)) : 0;
            }
    }
}

/* The gradients of gamma, then of beta, of the task's blocks: the sum over samples [begin, end). */
static void layernorm_lane(void *arg, uint32_t begin, uint32_t end, float *dst)
{
    const struct layernorm_task *t = arg;
    const struct layernorm *m = t->m;

    for (int b = t->block0; b < t->block1; b++) {
        double sums[2][16] = {{0}};

        for (size_t k = begin * m->positions; k < end * m->positions; k++) {
            const size_t at = k / m->positions * t->l->out_floats +
                              k % m->positions * m->position_stride + (size_t)b * m->block_stride;
            const double mean = m->means[t->p->first * m->positions + k];
            const double inverse = m->inverses[t->p->first * m->positions + k];

            for (int i = 0; i < layernorm_width(m, b); i++) {
                const double dy = (double)t->dy[at + (size_t)i];
                sums[0][i] += dy * (((double)t->x[at + (size_t)i] - mean) * inverse);
                sums[1][i] += dy;
            }
        }
        for (int i = 0; i < 16; i++) {
            dst[b * 16 + i] = (float)sums[0][i];
            dst[(m->blocks + b) * 16 + i] = (float)sums[1][i];
        }
    }
}

static void layernorm_params_share(void *arg, int thread, int n_threads)
{
    struct layernorm_task t = *(const struct layernorm_task *)arg;
    const struct layer *l = t.l;

    t.block0 = share_begin(t.m->blocks, thread, n_threads);
    t.block1 = share_begin(t.m->blocks, thread + 1, n_threads);
    const size_t n = (size_t)(t.block1 - t.block0) * 16, at = (size_t)t.block0 * 16;
    const struct lane_sum sum = {.kernels = t.p->kernels,
                                 .block = t.block,
                                 .lane = layernorm_lane,
                                 .arg = &t,
                                 .at = {at, (size_t)t.m->blocks * 16 + at},
                                 .n = {n, n},
                                 .levels = l->levels,
                                 .level_floats = l->level_floats};
    if (n)
        lane_sum_run(&sum, t.target);
}

static void layernorm_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                               const float *x, const float *y)
{
    struct layernorm_task t = {.l = l, .m = l->state, .p = p, .dx = dx, .x = x, .dy = dy};
    struct gradient_sink *sink = p->sink;
    (void)y;

    for (int b = 0; b < p->n_blocks && !l->weight->frozen; b++) {
        t.block = &p->blocks[b];
        t.target = sink->apply ? l->levels + l->level_floats * (size_t)t.block->level
                               : sink->blocks[b] + l->weight->offset;
        threads_run(p->threads, layernorm_params_share, &t);
    }
    if (dx)
        threads_run(p->threads, layernorm_data_share, &t);
    if (l->weight->frozen)
        return;
    if (sink->apply) {
        sink->apply(sink->arg, l->weight->offset, l->weight->floats, t.target, PARAM_BIAS);
        sink->apply(sink->arg, l->bias->offset, l->bias->floats, t.target + l->weight->floats,
                    PARAM_BIAS);
    } else {
        sink->ready(sink->arg, l->weight->offset, l->level_floats);
    }
}

static void layernorm_init(struct layer *l, const struct net_layer *n,
                           const struct layer_options *o)
{
    struct layernorm *m = l->state = xcalloc(1, sizeof *m);

    m->epsilon = n->spec.epsilon;
    m->channels = n->out.c;
    m->blocks = blocks_of(n->out.c);
    m->positions = (size_t)(n->out.h * n->out.w);
    m->block_stride = n->rows ? 16 : m->positions * 16;
    m->position_stride = n->rows ? (size_t)m->blocks * 16 : 16;
    m->means = xaligned((o->samples * m->positions + 2) * sizeof *m->means);
    m->inverses = xaligned((o->samples * m->positions + 2) * sizeof *m->inverses);
    l->out_floats = l->in_floats;
    l->level_floats = 2 * (size_t)m->blocks * 16;
    l->n_levels = o->levels + 1;
}

static void layernorm_add_params(struct layer *l, const struct net_layer *n,
                                 struct param_list *list)
{
    l->weight = param_list_add_channels(list, n, "weight", PARAM_BIAS, INIT_ONE);
    l->bias = param_list_add_channels(list, n, "bias", PARAM_BIAS, INIT_ZERO);
}

static void layernorm_release(struct layer *l)
{
    struct layernorm *m = l->state;

    free(m->means);
    free(m->inverses);
    free(m);
}

const struct layer_ops layernorm_ops = {.kind = "layernorm",
                                        .init = layernorm_init,
                                        .add_params = layernorm_add_params,
                                        .forward = layernorm_forward,
                                        .backward = layernorm_backward,
                                        .release = layernorm_release};
