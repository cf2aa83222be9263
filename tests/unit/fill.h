/* Deterministic fill values for tests: a small integer hash, no state. */
#ifndef PACELINE_TEST_FILL_H
#define PACELINE_TEST_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/mem.h"

static inline uint32_t fill_u32(uint32_t seed, uint32_t i)
{
    uint32_t x = seed * 0x9E3779B9u + i * 0x85EBCA6Bu + 0x6A09E667u;
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

/* In (-1, 1), 20 bits. */
static inline float fill_value(uint32_t seed, uint32_t i)
{
    return (float)((int32_t)(fill_u32(seed, i) >> 12) - (1 << 19)) / (float)(1 << 19);
}

static inline void fill_uniform(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fill_value(seed, (uint32_t)i);
}

#endif
