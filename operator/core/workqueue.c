#include "operator/core/workqueue.h"

#include <stdlib.h>
#include <string.h>

#include "operator/core/hash_table.h"
#include "operator/core/timers.h"
#include "paceline/mem.h"

/* Lives while its key waits in the line or is in flight; timers keep keys of their own. */
struct queue_item {
    struct queue_item *next; /* in the line */
    bool in_flight, again;
    char key[];
};

struct workqueue {
    struct queue_item *first, **end; /* the line of ready keys */
    size_t depth;
    struct hash_table by_key;
    struct timers *timers;
};

static bool workqueue_has_key(const void *object, const void *key)
{
    const struct queue_item *item = object;

    return strcmp(item->key, key) == 0;
}

struct workqueue *workqueue_new(void)
{
    struct workqueue *q = xcalloc(1, sizeof *q);

    q->end = &q->first;
    q->by_key.is = workqueue_has_key;
    q->timers = timers_new();
    return q;
}

void workqueue_free(struct workqueue *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->by_key.cap; i++)
        free(q->by_key.slots[i].object);
    hash_table_release(&q->by_key);
    timers_free(q->timers);
    free(q);
}

static void line_up(struct workqueue *q, struct queue_item *item)
{
    item->next = NULL;
    *q->end = item;
    q->end = &item->next;
}

static void make_ready(struct workqueue *q, const char *key)
{
    uint32_t hash = hash_table_hash(key, 0);
    struct hash_table_slot *slot = hash_table_find(&q->by_key, hash, key);

    if (!slot) {
        size_t size = strlen(key) + 1;
        struct queue_item *item = xcalloc(1, sizeof *item + size);
        memcpy(item->key, key, size);
        hash_table_add(&q->by_key, hash, item);
        line_up(q, item);
        q->depth++;
        return;
    }
    struct queue_item *item = slot->object;
    if (!item->in_flight || item->again)
        return;
    item->again = true;
    q->depth++;
}

/* Due keys come before a key that is added now. */
static void workqueue_advance(struct workqueue *q, int64_t now_ms)
{
    char *key;

    while ((key = timers_pop(q->timers, now_ms)) != NULL) {
        make_ready(q, key);
        free(key);
    }
}

void workqueue_add(struct workqueue *q, const char *key, int64_t now_ms)
{
    workqueue_advance(q, now_ms);
    make_ready(q, key);
}

void workqueue_add_at(struct workqueue *q, const char *key, int64_t at_ms)
{
    timers_set(q->timers, key, at_ms);
}

const char *workqueue_pop(struct workqueue *q, int64_t now_ms)
{
    workqueue_advance(q, now_ms);
    struct queue_item *item = q->first;
    if (!item)
        return NULL;
    q->first = item->next;
    if (!q->first)
        q->end = &q->first;
    q->depth--;
    item->in_flight = true;
    return item->key;
}

void workqueue_done(struct workqueue *q, const char *key, int64_t now_ms)
{
    workqueue_advance(q, now_ms);
    struct hash_table_slot *slot = hash_table_find(&q->by_key, hash_table_hash(key, 0), key);
    struct queue_item *item = slot ? slot->object : NULL;

    if (!item || !item->in_flight)
        return;
    item->in_flight = false;
    if (item->again) {
        item->again = false;
        line_up(q, item);
        return;
    }
    hash_table_remove(&q->by_key, slot);
    free(item); /* and key with it, when it is the one that pop gave */
}

bool workqueue_wanted(const struct workqueue *q, const char *key)
{
    const struct hash_table_slot *slot = hash_table_find(&q->by_key, hash_table_hash(key, 0), key);

    return slot && ((const struct queue_item *)slot->object)->again;
}

void workqueue_forget(struct workqueue *q, const char *key) { timers_cancel(q->timers, key); }

int64_t workqueue_next_ms(const struct workqueue *q, int64_t now_ms)
{
    return q->first ? 0 : timers_next_ms(q->timers, now_ms);
}

size_t workqueue_depth(const struct workqueue *q) { return q->depth; }
