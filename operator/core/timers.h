/*
 * A heap of times, each with a key; several per key are merged into the earliest. Equal times come
 * out in the order in which they were set.
 */
#ifndef PACELINE_OPERATOR_CORE_TIMERS_H
#define PACELINE_OPERATOR_CORE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timers *timers_new(void);
void timers_free(struct timers *t);
void timers_set(struct timers *t, const char *key, int64_t at_ms); /* earliest wins */
void timers_cancel(struct timers *t, const char *key);
/* The key of the earliest timer that is due, removed; NULL: none. Free the string. */
char *timers_pop(struct timers *t, int64_t now_ms);
int64_t timers_next_ms(const struct timers *t, int64_t now_ms); /* 0: due; -1: none */
size_t timers_count(const struct timers *t);

#endif
