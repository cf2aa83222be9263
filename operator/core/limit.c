#include "operator/core/limit.h"

#include <math.h>

/* Sums of fractions may end just below a whole token; the wait for one aims a little higher. */
#define WHOLE (1 - 1e-9)
#define AIM (1 - 5e-10)

void limit_init(struct limit *l, double per_second, double burst, int64_t now_ms)
{
    /* A bucket that cannot hold one token would never let anything through. */
    double room = burst > 1 ? burst : 1;

    *l = (struct limit){.per_second = per_second, .burst = room, .tokens = room, .at_ms = now_ms};
}

static double tokens_at(const struct limit *l, int64_t now_ms)
{
    if (now_ms <= l->at_ms)
        return l->tokens;
    double seconds = ((double)now_ms - (double)l->at_ms) / 1000;
    return fmin(l->burst, l->tokens + seconds * l->per_second);
}

bool limit_take(struct limit *l, int64_t now_ms)
{
    if (!(l->per_second > 0))
        return true;
    double tokens = tokens_at(l, now_ms);
    if (tokens < WHOLE)
        return false;
    l->tokens = fmax(0, tokens - 1);
    l->at_ms = now_ms > l->at_ms ? now_ms : l->at_ms;
    return true;
}

void limit_spend(struct limit *l, double tokens, int64_t now_ms)
{
    l->tokens = tokens_at(l, now_ms) - tokens;
    l->at_ms = now_ms > l->at_ms ? now_ms : l->at_ms;
}

int64_t limit_next_ms(const struct limit *l, int64_t now_ms)
{
    if (!(l->per_second > 0))
        return 0;
    double tokens = tokens_at(l, now_ms);
    if (tokens >= WHOLE)
        return 0;
    double ms = ceil((AIM - tokens) / l->per_second * 1000);
    return ms < (double)INT64_MAX ? (int64_t)ms : INT64_MAX;
}

bool limit_is_full(const struct limit *l, int64_t now_ms)
{
    return tokens_at(l, now_ms) >= l->burst;
}

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
