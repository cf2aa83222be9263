/*
 * Batch normalisation: y = gamma * (x - mean) / sqrt(variance + epsilon) + beta per channel, in
 * training with mean and variance (of n values) of a group of samples. Ioffe and Szegedy 2015.
 *
 * Groups are cut out of lanes, so they do not depend on who computes them. Running statistics go
 * the way of gradients: what is summed over lanes and ranks is momentum * (mean of the group -
 * running mean), weighted by the group's share of the update's samples, and the same with
 * variances.
 */
#include <math.h>

#include "paceline/mem.h"
#include "worker/layers/lane_sum.h"
#include "worker/layers/layer.h"
#include "worker/layers/param_list.h"

enum { SCALE, SHIFT, MEAN, VARIANCE, N_PARAMS }; /* in the order of their places */

struct norm {
    double epsilon, momentum;
    uint32_t group;
    bool unbiased;
    size_t channels, pixels; /* channels padded to 16 */
    /* Per sample [channels]; of a group, those of its first sample. */
    float *means, *deviations; /* of each sample; then the group's mean, and the variance's root */
    float *inverse;            /* 1/root */
    float *gradients;          /* [N_PARAMS][channels] of a group */
    uint32_t *ends;            /* after each group of the pass */
    uint32_t n_groups;
};

struct norm_task {
    struct layer *l;
    const struct pass *p;
    float *y, *dx, *dy;
    const float *x, *out; /* out: the layer's output, where ReLU is fused; else NULL */
};

/* A lane of n samples has as many groups as fit, at least one; they differ by a sample at most. */
static uint32_t norm_groups_of(const struct norm *m, uint32_t n)
{
    return n < m->group ? 1 : n / m->group;
}

static void cut_lane(struct norm *m, uint32_t begin, uint32_t n)
{
    for (uint32_t g = 0, groups = norm_groups_of(m, n); n && g < groups; g++)
        m->ends[m->n_groups++] = begin + (uint32_t)((uint64_t)(g + 1) * n / groups);
}

static void cut_groups(struct norm *m, const struct pass *p)
{
    m->n_groups = 0;
    for (int b = 0; b < p->n_blocks; b++) {
        const struct lane_ends *e = &p->blocks[b];

        for (uint32_t lane = 0; lane < 1u << e->level; lane++) {
            uint32_t first = lane ? e->end[lane - 1] : 0;
            cut_lane(m, e->begin + first, e->end[lane] - first);
        }
    }
}

static const float *parameter(const struct norm_task *t, int which, size_t c)
{
    return t->p->params + t->l->weight->offset + (size_t)which * t->l->norm->channels + c;
}

/* The 16 channels from c on of sample i. */
static size_t at_block(const struct norm *m, uint32_t i, size_t c)
{
    return ((size_t)i * m->channels + c) * m->pixels;
}

/* Of n values each: what the samples' moments are together; samples in order. */
static void combine(const struct norm *m, float *means, float *deviations, uint32_t n, int lane)
{
    double mean = 0, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        mean += (double)means[i * m->channels + (size_t)lane];
    mean /= n;
    for (uint32_t i = 0; i < n; i++) {
        const double d = (double)means[i * m->channels + (size_t)lane] - mean;
        sum += (double)deviations[i * m->channels + (size_t)lane] + (double)m->pixels * d * d;
    }
    means[lane] = (float)mean;
    deviations[lane] = (float)(sum / ((double)n * (double)m->pixels));
}

/* y of samples [begin, end), normalised by mean and variance (both [16]). */
static void norm_normalize(const struct norm_task *t, uint32_t begin, uint32_t end, size_t c,
                           const float *mean, const float *variance, float *inverse)
{
    const struct norm *m = t->l->norm;
    float scale[16];

    for (int i = 0; i < 16; i++) {
        inverse[i] = (float)(1 / sqrt((double)variance[i] + m->epsilon));
        scale[i] = parameter(t, SCALE, c)[i] * inverse[i];
    }
    for (uint32_t i = begin; i < end; i++)
        t->p->kernels->norm->normalize(t->y + at_block(m, i, c), t->x + at_block(m, i, c), mean,
                                       scale, parameter(t, SHIFT, c), m->pixels, t->l->relu);
}

