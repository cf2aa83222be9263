/*
 * Products over a register tile of pairs of bf16 (bf16.h), as product.h has them of floats:
 * dst[u][t] (+)= sum over rows and k of both products of the pairs w[u][row][k] and x[row][k][t].
 */
#ifndef PACELINE_KERNEL_PRODUCT_BF16_H
#define PACELINE_KERNEL_PRODUCT_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/kernels/lane_ends.h"

struct product_bf16 {
    const uint32_t *w; /* vectors of 16 pairs: w + u*w_u + row*w_row + k*w_k */
    size_t w_u, w_row, w_k;
    const uint32_t *x; /* pairs: x + row*x_row + k*x_k + t */
    size_t x_row, x_k;
    int rows, k;
    float *dst; /* vectors of 16: dst + u*dst_u + t*16 */
    size_t dst_u;
    bool accumulate; /* start from dst instead of from zero */
};

struct product_bf16_kernels {
    /* Sum order of an element: rows, then k, of a pair the first product first; n_u and n_t as in
     * product_kernels. */
    void (*run)(const struct product_bf16 *p, int n_u, int n_t);
    /* As in product_kernels: a sample has one pixel or an even number. A lane's pairs, the second
     * of an odd number's last +0, begin at slot (k) ceil(pixels / 2) of each sample before it.
     * Where lanes meet subnormals are none but themselves. NULL: not on this instruction set. */
    void (*run_lanes)(const struct product_bf16 *p, int n_u, int n_t, const struct lane_ends *lanes,
                      uint32_t pixels, float *stack);
    /* out[i] = the pair of first[i] and second[i] (NULL: +0), rounded; n a multiple of 16. */
    void (*pairs)(uint32_t *out, const float *first, const float *second, size_t n);
};

#endif
