/* Objects for tests of the cache: only what it reads is filled in. */
#ifndef PACELINE_TEST_CACHE_OBJECTS_H
#define PACELINE_TEST_CACHE_OBJECTS_H

#include <stdio.h>
#include <string.h>

#include "operator/core/cache.h"
#include "paceline/mem.h"

/* Stands in for operator/api/trainingjob.c, which brings the whole spec. */
static int jobs_alive;
void tj_free(struct tj *tj)
{
    arena_release(&tj->arena);
    free(tj);
    jobs_alive--;
}

#define TEXT_MAX 64
struct cache_texts {
    char uid[TEXT_MAX], name[TEXT_MAX], owner[TEXT_MAX], owner_name[TEXT_MAX];
};

/* t is in the same allocation as m. owner NULL: nobody's; its name is its UID with "job-" before.
 */
static void fill_meta(struct meta *m, struct cache_texts *t, const char *uid, const char *owner,
                      const char *rv)
{
    snprintf(t->uid, TEXT_MAX, "%s", uid);
    snprintf(t->name, TEXT_MAX, "name-%.40s", uid);
    snprintf(t->owner, TEXT_MAX, "%s", owner ? owner : "");
    snprintf(t->owner_name, TEXT_MAX, "job-%.40s", t->owner);
    m->namespace_ = "ns";
    m->name = t->name;
    m->uid = t->uid;
    m->owner_uid = owner ? t->owner : NULL;
    m->owner_name = owner ? t->owner_name : NULL;
    snprintf(m->resource_version, RV_SIZE, "%s", rv);
}

/* The job that owns what has this owner; valid until the next call. */
static inline const struct meta *owner_in(const char *namespace_, const char *owner)
{
    static char name[TEXT_MAX], uid[TEXT_MAX];
    static struct meta m = {.name = name, .uid = uid};

    snprintf(name, TEXT_MAX, "job-%.40s", owner);
    snprintf(uid, TEXT_MAX, "%.40s", owner);
    m.namespace_ = namespace_;
    return &m;
}

static inline const struct meta *owner_of(const char *owner) { return owner_in("ns", owner); }

static inline struct pod *new_pod(const char *uid, const char *owner, const char *rv)
{
    struct pod *pod = xcalloc(1, sizeof *pod + sizeof(struct cache_texts));

    fill_meta(&pod->meta, (struct cache_texts *)(pod + 1), uid, owner, rv);
    return pod;
}

static inline struct owned_ref *new_ref(enum owned_kind kind, const char *uid, const char *owner,
                                        const char *rv)
{
    struct owned_ref *ref = xcalloc(1, sizeof *ref + sizeof(struct cache_texts));

    ref->kind = kind;
    fill_meta(&ref->meta, (struct cache_texts *)(ref + 1), uid, owner, rv);
    return ref;
}

static inline struct tj *new_job(const char *name, const char *uid, const char *rv)
{
    struct tj *tj = xcalloc(1, sizeof *tj);

    fill_meta(&tj->meta, arena_alloc(&tj->arena, sizeof(struct cache_texts)), uid, NULL, rv);
    tj->meta.name = arena_strdup(&tj->arena, name);
    jobs_alive++;
    return tj;
}

#endif
