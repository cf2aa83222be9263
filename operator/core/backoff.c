#include "operator/core/backoff.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 0x9e3779b97f4a7c15u; /* xorshift stays at 0 for ever */

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

int64_t backoff_ms(int failures, int64_t first_ms, int64_t max_ms, uint64_t *random)
{
    int64_t wait = first_ms < max_ms ? first_ms : max_ms;

    for (int i = 0; i < failures && i < 63; i++)
        wait = wait > max_ms / 2 ? max_ms : wait * 2;
    uint64_t spread = (next_random(random) >> 11) % ((uint64_t)wait + 1);
    uint64_t chosen = (uint64_t)(wait - wait / 2) + spread;
    return chosen < (uint64_t)max_ms ? (int64_t)chosen : max_ms;
}
