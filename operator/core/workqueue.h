/*
 * Keys that have to be processed. A key is in the queue once. It is not handed out while its last
 * processing is still in flight, and it comes back if it was added meanwhile. Fair: first come,
 * first served. Time is an argument, milliseconds of a monotonic clock.
 */
#ifndef PACELINE_OPERATOR_CORE_WORKQUEUE_H
#define PACELINE_OPERATOR_CORE_WORKQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workqueue *workqueue_new(void);
void workqueue_free(struct workqueue *q);

void workqueue_add(struct workqueue *q, const char *key, int64_t now_ms);
/* Adds the key at at_ms. The earliest of several times wins; an add in between does not cancel it.
 */
void workqueue_add_at(struct workqueue *q, const char *key, int64_t at_ms);
/* Returns the next key, or NULL. The key is in flight, and the string valid, until workqueue_done.
 */
const char *workqueue_pop(struct workqueue *q, int64_t now_ms);
void workqueue_done(struct workqueue *q, const char *key, int64_t now_ms);
/* Whether a key that is in flight was added meanwhile, and so comes back when it is done. */
bool workqueue_wanted(const struct workqueue *q, const char *key);
/* Forgets the key's timers. A key in flight stays in flight. */
void workqueue_forget(struct workqueue *q, const char *key);

/* Milliseconds until a key can be popped: 0 now, -1 never. May be early for a key in flight. */
int64_t workqueue_next_ms(const struct workqueue *q, int64_t now_ms);
size_t workqueue_depth(const struct workqueue *q); /* ready to be popped, or added in flight */

#endif
