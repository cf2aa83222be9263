#include "worker/kernels/update.h"

#include "worker/kernels/vec.h"

#define SLOTS 3

/* One vector of weights and its state. */
struct point {
    vf w, s[SLOTS];
};

typedef void step_fn(struct point *p, vf g, const struct update_coef *c);

VINLINE void descend(struct point *p, vf step, const struct update_coef *c)
{
    p->w = vfma(vset1(-c->rate), step, p->w);
}

/* decay * old + gain * new; 0 below UPDATE_TINY, since an average that only decays would end among
 * the subnormal numbers and stay there, where every operation takes a hundred times as long. */
VINLINE vf average(float decay, vf old, float gain, vf new)
{
    vf sum = vfma(vset1(decay), old, vmul(vset1(gain), new));
    vf size = vbits(viand(vfbits(sum), viset1(0x7fffffff)));

    return vsel(vgt(vset1(UPDATE_TINY), size), vzero(), sum);
}

VINLINE vf denominator(vf v, const struct update_coef *c)
{
    vf root = vsqrt(vadd(v, vset1(c->epsilon_inside)));

    return vfma(root, vset1(c->root_correction), vset1(c->epsilon_outside));
}

VINLINE void step_sgd(struct point *p, vf g, const struct update_coef *c) { descend(p, g, c); }

VINLINE void step_momentum(struct point *p, vf g, const struct update_coef *c)
{
    p->s[0] = average(c->momentum, p->s[0], c->velocity_gain, g);
    descend(p, c->nesterov ? average(c->momentum, p->s[0], c->velocity_gain, g) : p->s[0], c);
}

VINLINE void step_adam(struct point *p, vf g, const struct update_coef *c)
{
    p->w = vmul(vset1(c->decay), p->w);
    p->s[0] = average(c->beta1, p->s[0], c->gain1, g);
    p->s[1] = average(c->beta2, p->s[1], c->gain2, vmul(g, g));
    descend(p, vdiv(p->s[0], denominator(p->s[1], c)), c);
}

VINLINE void step_adagrad(struct point *p, vf g, const struct update_coef *c)
{
    p->s[0] = vfma(g, g, p->s[0]);
    descend(p, vdiv(g, denominator(p->s[0], c)), c);
}

VINLINE void step_adadelta(struct point *p, vf g, const struct update_coef *c)
{
    p->s[0] = average(c->beta2, p->s[0], c->gain2, vmul(g, g));
    vf step = vmul(vdiv(denominator(p->s[1], c), denominator(p->s[0], c)), g);
    p->s[1] = average(c->beta2, p->s[1], c->gain2, vmul(step, step));
    descend(p, step, c);
}

VINLINE void step_rmsprop(struct point *p, vf g, const struct update_coef *c)
{
    p->s[0] = average(c->beta2, p->s[0], c->gain2, vmul(g, g));
    vf v = p->s[0];
    if (c->centered) {
        p->s[2] = average(c->beta2, p->s[2], c->gain2, g);
        v = vfma(vsub(vzero(), p->s[2]), p->s[2], v);
        v = vmax(vzero(), v); /* rounding may leave less than nothing; NaN stays */
    }
    p->s[1] = average(c->momentum, p->s[1], c->velocity_gain, vdiv(g, denominator(v, c)));
    descend(p, p->s[1], c);
}

/* k weights from w on (VEC, or fewer at the end), state in the first `slots` arrays of s. */
VINLINE void step_at(float *w, const float *g, float *const *s, size_t i, size_t k, int slots,
                     const struct update_coef *c, step_fn *step)
{
    struct point p = {.w = k == VEC ? vload(w + i) : vload_n(w + i, k)};
    vf grad = k == VEC ? vload(g + i) : vload_n(g + i, k);

    for (int j = 0; j < SLOTS; j++)
        p.s[j] = j >= slots ? vzero() : k == VEC ? vload(s[j] + i) : vload_n(s[j] + i, k);
    step(&p, vfma(vset1(c->l2), p.w, vmul(vset1(c->scale), grad)), c);
    if (k == VEC) {
        vstore(w + i, p.w);
        for (int j = 0; j < slots; j++)
            vstore(s[j] + i, p.s[j]);
    } else {
        vstore_n(w + i, p.w, k);
        for (int j = 0; j < slots; j++)
            vstore_n(s[j] + i, p.s[j], k);
    }
}

VINLINE void walk(float *w, const float *g, float *const *s, size_t n, int slots,
                  const struct update_coef *coef, step_fn *step)
{
    const struct update_coef c = *coef; /* a copy that no store can alias */
    size_t i = 0;

    for (; i + VEC <= n; i += VEC)
        step_at(w, g, s, i, VEC, slots, &c, step);
    if (i < n)
        step_at(w, g, s, i, n - i, slots, &c, step);
}

#define UPDATE(name, slots)                                                               \
    static void name(float *w, const float *g, float *s0, float *s1, float *s2, size_t n, \
                     const struct update_coef *c)                                         \
    {                                                                                     \
        walk(w, g, (float *const[]){s0, s1, s2}, n, slots, c, step_##name);               \
    }

UPDATE(sgd, 0)
UPDATE(momentum, 1)
UPDATE(adam, 2)
UPDATE(adagrad, 1)
UPDATE(adadelta, 2)

static void rmsprop(float *w, const float *g, float *s0, float *s1, float *s2, size_t n,
                    const struct update_coef *c)
{
    float *const s[] = {s0, s1, s2};

    if (s2)
        walk(w, g, s, n, 3, c, step_rmsprop);
    else if (s1)
        walk(w, g, s, n, 2, c, step_rmsprop);
    else
        walk(w, g, s, n, 1, c, step_rmsprop);
}

const struct update_kernels K(update_kernels) = {
    .sgd = sgd,
    .momentum = momentum,
    .adam = adam,
    .adagrad = adagrad,
    .adadelta = adadelta,
    .rmsprop = rmsprop,
};
