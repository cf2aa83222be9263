/*
 * Elementary functions of one vector, shared by the kernels that need them inside their loops.
 *
 * Polynomials are minimax fits (Remez, relative error) whose coefficients are rounded to float one
 * after the other. Largest error measured over all floats of the range: see math.h. A NaN gives
 * the quiet NaN 0x7FC00000 on every ISA.
 */
#ifndef PACELINE_KERNEL_ELEMENTARY_H
#define PACELINE_KERNEL_ELEMENTARY_H

#include "worker/kernels/vec.h"

/* Plain C has no vector registers to keep values in: calls cost it little and spare the compiler
 * (sanitizers above all) functions of many thousand instructions. */
#if defined(ISA_C)
#define FUNCTION static __attribute__((noinline, unused))
#else
#define FUNCTION VINLINE
#endif

#define LOG2E 0x1.715476p+0f
#define LN2_HI 0x1.62e4p-1f /* 16 bits: its product with an exponent is exact */
#define LN2_LO 0x1.7f7d1cp-20f
#define ROUND_MAGIC 0x1.8p+23f /* adding it rounds to an integer, found in the low bits */
#define SIGN_BIT 0x80000000u

VINLINE vf vnan(void) { return vbits(viset1(0x7FC00000)); }
VINLINE vf vinfinity(void) { return vbits(viset1(0x7F800000)); }
VINLINE vf vabs(vf x) { return vbits(viand(vfbits(x), viset1(~SIGN_BIT))); }
VINLINE vi vsign(vf x) { return viand(vfbits(x), viset1(SIGN_BIT)); }

/* c[0] + c[1]*x + ... + c[n-1]*x^(n-1), by Horner */
FUNCTION vf vpoly(vf x, const float *c, int n)
{
    vf y = vset1(c[n - 1]);

    for (int i = n - 2; i >= 0; i--)
        y = vfma(y, x, vset1(c[i]));
    return y;
}

/* 2^k for -126 <= k <= 127 in two's complement */
FUNCTION vf vpow2(vi k) { return vbits(vishl(viadd(k, viset1(127)), 23)); }

/* e^x = 2^n * e^r, |r| <= ln2/2. Overflow gives infinity, underflow is gradual. */
FUNCTION vf vexp(vf x)
{
    static const float c[] = {0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.55584ep-5f, 0x1.123f30p-7f,
                              0x1.6ad158p-10f};
    vf in = vmax(vmin(x, vset1(130)), vset1(-110)); /* e^130 overflows, e^-110 is below any float */
    vf t = vfma(in, vset1(LOG2E), vset1(ROUND_MAGIC));
    vf n = vsub(t, vset1(ROUND_MAGIC));
    vf r = vfma(n, vset1(-LN2_LO), vfma(n, vset1(-LN2_HI), in));
    vf y = vadd(vset1(1), vfma(vmul(r, r), vpoly(r, c, 5), r));
    /* 2^n as 2^half * 2^(n-half): neither overflows, and only the last product rounds. */
    vi k = visub(vfbits(t), vfbits(vset1(ROUND_MAGIC)));
    vi half = visub(vishr(viadd(k, viset1(512)), 1), viset1(256));

    y = vmul(vmul(y, vpow2(half)), vpow2(visub(k, half)));
    return vsel(veq(x, x), y, vnan());
}

/* ln x = e*ln2 + ln(1+f), sqrt(1/2) <= 1+f < sqrt(2). 0: -infinity; below 0: NaN. */
FUNCTION vf vlog(vf x)
{
    static const float c[] = {0x1.555548p-2f,  -0x1.000014p-2f, 0x1.99a458p-3f,
                              -0x1.5556d8p-3f, 0x1.233e54p-3f,  -0x1.fcd21cp-4f,
                              0x1.e6f7c6p-4f,  -0x1.d9625ep-4f, 0x1.0dba8ep-4f};
    const vi sqrt_half = viset1(0x3F3504F3), bias = viset1(0x40000000);
    vm tiny = vgt(vset1(0x1p-126f), x);
    vi bits = viadd(visub(vfbits(vsel(tiny, vmul(x, vset1(0x1p24f)), x)), sqrt_half), bias);
    vf e = vsub(vcvt_u24(vishr(bits, 23)), vsel(tiny, vset1(128 + 24), vset1(128)));
    vf f = vsub(vbits(viadd(viand(bits, viset1(0x007FFFFF)), sqrt_half)), vset1(1));
    vf square = vmul(f, f);
    vf tail = vfma(vmul(square, f), vpoly(f, c, 9), vmul(e, vset1(LN2_LO)));
    vf y = vfma(e, vset1(LN2_HI), vadd(f, vfma(vset1(-0.5f), square, tail)));

    y = vsel(vgt(x, vzero()), y, vnan());
    y = vsel(veq(x, vzero()), vbits(viset1(0xFF800000)), y);
    return vsel(veq(x, vinfinity()), x, y);
}

/* A polynomial below 0.625, else 1 - 2q/(1+q), q = e^(-2|x|); odd, tanh(-0) = -0. */
FUNCTION vf vtanh(vf x)
{
    static const float c[] = {-0x1.555554p-2f, 0x1.11107ap-3f,  -0x1.b9f188p-5f,
                              0x1.63a550p-6f,  -0x1.0c5ed0p-7f, 0x1.1a2816p-9f};
    vf a = vabs(x), square = vmul(a, a);
    vf small = vfma(vmul(a, square), vpoly(square, c, 6), a);
    vf q = vexp(vmul(vset1(-2), a));
    vf large = vsub(vset1(1), vdiv(vadd(q, q), vadd(vset1(1), q)));

    return vbits(vior(vfbits(vsel(vgt(vset1(0.625f), a), small, large)), vsign(x)));
}

/* 1/(1+q) or q/(1+q), q = e^-|x|: accurate on both sides, no overflow. */
FUNCTION vf vsigmoid(vf x)
{
    vf q = vexp(vbits(vior(vfbits(x), viset1(SIGN_BIT))));

    return vdiv(vsel(vgt(vzero(), x), q, vset1(1)), vadd(vset1(1), q));
}

/* cos(2*pi*x), 0 <= x < 1: sine or cosine of what is left of the nearest quarter, |r| <= 1/8. */
FUNCTION vf vcos2pi(vf x)
{
    static const float s[] = {-0x1.777a5cp-23f, -0x1.4abbcep+5f, 0x1.466b78p+6f, -0x1.32adaap+6f,
                              0x1.443a9ap+5f};
    static const float c[] = {1, -0x1.3bd3ccp+4f, 0x1.03c1b0p+6f, -0x1.55b2b6p+6f, 0x1.d4f7eep+5f};
    vf t = vfma(x, vset1(4), vset1(ROUND_MAGIC));
    vi quarter = visub(vfbits(t), vfbits(vset1(ROUND_MAGIC)));
    vf r = vfma(vsub(t, vset1(ROUND_MAGIC)), vset1(-0.25f), x);
    vf square = vmul(r, r);
    vf sine = vfma(r, vset1(0x1.921fb6p+2f), vmul(r, vpoly(square, s, 5)));
    vf cosine = vpoly(square, c, 5);
    vm even = veq(vcvt_u24(viand(quarter, viset1(1))), vzero());
    vi negative = vishl(viand(viadd(quarter, viset1(1)), viset1(2)), 30);

    return vbits(vixor(vfbits(vsel(even, cosine, sine)), negative));
}

#endif
