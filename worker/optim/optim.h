/*
 * Optimisers and learning-rate schedules.
 *
 * With w the weights, g the mean gradient of the data loss, a the learning rate of the step and t
 * its number from 1. First, always:
 *
 *     g = clip * g + l2 * w                       l2: weights only, not biases
 *
 * SGD          w = w - a*g
 * with         v = mu*v + (1-dampening)*g         (v = g in the first step, as PyTorch)
 * momentum     w = w - a*v
 *   nesterov   w = w - a*(g + mu*v)
 *   rateInVelocity (Keras): v = mu*v + a*g, w = w - v, or w - (a*g + mu*v); the same while a does
 *              not change. Polyak 1964; Sutskever et al. 2013; torch.optim.SGD, keras SGD.
 * Adam         m = b1*m + (1-b1)*g, v = b2*v + (1-b2)*g^2
 *              w = w - a/(1-b1^t) * m / (sqrt(v/(1-b2^t)) + eps)
 *   epsilonInside  the denominator is sqrt(v/(1-b2^t) + eps)
 *   epsilonHat     it is (sqrt(v) + eps)/sqrt(1-b2^t), with both sqrt(v + eps)/sqrt(1-b2^t): the
 *              "epsilon hat" of the paper's section 2. Kingma and Ba 2015; torch.optim.Adam;
 *              keras Adam (epsilonHat).
 * AdamW        w = (1 - a*weightDecay)*w first, then Adam. Loshchilov and Hutter 2019; both.
 * Adagrad      s = s + g^2 (from initialAccumulator), w = w - a*g/(sqrt(s) + eps)
 *   epsilonInside  sqrt(s + eps). Duchi et al. 2011; torch.optim.Adagrad; keras (inside).
 * Adadelta     v = rho*v + (1-rho)*g^2, d = g * sqrt(u + eps)/sqrt(v + eps),
 *              u = rho*u + (1-rho)*d^2, w = w - a*d. Zeiler 2012; both (epsilon is always inside).
 * RMSProp      v = rho*v + (1-rho)*g^2, w = w - a*g/(sqrt(v) + eps)
 *   centered   h = rho*h + (1-rho)*g, and v - h^2 in place of v under the root
 *   momentum   u = mu*u + g/(sqrt(v) + eps), w = w - a*u; rateInVelocity: u = mu*u + a*g/(...),
 *              w = w - u
 *   epsilonInside  sqrt(v + eps). Hinton 2012; Graves 2013; torch.optim.RMSprop; keras (inside,
 *              rateInVelocity).
 */
#ifndef PACELINE_OPTIM_H
#define PACELINE_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/spec.h"
#include "worker/kernels/kernels.h"
#include "worker/lanes/placement.h"

#define OPTIM_MAX_SLOTS 3

/* Parameters whose state is here: [at, at + n) of each slot. */
struct kept {
    size_t offset, n, at;
};

struct optimizer {
    const struct kernels *kernels;
    struct job_optimizer config;
    double l2;
    update_fn *update;
    int n_slots;
    const char *slot_names[OPTIM_MAX_SLOTS]; /* checkpoint names, those of PyTorch's state */
    float *slots[OPTIM_MAX_SLOTS];           /* each n_floats, in one slab */
    size_t n_floats;                         /* kept: all parameters, or some */
    struct kept *kept;                       /* n_kept of them, in order */
    int n_kept;
    struct update_coef coef; /* of the running step */
};

/* State starts at zero (Adagrad: initial_accumulator): of all n_params parameters, or with owners
 * of those that are this rank's. Cannot fail: the job was validated. */
void optimizer_init(struct optimizer *o, const struct kernels *kernels, const struct job *job,
                    size_t n_params, const struct placement *owners, int rank);
void optimizer_release(struct optimizer *o);
/* The slot that momentum fills, n_floats; NULL: the optimiser has none. */
float *optimizer_velocity(const struct optimizer *o);

/* In a slot, where the state of the parameter at offset is: it is kept. */
float *optimizer_state(const struct optimizer *o, int slot, size_t offset);
/* What is kept of parameters [offset, offset + n) takes its state from a slab of all. */
void optimizer_load(const struct optimizer *o, int slot, const float *slab, size_t offset,
                    size_t n);

/* Coefficients of update number step (1-based) at this learning rate and clipping scale. */
void optimizer_begin_step(struct optimizer *o, int64_t step, double learning_rate,
                          double clip_scale);

/* Updates w[0..n), the parameters at offset of the slab, all of them of one kept range; decay says
 * whether l2 and weightDecay apply (weights: yes; biases: no). Callable from several threads on
 * disjoint ranges. */
void optimizer_update(const struct optimizer *o, float *w, const float *g, size_t offset, size_t n,
                      int decay);

/*
 * The learning rate at a point of the training, counted in epochs (fractional, global):
 * learningRate times
 *     constant     1
 *     piecewise    values[i], i the number of boundaries at or before the epoch
 *     cosine       min + (1-min)*(1 + cos(pi*x))/2, x from 0 after warm-up to 1 at training.epochs
 *     exponential  decayRate ^ ((epoch - warmupEpochs)/decayEpochs)
 * During warm-up it goes in a straight line from warmupFrom to the factor at the warm-up's end.
 */
double schedule_rate(const struct job *job, double epoch);

/* Factor that brings a gradient of this squared norm to at most clip_norm; 1 when it is below, when
 * clip_norm is 0 (off) and when the norm is NaN (the loss check stops the job). */
double clip_scale(double sum_squares, double clip_norm);

#endif
