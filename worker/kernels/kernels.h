/*
 * Kernels: the arithmetic of training, one source per noun, compiled for every ISA.
 *
 * Each worker/kernels/X.c is written over vec.h, includes X.h and defines
 * `const struct X_kernels K(X_kernels)`; the Makefile compiles it per ISA (-DISA_AVX512, ...).
 * kernels.c chooses one table at run time. All tables are bit-equal: the sum order is part of
 * each function's contract.
 */
#ifndef PACELINE_KERNELS_H
#define PACELINE_KERNELS_H

#include "worker/kernels/activation.h"
#include "worker/kernels/conv.h"
#include "worker/kernels/dense.h"
#include "worker/kernels/lrn.h"
#include "worker/kernels/lstm.h"
#include "worker/kernels/math.h"
#include "worker/kernels/norm.h"
#include "worker/kernels/pool.h"
#include "worker/kernels/product.h"
#include "worker/kernels/random.h"
#include "worker/kernels/reduce.h"
#include "worker/kernels/update.h"

/* Raised whenever a kernel's sum order changes; ranks compare it before step 0. */
#define SUM_ORDER_VERSION 1

struct kernels {
    const char *isa;                             /* "c", "avx2", "avx512", "neon" */
    const char *isa_bf16;                        /* of products of bf16: this, or "avx512bf16" */
    const struct product_kernels *product;       /* register tiles */
    const struct conv_kernels *conv;             /* direct convolution */
    const struct dense_kernels *dense;           /* dense layers */
    const struct pool_kernels *pool;             /* pooling */
    const struct activation_kernels *activation; /* ReLU, tanh and the like, by type */
    const struct math_kernels *math;             /* exp, log, tanh, sigmoid, softmax */
    const struct random_kernels *random;         /* counter-based Philox */
    const struct reduce_kernels *reduce;         /* sums, norms, in the one order */
    const struct update_kernels *update;         /* optimiser steps */
    const struct norm_kernels *norm;             /* batch normalisation */
    const struct lrn_kernels *lrn;               /* local response normalisation */
    const struct lstm_kernels *lstm;             /* the cell of an LSTM */
    const struct product_kernels *product_bf16;  /* tiles of rounded operands */
    const struct conv_kernels *conv_bf16;        /* convolution of rounded operands */
    const struct dense_kernels *dense_bf16;      /* dense layers of rounded operands */
};

/* The best set for this CPU, or the one whose isa_bf16 PACELINE_ISA names. NULL: the name is
 * unknown or the CPU lacks it; *why then says which are available. */
const struct kernels *kernels_select(const char **why);

/* The set whose isa_bf16 that is, or NULL when this CPU or build cannot run it. For tests. */
const struct kernels *kernels_find(const char *isa);
/* Every name, NULL-terminated, but avx512bf16: its fp32 kernels are those of avx512. */
extern const char *const kernels_isas[];

/* Flush-to-zero and denormals-are-zero are off in this thread (IEEE gradual underflow). */
void kernels_thread_init(void);

#endif
