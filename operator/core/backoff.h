/* Exponential back-off with jitter. */
#ifndef PACELINE_OPERATOR_CORE_BACKOFF_H
#define PACELINE_OPERATOR_CORE_BACKOFF_H

#include <stdint.h>

/*
 * first * 2^failures up to max, times 0.5 to 1.5 by the random state (xorshift), never above max.
 * Both are at least 0; never 0 unless one of them is.
 */
int64_t backoff_ms(int failures, int64_t first_ms, int64_t max_ms, uint64_t *random);

#endif
