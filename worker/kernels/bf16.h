/*
 * Pairs of bf16 in 32 bits, the operands of products at half the bytes, on the virtual vector.
 *
 * A bf16 is the upper half of a float. Rounding to it is to nearest, ties to even; NaN stays NaN
 * (quiet), a subnormal float becomes zero of its sign. A pair has its first value in the upper
 * half.
 *
 * One step of a sum adds both products of a pair, the first one first, each as a fused multiply-add
 * whose operands and results are zeros (of their signs) where they would be subnormal. AVX512-BF16
 * has one instruction for it, VDPBF16PS, which is why; elsewhere it is two fused multiply-adds
 * between flush_begin and flush_end. All give the same bytes
 * (tests/unit/worker/kernels/test_bf16.c).
 */
#ifndef PACELINE_BF16_H
#define PACELINE_BF16_H

#include "worker/kernels/microtile.h"

#define PAIRS (VEC / 2) /* of the 16 channels of a pixel */

#if defined(ISA_AVX512BF16)

VINLINE unsigned flush_begin(void) { return 0; } /* the instruction always does */
VINLINE void flush_end(unsigned before) { (void)before; }

/* The rounded value as a float's bits. */
VINLINE vi bf16_bits(vf a)
{
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(a)), 16);
}

/* Lane i: the pair of first[i] and second[i], rounded. */
VINLINE vi bf16_pair(vf first, vf second)
{
    const __m512i lanes =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(lanes, (__m512i)_mm512_cvtne2ps_pbh(first, second));
}

/* The pairs of neighbours: out[i] of a[2i] and a[2i + 1], rounded. */
VINLINE void bf16_store_pairs(uint32_t out[PAIRS], vf a)
{
    __m256i swapped = _mm256_ror_epi32((__m256i)_mm512_cvtneps_pbh(a), 16);
    _mm256_storeu_si256((__m256i *)out, swapped);
}

/* acc[u][t] += both products of the pairs w[u*wu] and x[t*ts], for t in [lo, hi). */
VINLINE void pair_step(int U, int lo, int hi, vf acc[TILE_U][TILE_T], const uint32_t *w, size_t wu,
                       const uint32_t *x, size_t ts)
{
    vi wv[TILE_U];
    UNROLL for (int u = 0; u < U; u++) wv[u] = viload(w + (size_t)u * wu);
    UNROLL for (int t = lo; t < hi; t++)
    {
        vi b = viset1(x[(size_t)t * ts]);
        UNROLL for (int u = 0; u < U; u++) acc[u][t] =
            _mm512_dpbf16_ps(acc[u][t], (__m512bh)wv[u], (__m512bh)b);
    }
}

#else

#if defined(ISA_AVX2) || defined(ISA_AVX512)

#define FLUSH_BY_THREAD 1 /* so no other sums between flush_begin and flush_end */

/* Subnormals are zeros in this thread until flush_end(what this returned). The sums in between
 * have to be in a function that the compiler does not inline. */
VINLINE unsigned flush_begin(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u); /* FTZ, DAZ */
    return before;
}
VINLINE void flush_end(unsigned before) { _mm_setcsr(before); }

VINLINE vf vfma_flushed(vf a, vf b, vf c) { return vfma(a, b, c); }

#else

VINLINE unsigned flush_begin(void) { return 0; } /* vfma_flushed does */
VINLINE void flush_end(unsigned before) { (void)before; }

VINLINE float flushed(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}

/* a * b + c, of a and b that are rounded. Too small is what would not be 2^-126 with any exponents:
 * to 2^-126 itself a sum below may have been rounded, which doubles, exact there, show. */
VINLINE float fma_flushed(float a, float b, float c)
{
    const float r = flushed(__builtin_fmaf(a, b, flushed(c)));

    if (__builtin_fabsf(r) != 0x1p-126f)
        return r;
    return __builtin_fabs((double)a * (double)b + (double)c) < 0x1p-126 - 0x1p-151
               ? __builtin_copysignf(0.0f, r)
               : r;
}

VINLINE vf vfma_flushed(vf a, vf b, vf c) { VEACH(vf, fma_flushed(a.v[i], b.v[i], c.v[i])); }

#endif

VINLINE vi bf16_bits(vf a)
{
    const vi bits = vfbits(a), sign = viand(bits, viset1(0x80000000u));
    const vi upper = viset1(0xFFFF0000u);
    const vi odd = viand(vishr(bits, 16), viset1(1));
    const vi nearest = viand(viadd(viadd(bits, viset1(0x7FFF)), odd), upper);
    const vi quiet = viand(vior(bits, viset1(0x00400000u)), upper);
    const vm tiny = vgt(vset1(0x1p-126f), vbits(vixor(bits, sign)));

    return vfbits(vsel(tiny, vbits(sign), vsel(veq(a, a), vbits(nearest), vbits(quiet))));
}

VINLINE vi bf16_pair(vf first, vf second)
{
    return vior(bf16_bits(first), vishr(bf16_bits(second), 16));
}

VINLINE void bf16_store_pairs(uint32_t out[PAIRS], vf a)
{
    uint32_t bits[VEC];

    vistore(bits, bf16_bits(a));
    for (int i = 0; i < PAIRS; i++)
        out[i] = bits[2 * i] | bits[2 * i + 1] >> 16;
}

/* One of the two products of a step. */
VINLINE void pair_half(int U, int lo, int hi, vf acc[TILE_U][TILE_T], const uint32_t *w, size_t wu,
                       const uint32_t *x, size_t ts, bool first)
{
    const vi upper = viset1(0xFFFF0000u);
    vf wv[TILE_U];

    UNROLL for (int u = 0; u < U; u++)
    {
        vi pair = viload(w + (size_t)u * wu);
        wv[u] = vbits(first ? viand(pair, upper) : vishl(pair, 16));
    }
    UNROLL for (int t = lo; t < hi; t++)
    {
        vi pair = viset1(x[(size_t)t * ts]);
        vf b = vbits(first ? viand(pair, upper) : vishl(pair, 16));
        UNROLL for (int u = 0; u < U; u++) acc[u][t] = vfma_flushed(wv[u], b, acc[u][t]);
    }
}

VINLINE void pair_step(int U, int lo, int hi, vf acc[TILE_U][TILE_T], const uint32_t *w, size_t wu,
                       const uint32_t *x, size_t ts)
{
    pair_half(U, lo, hi, acc, w, wu, x, ts, true);
    pair_half(U, lo, hi, acc, w, wu, x, ts, false);
}

#endif

/* 16x16 weights of inputs by outputs, turned: to[i][l] is the pair of from[l][2i] and the next. */
VINLINE void bf16_turn_block(uint32_t *to, const float *from)
{
    uint32_t pairs[VEC * PAIRS];
    vi rows[VEC];

    for (int a = 0; a < VEC; a++)
        bf16_store_pairs(pairs + a * PAIRS, vload(from + a * VEC));
    UNROLL for (int i = 0; i < PAIRS; i++) rows[i] = viload(pairs + i * VEC);
    vtranspose(rows, PAIRS);
    UNROLL for (int i = 0; i < PAIRS; i++) vistore(to + i * VEC, rows[i]);
}

#endif
