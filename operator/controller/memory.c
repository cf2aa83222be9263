#include "operator/controller/memory.h"

#include <string.h>

#include "paceline/mem.h"

#define N_BUCKETS_OF_JOBS 1024

struct memories {
    struct memory *buckets[N_BUCKETS_OF_JOBS];
};

uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static struct memory **slot_of(struct memories *all, const char *key)
{
    struct memory **slot = &all->buckets[hash_text(key) % N_BUCKETS_OF_JOBS];

    while (*slot && strcmp((*slot)->key, key) != 0)
        slot = &(*slot)->next;
    return slot;
}

static void memory_free(struct memory *m)
{
    free(m->key);
    free(m->uid);
    free(m->invalid_template);
    free(m->blocked);
    free(m->events_pod);
    free(m->events_sentence);
    free(m->events);
    free(m);
}

struct memories *memories_new(void) { return xcalloc(1, sizeof(struct memories)); }

void memories_free(struct memories *all)
{
    for (size_t i = 0; all && i < N_BUCKETS_OF_JOBS; i++) {
        while (all->buckets[i]) {
            struct memory *m = all->buckets[i];

            all->buckets[i] = m->next;
            memory_free(m);
        }
    }
    free(all);
}

struct memory *memories_find(struct memories *all, const char *key) { return *slot_of(all, key); }

void memories_drop(struct memories *all, const char *key)
{
    struct memory **slot = slot_of(all, key), *m = *slot;

    if (!m)
        return;
    *slot = m->next;
    memory_free(m);
}

struct memory *memories_of(struct memories *all, const char *key, const char *uid, int64_t mono_ms)
{
    struct memory **slot = slot_of(all, key), *m = *slot;

    if (m && strcmp(m->uid, uid) == 0)
        return m;
    memories_drop(all, key);
    slot = slot_of(all, key);
    m = xcalloc(1, sizeof *m);
    m->key = xstrdup(key);
    m->uid = xstrdup(uid);
    limit_init(&m->status_limit, STATUS_PER_SECOND, STATUS_BURST, mono_ms);
    limit_init(&m->event_limit, EVENT_PER_SECOND, EVENT_BURST, mono_ms);
    *slot = m;
    return m;
}

bool memory_event_known(const struct memory *m, const char *event_key)
{
    uint64_t h = hash_text(event_key);

    for (size_t i = 0; i < m->n_events; i++)
        if (m->events[i] == h)
            return true;
    return false;
}

void memory_event_keep(struct memory *m, const char *event_key)
{
    if (m->n_events == EVENTS_REMEMBERED)
        memmove(m->events, m->events + 1, --m->n_events * sizeof *m->events);
    m->events = xrealloc(m->events, (m->n_events + 1) * sizeof *m->events);
    m->events[m->n_events++] = hash_text(event_key);
}

void memory_event_forget(struct memory *m, const char *event_key)
{
    uint64_t h = hash_text(event_key);

    for (size_t i = 0; i < m->n_events; i++)
        if (m->events[i] == h)
            memmove(m->events + i, m->events + i + 1, (--m->n_events - i) * sizeof *m->events);
}
