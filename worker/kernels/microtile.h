/*
 * The register tile under every product: U vectors of 16 outputs times T scalars, accumulated with
 * fma in registers. U and T differ per ISA; the order of an element's sum never does.
 *
 * U and T must be compile-time constants where these functions are inlined, and every loop over
 * them unrolled, so that acc lives in registers.
 */
#ifndef PACELINE_MICROTILE_H
#define PACELINE_MICROTILE_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/kernels/vec.h"

/* TILE_FOR_EACH(M, U) expands M(U, T) for T = 1..TILE_T. */
#define TILE_UP_TO_4(M, U) M(U, 1) M(U, 2) M(U, 3) M(U, 4)
#define TILE_UP_TO_6(M, U) TILE_UP_TO_4(M, U) M(U, 5) M(U, 6)
#define TILE_UP_TO_14(M, U) \
    TILE_UP_TO_6(M, U)      \
    M(U, 7) M(U, 8) M(U, 9) M(U, 10) M(U, 11) M(U, 12) M(U, 13) M(U, 14)

#if defined(ISA_AVX512) /* 28 accumulators, 2 weights, 1 broadcast of 32 registers */
#define TILE_U 2
#define TILE_T 14
#define TILE_FOR_EACH(M, U) TILE_UP_TO_14(M, U)
#elif defined(ISA_AVX2) /* 12 accumulators, 2 weights, 1 broadcast of 16 registers */
#define TILE_U 1
#define TILE_T 6
#define TILE_FOR_EACH(M, U) TILE_UP_TO_6(M, U)
#else
#define TILE_U 1
#define TILE_T 4
#define TILE_FOR_EACH(M, U) TILE_UP_TO_4(M, U)
#endif

/* TILE_FUNCTIONS(M) expands M(U, T) for every tile; TILE_TABLE(M), of M(U, T) that end with a
 * comma, is what initializes an array [TILE_U][TILE_T] with them. */
#if TILE_U > 1
#define TILE_FUNCTIONS(M) TILE_FOR_EACH(M, 1) TILE_FOR_EACH(M, 2)
#define TILE_TABLE(M)                                  \
    {                                                  \
        {TILE_FOR_EACH(M, 1)}, { TILE_FOR_EACH(M, 2) } \
    }
#else
#define TILE_FUNCTIONS(M) TILE_FOR_EACH(M, 1)
#define TILE_TABLE(M)           \
    {                           \
        {                       \
            TILE_FOR_EACH(M, 1) \
        }                       \
    }
#endif

#define UNROLL _Pragma("GCC unroll 32")

/* acc[u][t] += w[u*wu] * x[t*ts] for t in [lo, hi): one step of a sum. */
VINLINE void tile_step(int U, int lo, int hi, vf acc[TILE_U][TILE_T], const float *w, size_t wu,
                       const float *x, size_t ts)
{
    vf wv[TILE_U];
    UNROLL for (int u = 0; u < U; u++) wv[u] = vload(w + (size_t)u * wu);
    UNROLL for (int t = lo; t < hi; t++)
    {
        vf b = vset1(x[(size_t)t * ts]);
        UNROLL for (int u = 0; u < U; u++) acc[u][t] = vfma(wv[u], b, acc[u][t]);
    }
}

VINLINE int imax(int a, int b) { return a > b ? a : b; }
VINLINE int imin(int a, int b) { return a < b ? a : b; }

/* Cuts n into the fewest pieces of at most `most`, of nearly equal size: piece i of them. */
VINLINE int piece_count(int n, int most) { return (n + most - 1) / most; }
VINLINE int piece_begin(int n, int pieces, int i) { return (int)((long)n * i / pieces); }

#endif
