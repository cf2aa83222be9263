/* A token bucket and exponential back-off with jitter. Time is an argument. */
#ifndef PACELINE_OPERATOR_CORE_LIMIT_H
#define PACELINE_OPERATOR_CORE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit {
    double per_second, burst; /* per_second 0: no limit */
    double tokens;
    int64_t at_ms;
};
void limit_init(struct limit *l, double per_second, double burst, int64_t now_ms);
bool limit_take(struct limit *l, int64_t now_ms);             /* true: go */
int64_t limit_next_ms(const struct limit *l, int64_t now_ms); /* until one token is there */

/* first * 2^failures up to max, times 0.5 to 1.5 by the random state (xorshift), never above max.
 */
int64_t backoff_ms(int failures, int64_t first_ms, int64_t max_ms, uint64_t *random);

#endif
