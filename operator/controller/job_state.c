#include "operator/controller/job_state.h"

#include <string.h>

#include "paceline/mem.h"

#define N_BUCKETS_OF_JOBS 1024

struct job_states {
    struct job_state *buckets[N_BUCKETS_OF_JOBS];
};

uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static struct job_state **job_state_slot_of(struct job_states *all, const char *key)
{
    struct job_state **slot = &all->buckets[hash_text(key) % N_BUCKETS_OF_JOBS];

    while (*slot && strcmp((*slot)->key, key) != 0)
        slot = &(*slot)->next;
    return slot;
}

static void job_state_free(struct job_state *m)
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

struct job_states *job_states_new(void) { return xcalloc(1, sizeof(struct job_states)); }

void job_states_free(struct job_states *all)
{
    for (size_t i = 0; all && i < N_BUCKETS_OF_JOBS; i++) {
        while (all->buckets[i]) {
            struct job_state *m = all->buckets[i];

            all->buckets[i] = m->next;
            job_state_free(m);
        }
    }
    free(all);
}

struct job_state *job_states_find(struct job_states *all, const char *key)
{
    return *job_state_slot_of(all, key);
}

void job_states_drop(struct job_states *all, const char *key)
{
    struct job_state **slot = job_state_slot_of(all, key), *m = *slot;

    if (!m)
        return;
    *slot = m->next;
    job_state_free(m);
}

struct job_state *job_states_of(struct job_states *all, const char *key, const char *uid,
                                int64_t mono_ms)
{
    struct job_state **slot = job_state_slot_of(all, key), *m = *slot;

    if (m && strcmp(m->uid, uid) == 0)
        return m;
    job_states_drop(all, key);
    slot = job_state_slot_of(all, key);
    m = xcalloc(1, sizeof *m);
    m->key = xstrdup(key);
    m->uid = xstrdup(uid);
    limit_init(&m->status_limit, STATUS_PER_SECOND, STATUS_BURST, mono_ms);
    limit_init(&m->event_limit, EVENT_PER_SECOND, EVENT_BURST, mono_ms);
    *slot = m;
    return m;
}

bool job_state_event_known(const struct job_state *m, const char *event_key)
{
    uint64_t h = hash_text(event_key);

    for (size_t i = 0; i < m->n_events; i++)
        if (m->events[i] == h)
            return true;
    return false;
}

void job_state_event_keep(struct job_state *m, const char *event_key)
{
    if (m->n_events == EVENTS_REMEMBERED)
        memmove(m->events, m->events + 1, --m->n_events * sizeof *m->events);
    m->events = xrealloc(m->events, (m->n_events + 1) * sizeof *m->events);
    m->events[m->n_events++] = hash_text(event_key);
}

void job_state_event_forget(struct job_state *m, const char *event_key)
{
    uint64_t h = hash_text(event_key);

    for (size_t i = 0; i < m->n_events; i++)
        if (m->events[i] == h)
            memmove(m->events + i, m->events + i + 1, (--m->n_events - i) * sizeof *m->events);
}