static void group_forward(const struct norm_task *t, uint32_t group, size_t c)
{
    const struct norm *m = t->l->norm;
    const uint32_t begin = group ? m->ends[group - 1] : 0, end = m->ends[group];
    const size_t kept = (size_t)(t->p->first + begin) * m->channels + c;

    for (uint32_t i = begin; i < end; i++)
        t->p->kernels->norm->moments(m->means + kept + (i - begin) * m->channels,
                                     m->deviations + kept + (i - begin) * m->channels,
                                     t->x + at_block(m, i, c), m->pixels);
    for (int lane = 0; lane < 16; lane++)
        combine(m, m->means + kept, m->deviations + kept, end - begin, lane);
    norm_normalize(t, begin, end, c, m->means + kept, m->deviations + kept, m->inverse + kept);
}

/* Groups by blocks of channels are what threads take. */
static void norm_forward_share(void *arg, int thread, int n_threads)
{
    const struct norm_task *t = arg;
    const struct norm *m = t->l->norm;
    const int blocks = (int)(m->channels / 16), n = (int)m->n_groups * blocks;

    for (int i = share_begin(n, thread, n_threads); i < share_begin(n, thread + 1, n_threads); i++)
        group_forward(t, (uint32_t)(i / blocks), (size_t)(i % blocks) * 16);
}

/* By the running statistics, sample by sample. */
static void fixed_share(void *arg, int thread, int n_threads)
{
    const struct norm_task *t = arg;
    const struct norm *m = t->l->norm;
    const uint32_t begin = (uint32_t)share_begin((int)t->p->n, thread, n_threads);
    const uint32_t end = (uint32_t)share_begin((int)t->p->n, thread + 1, n_threads);
    float inverse[16];

    for (size_t c = 0; c < m->channels; c += 16)
        norm_normalize(t, begin, end, c, parameter(t, MEAN, c), parameter(t, VARIANCE, c), inverse);
}

static bool is_fixed(const struct layer *l, const struct pass *p)
{
    return !p->training || l->weight->frozen;
}

static void norm_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct norm_task t = {.l = l, .p = p, .y = y, .x = x};

    if (is_fixed(l, p)) {
        threads_run(p->threads, fixed_share, &t);
        return;
    }
    cut_groups(l->norm, p);
    threads_run(p->threads, norm_forward_share, &t);
}

/* The group's gradients of scale and shift, and what it changes in the running statistics. */
static void keep_gradients(const struct norm_task *t, size_t kept, size_t c, uint32_t n,
                           double sums[2][16])
{
    const struct norm *m = t->l->norm;
    const double values = (double)n * (double)m->pixels;
    const double more = m->unbiased && values > 1 ? values / (values - 1) : 1;
    const double weight = m->momentum * n / t->p->n_update;
    float *to = m->gradients + (kept - c) * N_PARAMS + c;

    for (int i = 0; i < 16; i++, to++) {
        to[SCALE * m->channels] = (float)(sums[1][i] * (double)m->inverse[kept + (size_t)i]);
        to[SHIFT * m->channels] = (float)sums[0][i];
        to[MEAN * m->channels] = (float)(weight * ((double)m->means[kept + (size_t)i] -
                                                   (double)parameter(t, MEAN, c)[i]));
        to[VARIANCE * m->channels] =
            (float)(weight * (more * (double)m->deviations[kept + (size_t)i] -
                              (double)parameter(t, VARIANCE, c)[i]));
    }
}

