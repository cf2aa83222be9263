/*
 * Counter-based random numbers (Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011): no state to checkpoint. A number is a pure function of (seed, purpose, epoch or
 * step, sample or tensor, element).
 *
 * Philox turns a counter of four words and a key of two into four words:
 *     key     = seed low, seed high
 *     counter = block number, item, stream, purpose << 16 | layer
 * Elements come in groups of 64 made by 16 blocks side by side: word w of block 16*g + c is
 * element 64*g + 16*w + c.
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
    RANDOM_JITTER = 6,
    RANDOM_AUGMENT = 7,
    RANDOM_DEAL = 8,
    RANDOM_SAMPLES = 9,
};

struct random_key {
    uint64_t seed;
    uint32_t purpose; /* below 2^16 */
    uint32_t stream;  /* epoch, or 0 */
    uint32_t item;    /* sample index in the dataset, or tensor number */
    uint32_t layer;   /* layer number below 2^16, or 0 */
};

struct random_kernels {
    /* out[i], i = 0..n-1: the 32-bit numbers of elements first..first+n-1; first % 64 == 0. */
    void (*bits)(uint32_t *out, const struct random_key *key, uint32_t first, size_t n);
    /* Dropout over n values, 0 <= rate < 1: keeps value i when its uniform number is >= rate and
     * multiplies it by 1/(1-rate), else 0. mask: bit i%16 of word i/16 says kept; y may equal x.
     * n counts from element 0. The unused bits of the last word are 0. */
    void (*dropout)(float *y, const float *x, uint16_t *mask, const struct random_key *key,
                    float rate, size_t n);
    /* dx[i] = mask bit ? dy[i] * (1/(1-rate)) : 0; dx may equal dy. */
    void (*dropout_backward)(float *dx, const float *dy, const uint16_t *mask, float rate,
                             size_t n);
    /* Standard normal numbers of elements first..first+n-1 (Box-Muller on our own log, cos);
     * first % 64 == 0; at most 5.77 in magnitude. */
    void (*normal)(float *out, const struct random_key *key, uint32_t first, size_t n);
    /* Uniform in [0, 1): the upper 24 bits times 2^-24; first % 64 == 0. */
    void (*uniform)(float *out, const struct random_key *key, uint32_t first, size_t n);
};

/* One block of Philox4x32-10. */
void random_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Scalar form of element i, for shuffles. */
uint32_t random_u32(const struct random_key *key, uint32_t i);

/* A permutation of 0..n-1 drawn from (seed, purpose, epoch): Fisher-Yates from the end, position i
 * swapped with u32(i) * (i+1) >> 32, whose bias is below n * 2^-32. */
void random_permutation(uint32_t *perm, uint32_t n, uint64_t seed, uint32_t purpose,
                        uint32_t epoch);

#endif
