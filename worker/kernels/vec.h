/*
 * The virtual vector: 16 floats (vf), 16 uint32 (vi), 16 truth values (vm), the same on every
 * instruction set. A kernel source is written once over it and compiled per ISA (plain C, AVX2,
 * AVX-512, NEON); every operation rounds as IEEE-754 single precision does, so all variants give
 * the same bytes. Only + - * / sqrt, explicit fma, compares and integer operations exist here:
 * no reciprocal estimates, no libm.
 *
 * K(name) gives a symbol its ISA suffix. Signed zero, NaN: vmax(a, b) is a > b ? a : b, so it
 * yields b when either is NaN or both are zeros; likewise vmin(a, b) is a < b ? a : b.
 * vziplo(a, b) is a0 b0 a1 b1 .. a7 b7, vziphi(a, b) is a8 b8 .. a15 b15.
 */
#ifndef PACELINE_VEC_H
#define PACELINE_VEC_H

#include <stdint.h>
#include <string.h>

#define VEC 16
#if defined(ISA_C) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
/* Sanitizers check every lane of the plain C form; inlined, a kernel would compile for minutes. */
#define VINLINE static __attribute__((noinline, unused))
#else
#define VINLINE static inline __attribute__((always_inline, unused))
#endif
#define K_PASTE2(name, isa) name##_##isa
#define K_PASTE(name, isa) K_PASTE2(name, isa)
#define K(name) K_PASTE(name, ISA)

#if defined(ISA_AVX512)
#if defined(ISA_AVX512BF16) /* of the kernels in bf16 alone */
#define ISA avx512bf16
#else
#define ISA avx512
#endif
#include <immintrin.h>

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

