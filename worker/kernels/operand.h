/*
 * What a product multiplies: floats, or with -DBF16 pairs of bf16 (bf16.h). product.c, dense.c and
 * conv.c are written once over it and compiled for both; -DBF16 makes X_bf16_kernels of them.
 *
 * operand            an element of w and x
 * VALUES             values of an operand: each step of a sum adds so many products
 * DEPTH              operands of the 16 channels of a pixel
 * operand_step       acc[u][t] += the products of w[u*wu] and x[t*ts], for t in [lo, hi)
 * operand_samples    16 operands of x and, where they are pairs, of what is `next` floats after it;
 *                    both: it is there, else +0
 * operand_channels   the 16 channels of a pixel
 * operand_turn       16x16 weights of inputs by outputs as operands of outputs by inputs
 * flush_begin, flush_end   around sums, which a function that is not inlined computes
 */
#ifndef PACELINE_OPERAND_H
#define PACELINE_OPERAND_H

#if defined(BF16)

#include "worker/kernels/bf16.h"

typedef uint32_t operand;
#define VALUES 2
#define TABLE(noun) K(noun##_bf16_kernels)
#define operand_step pair_step
VINLINE vi operand_samples(const float *x, size_t next, bool both)
{
    return bf16_pair(vload(x), both ? vload(x + next) : vzero());
}
VINLINE void operand_store(uint32_t *to, vi v) { vistore(to, v); }
VINLINE void operand_channels(uint32_t *to, vf v) { bf16_store_pairs(to, v); }
VINLINE void operand_turn(uint32_t *to, const float *from) { bf16_turn_block(to, from); }

#else

#include "worker/kernels/microtile.h"

typedef float operand;
#define VALUES 1
#define TABLE(noun) K(noun##_kernels)
#define operand_step tile_step
VINLINE vf operand_samples(const float *x, size_t next, bool both)
{
    (void)next, (void)both;
    return vload(x);
}
VINLINE void operand_store(float *to, vf v) { vstore(to, v); }
VINLINE void operand_channels(float *to, vf v) { vstore(to, v); }
VINLINE void operand_turn(float *to, const float *from)
{
    vi rows[VEC];

    UNROLL for (int i = 0; i < VEC; i++) rows[i] = vfbits(vload(from + i * VEC));
    vtranspose(rows, VEC);
    UNROLL for (int i = 0; i < VEC; i++) vstore(to + i * VEC, vbits(rows[i]));
}
VINLINE unsigned flush_begin(void) { return 0; } /* subnormals stay */
VINLINE void flush_end(unsigned before) { (void)before; }

#endif

#define DEPTH (VEC / VALUES)

#endif
