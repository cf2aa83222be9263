/*
 * Optimisers and learning-rate schedules. (The owner of this module writes each equation with its
 * source here.)
 */
#ifndef PACELINE_OPTIM_H
#define PACELINE_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/spec.h"
#include "worker/kernels/kernels.h"

#define OPTIM_MAX_SLOTS 3

struct optimizer {
    const struct kernels *kernels;
    struct job_optimizer config;
    double l2;
    update_fn *update;
    int n_slots;
    const char *slot_names[OPTIM_MAX_SLOTS]; /* "momentum", "exp_avg", ...: checkpoint names */
    float *slots[OPTIM_MAX_SLOTS];           /* each n_params floats, one slab */
    size_t n_params;
    struct update_coef coef; /* of the running step */
};

/* State starts at zero (Adagrad: initial_accumulator). Cannot fail: the job was validated. */
void optimizer_init(struct optimizer *o, const struct kernels *kernels, const struct job *job,
                    size_t n_params);
void optimizer_release(struct optimizer *o);

/* Coefficients of update number step (1-based) at this learning rate and clipping scale. */
void optimizer_begin_step(struct optimizer *o, int64_t step, double learning_rate,
                          double clip_scale);

/* Updates w[0..n), the parameters at offset of the slab; decay says whether l2 and weightDecay
 * apply (weights: yes; biases: no). Callable from several threads on disjoint ranges. */
void optimizer_update(const struct optimizer *o, float *w, const float *g, size_t offset, size_t n,
                      int decay);

/* The learning rate at a point of the training, counted in epochs (fractional, global). */
double schedule_rate(const struct job *job, double epoch);

/* Factor that brings a gradient of this squared norm to at most clip_norm; 1 when it is below. */
double clip_scale(double sum_squares, double clip_norm);

#endif
