/* A token bucket. Time is an argument. */
#ifndef PACELINE_OPERATOR_CORE_LIMIT_H
#define PACELINE_OPERATOR_CORE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit {
    double per_second, burst; /* per_second 0: no limit */
    double tokens;
    int64_t at_ms;
};
/* Full at first. A burst below 1 counts as 1. */
void limit_init(struct limit *l, double per_second, double burst, int64_t now_ms);
/* Takes a token if there is one. A clock that goes back makes no tokens. */
bool limit_take(struct limit *l, int64_t now_ms);
/* Takes this many tokens, even if there are fewer; limit_take then fails until the debt is paid. */
void limit_spend(struct limit *l, double tokens, int64_t now_ms);
int64_t limit_next_ms(const struct limit *l, int64_t now_ms); /* until one token is there */
bool limit_is_full(const struct limit *l, int64_t now_ms);    /* as at first */

#endif
