/* Randomness from a seed, the same on every machine. */
#ifndef PACELINE_TESTS_SIM_RANDOM_H
#define PACELINE_TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 */
static inline uint64_t random_next(struct random *r)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* first to last, both included. */
static inline int64_t random_range(struct random *r, int64_t first, int64_t last)
{
    return first + (int64_t)(random_next(r) % (uint64_t)(last - first + 1));
}

static inline bool random_chance(struct random *r, int per_thousand)
{
    return (int)(random_next(r) % 1000) < per_thousand;
}

#endif
