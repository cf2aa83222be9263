/* xorshift64*: the tests' own numbers, the same in every run. */
#ifndef PACELINE_TEST_RANDOM_H
#define PACELINE_TEST_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 0x9E3779B97F4A7C15;

static inline uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545F4914F6CDD1D) >> 32) % n;
}

#endif
