/* The Retry-After header. */
#ifndef PACELINE_OPERATOR_KUBE_RETRY_AFTER_H
#define PACELINE_OPERATOR_KUBE_RETRY_AFTER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Seconds, or an HTTP date compared with now_s (since 1970): milliseconds to wait, at most a day;
 * -1: neither.
 */
int64_t retry_after_ms(const char *value, size_t len, int64_t now_s);

#endif