VINLINE vf vzero(void) { return _mm512_setzero_ps(); }
VINLINE vf vset1(float x) { return _mm512_set1_ps(x); }
VINLINE vf vload(const float *p) { return _mm512_loadu_ps(p); }
VINLINE void vstore(float *p, vf a) { _mm512_storeu_ps(p, a); }
VINLINE vf vadd(vf a, vf b) { return _mm512_add_ps(a, b); }
VINLINE vf vsub(vf a, vf b) { return _mm512_sub_ps(a, b); }
VINLINE vf vmul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VINLINE vf vdiv(vf a, vf b) { return _mm512_div_ps(a, b); }
VINLINE vf vsqrt(vf a) { return _mm512_sqrt_ps(a); }
VINLINE vf vfma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VINLINE vf vmax(vf a, vf b) { return _mm512_max_ps(a, b); }
VINLINE vf vmin(vf a, vf b) { return _mm512_min_ps(a, b); }
VINLINE vm vgt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
VINLINE vm veq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VINLINE vf vsel(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); } /* m ? a : b */
VINLINE vi viload(const uint32_t *p) { return _mm512_loadu_si512(p); }
VINLINE void vistore(uint32_t *p, vi a) { _mm512_storeu_si512(p, a); }
VINLINE vi viset1(uint32_t x) { return _mm512_set1_epi32((int)x); }
VINLINE vi viadd(vi a, vi b) { return _mm512_add_epi32(a, b); }
VINLINE vi visub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
VINLINE vi vixor(vi a, vi b) { return _mm512_xor_si512(a, b); }
VINLINE vi viand(vi a, vi b) { return _mm512_and_si512(a, b); }
VINLINE vi vior(vi a, vi b) { return _mm512_or_si512(a, b); }
#define vishl(a, n) _mm512_slli_epi32(a, n) /* n: a constant */
#define vishr(a, n) _mm512_srli_epi32(a, n)
VINLINE vf vbits(vi a) { return _mm512_castsi512_ps(a); }   /* the same bits as floats */
VINLINE vi vfbits(vf a) { return _mm512_castps_si512(a); }  /* the same bits as integers */
VINLINE vf vcvt_u24(vi a) { return _mm512_cvtepi32_ps(a); } /* exact: values below 2^24 */
VINLINE uint32_t vmbits(vm m) { return m; }                 /* bit i: lane i */
VINLINE vm vmfrom(uint32_t bits) { return (vm)bits; }
VINLINE vi vziplo(vi a, vi b)
{
    const __m512i lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_epi32(a, lanes, b);
}
VINLINE vi vziphi(vi a, vi b)
{
    const __m512i lanes =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return _mm512_permutex2var_epi32(a, lanes, b);
}
/* low and high 32 bits of the 64-bit products */
VINLINE vi vimullo(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
VINLINE vi vimulhi(vi a, vi b)
{
    __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return _mm512_mask_blend_epi32(0xAAAA, even, odd);
}

#elif defined(ISA_AVX2)
#define ISA avx2
#include <immintrin.h>

typedef struct {
    __m256 a, b;
} vf;
typedef struct {
    __m256i a, b;
} vi;
typedef struct {
    __m256 a, b;
} vm;

#define VF2(x, y) ((vf){(x), (y)})
#define VI2(x, y) ((vi){(x), (y)})
VINLINE vf vzero(void) { return VF2(_mm256_setzero_ps(), _mm256_setzero_ps()); }
VINLINE vf vset1(float x) { return VF2(_mm256_set1_ps(x), _mm256_set1_ps(x)); }
VINLINE vf vload(const float *p) { return VF2(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)); }
VINLINE void vstore(float *p, vf x)
{
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
VINLINE vf vadd(vf x, vf y) { return VF2(_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)); }
VINLINE vf vsub(vf x, vf y) { return VF2(_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)); }
VINLINE vf vmul(vf x, vf y) { return VF2(_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)); }
VINLINE vf vdiv(vf x, vf y) { return VF2(_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)); }
VINLINE vf vsqrt(vf x) { return VF2(_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)); }
VINLINE vf vfma(vf x, vf y, vf z)
{
    return VF2(_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b));
}
VINLINE vf vmax(vf x, vf y) { return VF2(_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)); }
VINLINE vf vmin(vf x, vf y) { return VF2(_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)); }
VINLINE vm vgt(vf x, vf y)
{
    return (vm){_mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ)};
}
VINLINE vm veq(vf x, vf y)
{
    return (vm){_mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ)};
}
VINLINE vf vsel(vm m, vf x, vf y)
{
    return VF2(_mm256_blendv_ps(y.a, x.a, m.a), _mm256_blendv_ps(y.b, x.b, m.b));
}
VINLINE vi viload(const uint32_t *p)
{
    return VI2(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)p + 1));
}
VINLINE void vistore(uint32_t *p, vi x)
{
    _mm256_storeu_si256((__m256i *)p, x.a);
    _mm256_storeu_si256((__m256i *)p + 1, x.b);
}
VINLINE vi viset1(uint32_t x) { return VI2(_mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x)); }
VINLINE vi viadd(vi x, vi y) { return VI2(_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)); }
VINLINE vi visub(vi x, vi y) { return VI2(_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)); }
VINLINE vi vixor(vi x, vi y) { return VI2(_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)); }
VINLINE vi viand(vi x, vi y) { return VI2(_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)); }
VINLINE vi vior(vi x, vi y) { return VI2(_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)); }
#define vishl(x, n) VI2(_mm256_slli_epi32((x).a, n), _mm256_slli_epi32((x).b, n))
#define vishr(x, n) VI2(_mm256_srli_epi32((x).a, n), _mm256_srli_epi32((x).b, n))
VINLINE vf vbits(vi x) { return VF2(_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)); }
VINLINE vi vfbits(vf x) { return VI2(_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)); }
VINLINE vf vcvt_u24(vi x) { return VF2(_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)); }
VINLINE uint32_t vmbits(vm m)
{
    return (uint32_t)_mm256_movemask_ps(m.a) | (uint32_t)_mm256_movemask_ps(m.b) << 8;
}
VINLINE vm vmfrom(uint32_t bits)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i lo = _mm256_and_si256(_mm256_set1_epi32((int)bits), lane);
    __m256i hi = _mm256_and_si256(_mm256_set1_epi32((int)(bits >> 8)), lane);
    return (vm){_mm256_castsi256_ps(_mm256_cmpeq_epi32(lo, lane)),
                _mm256_castsi256_ps(_mm256_cmpeq_epi32(hi, lane))};
}
VINLINE vi vzip_half(__m256i x, __m256i y)
{
    const __m256i lo = _mm256_unpacklo_epi32(x, y), hi = _mm256_unpackhi_epi32(x, y);
    return VI2(_mm256_permute2x128_si256(lo, hi, 0x20), _mm256_permute2x128_si256(lo, hi, 0x31));
}
VINLINE vi vziplo(vi x, vi y) { return vzip_half(x.a, y.a); }
VINLINE vi vziphi(vi x, vi y) { return vzip_half(x.b, y.b); }
VINLINE vi vimullo(vi x, vi y)
{
    return VI2(_mm256_mullo_epi32(x.a, y.a), _mm256_mullo_epi32(x.b, y.b));
}
VINLINE __m256i vimulhi_half(__m256i x, __m256i y)
{
    __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(x, y), 32);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(y, 32));
    return _mm256_blend_epi32(even, odd, 0xAA);
}
VINLINE vi vimulhi(vi x, vi y) { return VI2(vimulhi_half(x.a, y.a), vimulhi_half(x.b, y.b)); }

