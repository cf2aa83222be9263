#include <assert.h>
#include <math.h>

#include "paceline/mem.h"
#include "worker/optim/optim.h"

#define VELOCITY "momentum_buffer"

static const char *const slot_names[][OPTIM_MAX_SLOTS] = {
    [OPT_SGD] = {VELOCITY},
    [OPT_ADAM] = {"exp_avg", "exp_avg_sq"},
    [OPT_ADAMW] = {"exp_avg", "exp_avg_sq"},
    [OPT_ADAGRAD] = {"sum"},
    [OPT_ADADELTA] = {"square_avg", "acc_delta"},
    [OPT_RMSPROP] = {"square_avg", VELOCITY, "grad_avg"},
};

static update_fn *choose_update(const struct update_kernels *k, const struct job_optimizer *c)
{
    switch (c->type) {
    case OPT_SGD:
        return c->momentum > 0 ? k->momentum : k->sgd;
    case OPT_ADAM:
    case OPT_ADAMW:
        return k->adam;
    case OPT_ADAGRAD:
        return k->adagrad;
    case OPT_ADADELTA:
        return k->adadelta;
    case OPT_RMSPROP:
        return k->rmsprop;
    }
    return NULL;
}

static void optimizer_keep(struct optimizer *o, size_t offset, size_t n)
{
    o->kept[o->n_kept++] = (struct kept){offset, n, o->n_floats};
    o->n_floats += n;
}

static void keep_own(struct optimizer *o, const struct placement *owners, int rank)
{
    o->kept = xcalloc((size_t)owners->n, sizeof *o->kept);
    for (int i = 0; i < owners->n; i++) {
        const struct shard *s = &owners->shards[i];

        if (placement_owner(owners, s) == rank)
            optimizer_keep(o, s->offset, s->n);
    }
}

void optimizer_init(struct optimizer *o, const struct kernels *kernels, const struct job *job,
                    size_t n_params, const struct placement *owners, int rank)
{
    const struct job_optimizer *c = &job->training.optimizer;
    int n_slots = job_optimizer_slots(c);

    assert(n_slots <= OPTIM_MAX_SLOTS);
    *o = (struct optimizer){.kernels = kernels,
                            .config = *c,
                            .l2 = job->training.l2,
                            .update = choose_update(kernels->update, c),
                            .n_slots = n_slots};
    if (owners) {
        keep_own(o, owners, rank);
    } else {
        o->kept = xcalloc(1, sizeof *o->kept);
        optimizer_keep(o, 0, n_params);
    }
    if (!n_slots)
        return;
    size_t stride = (o->n_floats + 15) / 16 * 16; /* whole cache lines */
    float *slab = xaligned((size_t)n_slots * stride * sizeof *slab);
    for (int i = 0; i < n_slots; i++) {
        o->slot_names[i] = slot_names[c->type][i];
        o->slots[i] = slab + (size_t)i * stride;
    }
    if (c->type == OPT_ADAGRAD)
        for (size_t i = 0; i < o->n_floats; i++)
            slab[i] = (float)c->initial_accumulator;
}

void optimizer_release(struct optimizer *o)
{
    free(o->slots[0]);
    free(o->kept);
    *o = (struct optimizer){0};
}

float *optimizer_velocity(const struct optimizer *o)
{
    for (int i = 0; i < o->n_slots; i++)
        if (strcmp(o->slot_names[i], VELOCITY) == 0)
            return o->slots[i];
    return NULL;
}

/* The last kept range that begins at the offset or before it; NULL: none does. */
static const struct kept *optimizer_find(const struct optimizer *o, size_t offset)
{
    int low = 0, high = o->n_kept;

    while (low < high) {
        int middle = (low + high) / 2;

        if (o->kept[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &o->kept[low - 1] : NULL;
}

float *optimizer_state(const struct optimizer *o, int slot, size_t offset)
{
    const struct kept *k = optimizer_find(o, offset);

    assert(k && offset < k->offset + k->n);
    return o->slots[slot] + k->at + (offset - k->offset);
}

void optimizer_load(const struct optimizer *o, int slot, const float *slab, size_t offset, size_t n)
{
    for (int i = 0; i < o->n_kept; i++) {
        const struct kept *k = &o->kept[i];
        size_t begin = offset > k->offset ? offset : k->offset;
        size_t end = offset + n < k->offset + k->n ? offset + n : k->offset + k->n;

        if (begin < end)
            memcpy(optimizer_state(o, slot, begin), slab + begin, (end - begin) * sizeof *slab);
    }
}

static void adam_coef(struct update_coef *k, const struct job_optimizer *c, int64_t step,
                      double learning_rate)
{
    double correction1 = 1 - math_powi(c->beta1, (long)step);
    double correction2 = 1 - math_powi(c->beta2, (long)step);
    double root = 1 / sqrt(correction2);

    k->rate = (float)(learning_rate / correction1);
    k->root_correction = (float)root;
    if (!c->epsilon_inside)
        k->epsilon_outside = (float)(c->epsilon_hat ? c->epsilon * root : c->epsilon);
    else
        k->epsilon_inside = (float)(c->epsilon_hat ? c->epsilon : c->epsilon * correction2);
    k->decay = (float)(c->type == OPT_ADAMW ? 1 - learning_rate * c->weight_decay : 1);
}

void optimizer_begin_step(struct optimizer *o, int64_t step, double learning_rate,
                          double clip_scale)
{
    const struct job_optimizer *c = &o->config;
    int adam = c->type == OPT_ADAM || c->type == OPT_ADAMW;
    int inside = c->epsilon_inside || c->type == OPT_ADADELTA;
    int keras = c->rate_in_velocity && c->momentum > 0;
    double decay2 = adam ? c->beta2 : c->rho;
    double dampening = c->type == OPT_SGD && step > 1 ? c->dampening : 0;

    o->coef = (struct update_coef){
        .scale = (float)clip_scale,
        .l2 = (float)o->l2,
        .decay = 1,
        .rate = (float)(keras ? 1 : learning_rate),
        .momentum = (float)c->momentum,
        .velocity_gain = (float)((1 - dampening) * (keras ? learning_rate : 1)),
        .beta1 = (float)c->beta1,
        .beta2 = (float)decay2,
        .gain1 = (float)(1 - c->beta1),
        .gain2 = (float)(1 - decay2),
        .epsilon_inside = (float)(inside ? c->epsilon : 0),
        .root_correction = 1,
        .epsilon_outside = (float)(inside ? 0 : c->epsilon),
        .nesterov = c->nesterov,
        .centered = c->centered,
    };
    if (adam)
        adam_coef(&o->coef, c, step, learning_rate);
}

void optimizer_update(const struct optimizer *o, float *w, const float *g, size_t offset, size_t n,
                      int decay)
{
    struct update_coef coef = o->coef;
    float *s[OPTIM_MAX_SLOTS] = {0};

    if (!decay) {
        coef.l2 = 0;
        coef.decay = 1;
    }
    for (int i = 0; i < o->n_slots; i++)
        s[i] = optimizer_state(o, i, offset);
    o->update(w, g, s[0], s[1], s[2], n, &coef);
}

double clip_scale(double sum_squares, double clip_norm)
{
    double norm = sqrt(sum_squares);

    return clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
}
