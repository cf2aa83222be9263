/*
 * Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): no state to checkpoint.
 * A number is a pure function of (seed, purpose, epoch or step, sample or tensor, element).
 */
#ifndef PACELINE_KERNEL_RANDOM_H
#define PACELINE_KERNEL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum random_purpose {
    RANDOM_INIT = 1,
    RANDOM_SHUFFLE = 2,
    RANDOM_DROPOUT = 3,
    RANDOM_SPLIT = 4,
    RANDOM_TEST = 5,
};

struct random_key {
    uint64_t seed;
    uint32_t purpose;
    uint32_t stream; /* epoch, or 0 */
    uint32_t item;   /* sample index in the dataset, or tensor number */
    uint32_t layer;  /* layer number, or 0 */
};

struct random_kernels {
    /* out[i], i = 0..n-1: the 32-bit numbers of elements first..first+n-1; first % 64 == 0. */
    void (*bits)(uint32_t *out, const struct random_key *key, uint32_t first, size_t n);
    /* Dropout over n values: keeps value i when its number >= rate * 2^32 and multiplies it by
     * 1/(1-rate), else 0. mask: bit i of word i/16 says kept; y may equal x. n counts from
     * element 0. The unused bits of the last word are 0. */
    void (*dropout)(float *y, const float *x, uint16_t *mask, const struct random_key *key,
                    float rate, size_t n);
    /* dx[i] = mask bit ? dy[i] * (1/(1-rate)) : 0 */
    void (*dropout_backward)(float *dx, const float *dy, const uint16_t *mask, float rate,
                             size_t n);
    /* Standard normal numbers of elements first..first+n-1 (Box-Muller on our own log, cos). */
    void (*normal)(float *out, const struct random_key *key, uint32_t first, size_t n);
    /* Uniform in [0, 1), 24 bits. */
    void (*uniform)(float *out, const struct random_key *key, uint32_t first, size_t n);
};

/* Scalar form of element i, for shuffles. */
uint32_t random_u32(const struct random_key *key, uint32_t i);

/* A permutation of 0..n-1 drawn from (seed, purpose, epoch): Fisher-Yates. */
void random_permutation(uint32_t *perm, uint32_t n, uint64_t seed, uint32_t purpose,
                        uint32_t epoch);

#endif