#else /* NEON and plain C: arrays of lanes that the compiler may vectorise */

#if defined(ISA_NEON)
#define ISA neon
#else
#define ISA c
#endif
#include <math.h>

typedef struct {
    float v[VEC];
} vf;
typedef struct {
    uint32_t v[VEC];
} vi;
typedef struct {
    uint32_t v[VEC]; /* all ones or zero */
} vm;

#define VEACH(type, expr)             \
    do {                              \
        type r_;                      \
        for (int i = 0; i < VEC; i++) \
            r_.v[i] = (expr);         \
        return r_;                    \
    } while (0)
VINLINE vf vset1(float x) { VEACH(vf, x); }
VINLINE vf vzero(void) { return vset1(0.0f); }
VINLINE vf vload(const float *p) { VEACH(vf, p[i]); }
VINLINE void vstore(float *p, vf a) { memcpy(p, a.v, sizeof a.v); }
VINLINE vf vadd(vf a, vf b) { VEACH(vf, a.v[i] + b.v[i]); }
VINLINE vf vsub(vf a, vf b) { VEACH(vf, a.v[i] - b.v[i]); }
VINLINE vf vmul(vf a, vf b) { VEACH(vf, a.v[i] * b.v[i]); }
VINLINE vf vdiv(vf a, vf b) { VEACH(vf, a.v[i] / b.v[i]); }
VINLINE vf vsqrt(vf a) { VEACH(vf, __builtin_sqrtf(a.v[i])); }
VINLINE vf vfma(vf a, vf b, vf c) { VEACH(vf, __builtin_fmaf(a.v[i], b.v[i], c.v[i])); }
VINLINE vf vmax(vf a, vf b) { VEACH(vf, a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
VINLINE vf vmin(vf a, vf b) { VEACH(vf, a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
VINLINE vm vgt(vf a, vf b) { VEACH(vm, a.v[i] > b.v[i] ? ~0u : 0u); }
VINLINE vm veq(vf a, vf b) { VEACH(vm, a.v[i] == b.v[i] ? ~0u : 0u); }
VINLINE vf vsel(vm m, vf a, vf b) { VEACH(vf, m.v[i] ? a.v[i] : b.v[i]); }
VINLINE vi viload(const uint32_t *p) { VEACH(vi, p[i]); }
VINLINE void vistore(uint32_t *p, vi a) { memcpy(p, a.v, sizeof a.v); }
VINLINE vi viset1(uint32_t x) { VEACH(vi, x); }
VINLINE vi viadd(vi a, vi b) { VEACH(vi, a.v[i] + b.v[i]); }
VINLINE vi visub(vi a, vi b) { VEACH(vi, a.v[i] - b.v[i]); }
VINLINE vi vixor(vi a, vi b) { VEACH(vi, a.v[i] ^ b.v[i]); }
VINLINE vi viand(vi a, vi b) { VEACH(vi, a.v[i] & b.v[i]); }
VINLINE vi vior(vi a, vi b) { VEACH(vi, a.v[i] | b.v[i]); }
VINLINE vi vishl(vi a, int n) { VEACH(vi, a.v[i] << n); }
VINLINE vi vishr(vi a, int n) { VEACH(vi, a.v[i] >> n); }
VINLINE vf vbits(vi a)
{
    vf r;
    memcpy(&r, &a, sizeof r);
    return r;
}
VINLINE vi vfbits(vf a)
{
    vi r;
    memcpy(&r, &a, sizeof r);
    return r;
}
VINLINE vf vcvt_u24(vi a) { VEACH(vf, (float)(int32_t)a.v[i]); }
VINLINE uint32_t vmbits(vm m)
{
    uint32_t bits = 0;
    for (int i = 0; i < VEC; i++)
        bits |= (m.v[i] & 1u) << i;
    return bits;
}
VINLINE vm vmfrom(uint32_t bits) { VEACH(vm, (bits >> i & 1u) ? ~0u : 0u); }
VINLINE vi vziplo(vi a, vi b) { VEACH(vi, i % 2 ? b.v[i / 2] : a.v[i / 2]); }
VINLINE vi vziphi(vi a, vi b) { VEACH(vi, i % 2 ? b.v[8 + i / 2] : a.v[8 + i / 2]); }
VINLINE vi vimullo(vi a, vi b) { VEACH(vi, a.v[i] * b.v[i]); }
VINLINE vi vimulhi(vi a, vi b) { VEACH(vi, (uint32_t)((uint64_t)a.v[i] * b.v[i] >> 32)); }

#endif

/* The contract's fold of 16 interleaved partials: 8, 4, 2, 1. */
VINLINE float vfold(vf a)
{
    float t[VEC];
    vstore(t, a);
    for (int half = VEC / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            t[i] = t[i] + t[i + half];
    return t[0];
}

/* out[i] = vfold(a[i]), four at a time. */
VINLINE void vfold4(float *out, const vf a[4])
{
#if defined(ISA_AVX512) || defined(ISA_AVX2)
    __m128 q[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
#if defined(ISA_AVX512)
        __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a[i]), _mm512_extractf32x8_ps(a[i], 1));
#else
        __m256 h = _mm256_add_ps(a[i].a, a[i].b);
#endif
        q[i] = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    }
    _MM_TRANSPOSE4_PS(q[0], q[1], q[2], q[3]);
    _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(q[0], q[2]), _mm_add_ps(q[1], q[3])));
#else
    for (int i = 0; i < 4; i++)
        out[i] = vfold(a[i]);
#endif
}

/* Transposes 16 rows of n words, 8 or 16, that are one after another in a: each round of zips
 * moves a bit of the row's number to the end of the column's, and one of the column's to the row's.
 */
VINLINE void vtranspose(vi a[VEC], int n)
{
    vi b[VEC];

#pragma GCC unroll 4
    for (int round = 0; round < 4; round++) {
#pragma GCC unroll 8
        for (int i = 0; i < n / 2; i++) {
            b[2 * i] = vziplo(a[i], a[i + n / 2]);
            b[2 * i + 1] = vziphi(a[i], a[i + n / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < n; i++)
            a[i] = b[i];
    }
}

/* The first n lanes (0 to 16) of p, the rest zero; never reads past p + n. */
VINLINE vf vload_n(const float *p, size_t n)
{
    float t[VEC] = {0};
    memcpy(t, p, n * sizeof *p);
    return vload(t);
}
VINLINE void vstore_n(float *p, vf a, size_t n)
{
    float t[VEC];
    vstore(t, a);
    memcpy(p, t, n * sizeof *p);
}

#endif