/* dx = scale/root * (dy - mean(dy) - (x - mean)/variance * mean(dy * (x - mean))) */
static void data_gradient(const struct norm_task *t, uint32_t begin, uint32_t end, size_t c,
                          size_t kept, double sums[2][16])
{
    const struct norm *m = t->l->norm;
    const double values = (double)(end - begin) * (double)m->pixels;
    float scale[16], slope[16], offset[16];

    for (int i = 0; i < 16; i++) {
        const double inverse = (double)m->inverse[kept + (size_t)i];
        const double a = (double)parameter(t, SCALE, c)[i] * inverse;

        scale[i] = (float)a;
        slope[i] = (float)(-a * inverse * inverse * sums[1][i] / values);
        offset[i] = (float)(-a * sums[0][i] / values);
    }
    for (uint32_t i = begin; i < end; i++) {
        const size_t at = at_block(m, i, c);
        t->p->kernels->norm->backward(t->dx + at, t->dy + at, t->x + at,
                                      t->out ? t->out + at : NULL, m->means + kept, scale, slope,
                                      offset, m->pixels);
    }
}

static void group_backward(const struct norm_task *t, uint32_t group, size_t c)
{
    const struct norm *m = t->l->norm;
    const uint32_t begin = group ? m->ends[group - 1] : 0, end = m->ends[group];
    const size_t kept = (size_t)(t->p->first + begin) * m->channels + c;
    double sums[2][16] = {{0}};
    float of_sample[2][16];

    for (uint32_t i = begin; i < end; i++) {
        const size_t at = at_block(m, i, c);
        t->p->kernels->norm->gradient_sums(of_sample[0], of_sample[1], t->dy + at, t->x + at,
                                           t->out ? t->out + at : NULL, m->means + kept, m->pixels);
        for (int k = 0; k < 16; k++) {
            sums[0][k] += (double)of_sample[0][k];
            sums[1][k] += (double)of_sample[1][k];
        }
    }
    keep_gradients(t, kept, c, end - begin, sums);
    if (t->dx)
        data_gradient(t, begin, end, c, kept, sums);
}

static void norm_backward_share(void *arg, int thread, int n_threads)
{
    const struct norm_task *t = arg;
    const struct norm *m = t->l->norm;
    const int blocks = (int)(m->channels / 16), n = (int)m->n_groups * blocks;

    for (int i = share_begin(n, thread, n_threads); i < share_begin(n, thread + 1, n_threads); i++)
        group_backward(t, (uint32_t)(i / blocks), (size_t)(i % blocks) * 16);
}

/* The sum of a lane's groups, in order. */
static void lane(void *arg, uint32_t begin, uint32_t end, float *dst)
{
    const struct norm_task *t = arg;
    const struct norm *m = t->l->norm;
    const size_t floats = N_PARAMS * m->channels;
    const uint32_t n = end - begin, groups = norm_groups_of(m, n);

    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t first = begin + (uint32_t)((uint64_t)g * n / groups);
        const float *from = m->gradients + (size_t)(t->p->first + first) * floats;

        if (g)
            t->p->kernels->reduce->add(dst, from, floats);
        else
            memcpy(dst, from, floats * sizeof *dst);
    }
}

static void norm_hand_over(struct layer *l, const struct pass *p, float *gradient)
{
    const struct param *const params[] = {l->weight, l->bias, l->mean, l->variance};

    for (int i = 0; i < N_PARAMS; i++)
        p->sink->apply(p->sink->arg, params[i]->offset, params[i]->floats,
                       gradient + (size_t)i * l->norm->channels, params[i]->kind);
}

static void parameters_backward(struct norm_task *t)
{
    struct layer *l = t->l;
    const struct pass *p = t->p;
    struct gradient_sink *sink = p->sink;
    struct lane_sum sum = {.kernels = p->kernels,
                           .lane = lane,
                           .arg = t,
                           .n = {l->level_floats, 0},
                           .levels = l->levels,
                           .level_floats = l->level_floats};
    float *to = NULL;

    for (int b = 0; b < p->n_blocks; b++) {
        sum.block = &p->blocks[b];
        to = sink->apply ? l->levels + l->level_floats * (size_t)sum.block->level
                         : sink->blocks[b] + l->weight->offset;
        lane_sum_run(&sum, to);
    }
    if (sink->apply)
        norm_hand_over(l, p, to);
    else
        sink->ready(sink->arg, l->weight->offset, l->level_floats);
}

