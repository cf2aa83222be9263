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
