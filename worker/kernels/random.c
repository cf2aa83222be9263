#include "worker/kernels/random.h"

#include "worker/kernels/elementary.h"
#include "worker/kernels/philox.h"

#define GROUP 64 /* elements that 16 blocks give */

/* The four words of 16 blocks: elements 64*group .. 64*group+63. */
VINLINE void philox(vi out[4], const struct random_key *key, uint32_t group)
{
    static const uint32_t lane[VEC] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const vi m0 = viset1(PHILOX_M0), m1 = viset1(PHILOX_M1);
    uint32_t k0 = (uint32_t)key->seed, k1 = (uint32_t)(key->seed >> 32);
    vi c0 = viadd(viset1(group * VEC), viload(lane)), c1 = viset1(key->item);
    vi c2 = viset1(key->stream), c3 = viset1(key->purpose << 16 | key->layer);

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        vi high0 = vimulhi(c0, m0), low0 = vimullo(c0, m0);
        vi high1 = vimulhi(c2, m1), low1 = vimullo(c2, m1);

        c0 = vixor(vixor(high1, c1), viset1(k0));
        c1 = low1;
        c2 = vixor(vixor(high0, c3), viset1(k1));
        c3 = low0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* 24 bits as an exact float in [0, 2^24) */
VINLINE vf upper24(vi bits) { return vcvt_u24(vishr(bits, 8)); }

VINLINE void words_bits(void *out, const vi word[4])
{
    for (int w = 0; w < 4; w++)
        vistore((uint32_t *)out + VEC * w, word[w]);
}

VINLINE void words_uniform(void *out, const vi word[4])
{
    for (int w = 0; w < 4; w++)
        vstore((float *)out + VEC * w, vmul(upper24(word[w]), vset1(0x1p-24f)));
}

/* Words 2j and 2j+1 make elements 2j and 2j+1: radius from the first, angle from the second. */
VINLINE void words_normal(void *out, const vi word[4])
{
    for (int w = 0; w < 4; w += 2) {
        vf u = vmul(vadd(upper24(word[w]), vset1(1)), vset1(0x1p-24f)); /* in (0, 1] */
        vf turn = vmul(upper24(word[w + 1]), vset1(0x1p-24f));
        vf radius = vsqrt(vmul(vset1(-2), vlog(u)));
        /* sin(2 pi t) = cos(2 pi (t - 1/4)) */
        vf shift = vsel(vgt(vset1(0.25f), turn), vset1(0.75f), vset1(-0.25f));

        vstore((float *)out + VEC * w, vmul(radius, vcos2pi(turn)));
        vstore((float *)out + VEC * (w + 1), vmul(radius, vcos2pi(vadd(turn, shift))));
    }
}

/* Makes 32-bit values from elements first..first+n-1, one group at a time. */
VINLINE void generate(void *out, const struct random_key *key, uint32_t first, size_t n,
                      void (*make)(void *, const vi *))
{
    struct random_key k = *key;

    for (size_t i = 0; i < n; i += GROUP) {
        uint32_t group[GROUP], *to = (uint32_t *)out + i;
        vi word[4];

        philox(word, &k, (uint32_t)((first + i) / GROUP));
        make(n - i < GROUP ? group : to, word);
        if (n - i < GROUP)
            memcpy(to, group, (n - i) * sizeof *to);
    }
}

static void bits(uint32_t *out, const struct random_key *key, uint32_t first, size_t n)
{
    generate(out, key, first, n, words_bits);
}

static void uniform(float *out, const struct random_key *key, uint32_t first, size_t n)
{
    generate(out, key, first, n, words_uniform);
}

static void normal(float *out, const struct random_key *key, uint32_t first, size_t n)
{
    generate(out, key, first, n, words_normal);
}

static void dropout(float *y, const float *x, uint16_t *mask, const struct random_key *key,
                    float rate, size_t n)
{
    const struct random_key k = *key;
    const vf threshold = vset1(rate * 0x1p24f), gain = vset1(1.0f / (1.0f - rate));

    for (size_t i = 0; i < n; i += GROUP) {
        vi word[4];

        philox(word, &k, (uint32_t)(i / GROUP));
        for (size_t w = 0, at = i; w < 4 && at < n; w++, at += VEC) {
            vm dropped = vgt(threshold, upper24(word[w]));
            uint16_t kept = (uint16_t)~vmbits(dropped);

            if (n - at >= VEC) {
                vstore(y + at, vsel(dropped, vzero(), vmul(vload(x + at), gain)));
                mask[at / VEC] = kept;
            } else {
                vf value = vmul(vload_n(x + at, n - at), gain);

                vstore_n(y + at, vsel(dropped, vzero(), value), n - at);
                mask[at / VEC] = (uint16_t)(kept & ((1u << (n - at)) - 1));
            }
        }
    }
}

static void random_dropout_backward(float *dx, const float *dy, const uint16_t *mask, float rate,
                                    size_t n)
{
    const vf gain = vset1(1.0f / (1.0f - rate));
    size_t i = 0;

    for (; i + VEC <= n; i += VEC)
        vstore(dx + i, vsel(vmfrom(mask[i / VEC]), vmul(vload(dy + i), gain), vzero()));
    if (i < n) {
        vf value = vmul(vload_n(dy + i, n - i), gain);

        vstore_n(dx + i, vsel(vmfrom(mask[i / VEC]), value, vzero()), n - i);
    }
}

const struct random_kernels K(random_kernels) = {
    .bits = bits,
    .dropout = dropout,
    .dropout_backward = random_dropout_backward,
    .normal = normal,
    .uniform = uniform,
};