static void fixed_backward_share(void *arg, int thread, int n_threads)
{
    static const float none[16];
    const struct norm_task *t = arg;
    const struct norm *m = t->l->norm;
    const uint32_t end = (uint32_t)share_begin((int)t->p->n, thread + 1, n_threads);
    float scale[16];

    for (size_t c = 0; c < m->channels; c += 16) {
        for (int i = 0; i < 16; i++)
            scale[i] = parameter(t, SCALE, c)[i] *
                       (float)(1 / sqrt((double)parameter(t, VARIANCE, c)[i] + m->epsilon));
        for (uint32_t i = (uint32_t)share_begin((int)t->p->n, thread, n_threads); i < end; i++) {
            const size_t at = at_block(m, i, c);
            t->p->kernels->norm->backward(t->dx + at, t->dy + at, t->x + at,
                                          t->out ? t->out + at : NULL, none, scale, none, none,
                                          m->pixels);
        }
    }
}

static void norm_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                          const float *x, const float *y)
{
    struct norm_task t = {.l = l, .p = p, .dx = dx, .dy = dy, .x = x, .out = l->relu ? y : NULL};

    if (is_fixed(l, p)) {
        if (dx)
            threads_run(p->threads, fixed_backward_share, &t);
        return;
    }
    cut_groups(l->norm, p);
    threads_run(p->threads, norm_backward_share, &t);
    parameters_backward(&t);
}

static void norm_release(struct layer *l)
{
    free(l->norm->means);
    free(l->norm->deviations);
    free(l->norm->inverse);
    free(l->norm->gradients);
    free(l->norm->ends);
    free(l->norm);
    free(l->levels);
}

static void norm_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    const size_t channels = (size_t)blocks_of(n->out.c) * 16, each = channels * o->samples + 16;
    struct norm *m = l->norm = xcalloc(1, sizeof *m);

    l->relu = o->relu;
    l->out = n->out;
    l->out_floats = l->in_floats;
    l->level_floats = N_PARAMS * channels;
    l->n_levels = o->levels + 1;
    l->levels = xaligned(l->level_floats * (size_t)l->n_levels * sizeof(float));
    m->epsilon = n->spec.epsilon;
    m->momentum = n->spec.momentum;
    m->unbiased = n->spec.unbiased;
    m->group = (uint32_t)n->spec.group;
    m->channels = channels;
    m->pixels = (size_t)(n->out.h * n->out.w);
    m->means = xaligned(each * sizeof(float));
    m->deviations = xaligned(each * sizeof(float));
    m->inverse = xaligned(each * sizeof(float));
    m->gradients = xaligned(each * N_PARAMS * sizeof(float));
    m->ends = xcalloc(o->samples + 1, sizeof *m->ends);
}

/* One after the other, as `parameter` finds them. */
static void norm_add_params(struct layer *l, const struct net_layer *n, struct param_list *list)
{
    l->weight = param_list_add_channels(list, n, "weight", PARAM_BIAS, INIT_ONE);
    l->bias = param_list_add_channels(list, n, "bias", PARAM_BIAS, INIT_ZERO);
    l->mean = param_list_add_channels(list, n, "running_mean", PARAM_STATISTIC, INIT_ZERO);
    l->variance = param_list_add_channels(list, n, "running_var", PARAM_STATISTIC, INIT_ONE);
}

const struct layer_ops batchnorm_ops = {.kind = "batchnorm",
                                        .init = norm_init,
                                        .add_params = norm_add_params,
                                        .forward = norm_forward,
                                        .backward = norm_backward,
                                        .release = norm_release};
