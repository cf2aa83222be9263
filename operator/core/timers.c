#include "operator/core/timers.h"

#include <stdlib.h>
#include <string.h>

#include "operator/core/hash_table.h"
#include "paceline/mem.h"

struct timer {
    int64_t at_ms;
    uint64_t order; /* of setting, so that equal times come out as they were set */
    size_t place;   /* in the heap */
    char *key;
};

struct timers {
    struct timer **heap;
    size_t n, cap;
    uint64_t order;
    struct hash_table by_key;
};

static bool timers_has_key(const void *object, const void *key)
{
    const struct timer *timer = object;

    return strcmp(timer->key, key) == 0;
}

struct timers *timers_new(void)
{
    struct timers *t = xcalloc(1, sizeof *t);

    t->by_key.is = timers_has_key;
    return t;
}

static void timer_free(struct timer *timer)
{
    free(timer->key);
    free(timer);
}

void timers_free(struct timers *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        timer_free(t->heap[i]);
    free(t->heap);
    hash_table_release(&t->by_key);
    free(t);
}

static bool before(const struct timer *a, const struct timer *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void timers_put(struct timers *t, size_t place, struct timer *timer)
{
    t->heap[place] = timer;
    timer->place = place;
}

static void sift_up(struct timers *t, struct timer *timer)
{
    size_t i = timer->place;

    for (; i > 0 && before(timer, t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        timers_put(t, i, t->heap[(i - 1) / 2]);
    timers_put(t, i, timer);
}

static void sift_down(struct timers *t, struct timer *timer)
{
    size_t i = timer->place, child;

    while ((child = 2 * i + 1) < t->n) {
        if (child + 1 < t->n && before(t->heap[child + 1], t->heap[child]))
            child++;
        if (before(timer, t->heap[child]))
            break;
        timers_put(t, i, t->heap[child]);
        i = child;
    }
    timers_put(t, i, timer);
}

/* Takes the timer out of heap and table; it is the caller's then. */
static struct timer *timers_take(struct timers *t, struct timer *timer)
{
    struct timer *last = t->heap[--t->n];

    hash_table_remove(&t->by_key,
                      hash_table_find(&t->by_key, hash_table_hash(timer->key, 0), timer->key));
    if (last != timer) {
        timers_put(t, timer->place, last);
        sift_up(t, last);
        sift_down(t, last);
    }
    return timer;
}

void timers_set(struct timers *t, const char *key, int64_t at_ms)
{
    uint32_t hash = hash_table_hash(key, 0);
    struct hash_table_slot *slot = hash_table_find(&t->by_key, hash, key);
    struct timer *timer = slot ? slot->object : NULL;

    if (timer && timer->at_ms <= at_ms)
        return;
    if (!timer) {
        timer = xcalloc(1, sizeof *timer);
        timer->key = xstrdup(key);
        hash_table_add(&t->by_key, hash, timer);
        if (t->n == t->cap) {
            t->cap = t->cap ? t->cap * 2 : 16;
            t->heap = xrealloc(t->heap, t->cap * sizeof(struct timer *));
        }
        timers_put(t, t->n++, timer);
    }
    timer->at_ms = at_ms;
    timer->order = t->order++;
    sift_up(t, timer);
}

void timers_cancel(struct timers *t, const char *key)
{
    struct hash_table_slot *slot = hash_table_find(&t->by_key, hash_table_hash(key, 0), key);

    if (slot)
        timer_free(timers_take(t, slot->object));
}

char *timers_pop(struct timers *t, int64_t now_ms)
{
    if (t->n == 0 || t->heap[0]->at_ms > now_ms)
        return NULL;
    struct timer *timer = timers_take(t, t->heap[0]);
    char *key = STEAL(timer->key);
    timer_free(timer);
    return key;
}

int64_t timers_next_ms(const struct timers *t, int64_t now_ms)
{
    int64_t left;

    if (t->n == 0)
        return -1;
    if (t->heap[0]->at_ms <= now_ms)
        return 0;
    /* The difference of a far future and a far past is more than fits. */
    return __builtin_sub_overflow(t->heap[0]->at_ms, now_ms, &left) ? INT64_MAX : left;
}

size_t timers_count(const struct timers *t) { return t->n; }
