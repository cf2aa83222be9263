#include "operator/core/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/core/hash_table.h"
#include "paceline/mem.h"

/* A slot's word: the object's place among its owner's, and whether the running list showed it. */
#define LISTED 0x80000000u
#define PLACE 0x7fffffffu

struct members {
    void **items;
    uint32_t n, cap;
};

/* Lives while it owns anything. Only names and UID of `job` are there. */
struct owner {
    struct members of[N_CACHE_KINDS];
    struct meta job;
    char text[];
};

struct cache_of_kind {
    struct hash_table objects; /* jobs by namespace and name, others by UID */
    char horizon[RV_SIZE];
    bool listing;
    struct members older; /* listed, but older than what is here */
};

struct cache {
    struct cache_of_kind kinds[N_CACHE_KINDS];
    struct hash_table owners;
};

static_assert(offsetof(struct pod, meta) == 0 && offsetof(struct owned_ref, meta) == 0,
              "all but jobs begin with their metadata");

static const struct meta *meta_of(int kind, const void *object)
{
    return kind == CACHE_JOBS ? &((const struct tj *)object)->meta : object;
}

static void object_free(int kind, void *object)
{
    if (kind == CACHE_JOBS)
        tj_free(object);
    else
        free(object);
}

static bool is_job(const void *object, const void *key)
{
    const struct meta *m = meta_of(CACHE_JOBS, object), *wanted = key;

    return strcmp(m->name, wanted->name) == 0 && strcmp(m->namespace_, wanted->namespace_) == 0;
}

static bool has_uid(const void *object, const void *key)
{
    const struct meta *m = object, *wanted = key;

    return strcmp(m->uid, wanted->uid) == 0;
}

/* The key is the metadata of something that is owned. */
static bool is_owner(const void *object, const void *key)
{
    const struct owner *owner = object;

    return meta_controls(&owner->job, key);
}

static uint32_t cache_hash_of(int kind, const struct meta *m)
{
    if (kind == CACHE_JOBS)
        return hash_table_hash(m->name, hash_table_hash(m->namespace_, 0));
    return hash_table_hash(m->uid, 0);
}

static struct hash_table_slot *cache_find(const struct cache *c, int kind, const struct meta *m)
{
    return hash_table_find(&c->kinds[kind].objects, cache_hash_of(kind, m), m);
}

struct cache *cache_new(void)
{
    struct cache *c = xcalloc(1, sizeof *c);

    for (int kind = 0; kind < N_CACHE_KINDS; kind++)
        c->kinds[kind].objects.is = kind == CACHE_JOBS ? is_job : has_uid;
    c->owners.is = is_owner;
    return c;
}

static void owner_free(struct owner *owner)
{
    for (int kind = 0; kind < N_CACHE_KINDS; kind++)
        free(owner->of[kind].items);
    free(owner);
}

static void free_older(struct cache_of_kind *k, int kind)
{
    for (uint32_t i = 0; i < k->older.n; i++)
        object_free(kind, k->older.items[i]);
    free(k->older.items);
    k->older = (struct members){0};
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    for (int kind = 0; kind < N_CACHE_KINDS; kind++) {
        struct cache_of_kind *k = &c->kinds[kind];
        for (size_t i = 0; i < k->objects.cap; i++)
            if (k->objects.slots[i].object)
                object_free(kind, k->objects.slots[i].object);
        hash_table_release(&k->objects);
        free_older(k, kind);
    }
    for (size_t i = 0; i < c->owners.cap; i++)
        if (c->owners.slots[i].object)
            owner_free(c->owners.slots[i].object);
    hash_table_release(&c->owners);
    free(c);
}

/* Versions. */

static bool decimal(const char *rv) { return *rv && rv[strspn(rv, "0123456789")] == '\0'; }

static bool ordered(const char *a, const char *b) { return decimal(a) && decimal(b); }

static bool newer(const char *a, const char *b) { return ordered(a, b) && rv_compare(a, b) > 0; }

static void move_horizon(struct cache_of_kind *k, const char *rv)
{
    if (k->listing || (ordered(k->horizon, rv) && !newer(rv, k->horizon)))
        return;
    snprintf(k->horizon, sizeof k->horizon, "%s", rv);
}

static bool cache_is_news(const struct cache_of_kind *k, const struct meta *here,
                          const struct meta *m, enum cache_source source)
{
    const char *rv = m->resource_version, *than = here ? here->resource_version : k->horizon;

    if (source == CACHE_WATCH)
        return !here || !ordered(rv, than) || newer(rv, than);
    if (!here && !*than) /* nothing was listed yet */
        return decimal(rv);
    return newer(rv, than);
}

/* The index by owner. */

static void members_add(struct members *m, void *object)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 2;
        m->items = xrealloc(m->items, m->cap * sizeof *m->items);
    }
    m->items[m->n++] = object;
}

static uint32_t owner_hash(const struct meta *owned)
{
    return hash_table_hash(
        owned->owner_uid,
        hash_table_hash(owned->owner_name, hash_table_hash(owned->namespace_, 0)));
}

static struct hash_table_slot *owner_slot(const struct cache *c, const struct meta *owned)
{
    return hash_table_find(&c->owners, owner_hash(owned), owned);
}

/* The metadata that names the object's owner; NULL: it has none. A job never has one. */
static const struct meta *owned_meta(int kind, const void *object)
{
    const struct meta *m = meta_of(kind, object);

    return kind == CACHE_JOBS || !m->owner_uid ? NULL : m;
}

static struct owner *cache_owner_of(const struct cache *c, const struct meta *owned)
{
    struct hash_table_slot *slot = owned ? owner_slot(c, owned) : NULL;

    return slot ? slot->object : NULL;
}

/* As anything it owns would ask. */
static struct owner *find_owner(const struct cache *c, const struct meta *job)
{
    return cache_owner_of(c, &(struct meta){.namespace_ = job->namespace_,
                                            .owner_name = job->name,
                                            .owner_uid = job->uid});
}

static const char *keep_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    const char *kept = memcpy(*at, text, size);

    *at += size;
    return kept;
}

static struct owner *owner_new(const struct meta *owned)
{
    struct owner *owner = xcalloc(1, sizeof *owner + strlen(owned->namespace_) +
                                         strlen(owned->owner_name) + strlen(owned->owner_uid) + 3);
    char *at = owner->text;

    owner->job.namespace_ = keep_text(&at, owned->namespace_);
    owner->job.name = keep_text(&at, owned->owner_name);
    owner->job.uid = keep_text(&at, owned->owner_uid);
    return owner;
}

static void attach(struct cache *c, int kind, struct hash_table_slot *slot)
{
    const struct meta *m = owned_meta(kind, slot->object);

    if (!m)
        return;
    struct owner *owner = cache_owner_of(c, m);
    if (!owner) {
        owner = owner_new(m);
        hash_table_add(&c->owners, owner_hash(m), owner);
    }
    slot->word = (slot->word & LISTED) | owner->of[kind].n;
    members_add(&owner->of[kind], slot->object);
}

static void detach(struct cache *c, int kind, const struct hash_table_slot *slot)
{
    const struct meta *owned = owned_meta(kind, slot->object);

    if (!owned)
        return;
    struct hash_table_slot *at = owner_slot(c, owned);
    struct owner *owner = at->object;
    struct members *m = &owner->of[kind];
    uint32_t place = slot->word & PLACE;
    void *last = m->items[--m->n];
    if (last != slot->object) {
        struct hash_table_slot *moved = cache_find(c, kind, meta_of(kind, last));
        m->items[place] = last;
        moved->word = (moved->word & LISTED) | place;
    }
    for (int other = 0; other < N_CACHE_KINDS; other++)
        if (owner->of[other].n)
            return;
    hash_table_remove(&c->owners, at);
    owner_free(owner);
}

/* Changes. */

/* One version that had finished and was not being deleted is enough, in whatever order versions
 * come. */
static void cache_note_end(struct pod *pod, const struct pod *other)
{
    pod->ended_unasked = pod->ended_unasked || other->ended_unasked ||
                         (pod_finished(other) && !other->meta.deletion_ms);
}

/* A new request for less grace starts the wait anew: the kubelet has only just been told. */
static void keep_seen(struct pod *pod, const struct pod *old)
{
    cache_note_end(pod, old);
    if (pod->meta.deletion_ms == old->meta.deletion_ms)
        pod->deleting_since_ms = old->deleting_since_ms;
}

static void cache_replace(struct cache *c, int kind, struct hash_table_slot *slot, void *object)
{
    void *old = slot->object;
    struct owner *from = cache_owner_of(c, owned_meta(kind, old));
    struct owner *to = cache_owner_of(c, owned_meta(kind, object));

    if (kind == CACHE_PODS)
        keep_seen(object, old);
    if (from && from == to) {
        to->of[kind].items[slot->word & PLACE] = object;
        slot->object = object;
    } else {
        detach(c, kind, slot);
        slot->object = object;
        attach(c, kind, slot);
    }
    object_free(kind, old);
}

static bool cache_put(struct cache *c, int kind, void *object, enum cache_source source)
{
    struct cache_of_kind *k = &c->kinds[kind];
    const struct meta *m = meta_of(kind, object);
    struct hash_table_slot *slot = cache_find(c, kind, m);
    bool listed = k->listing && source == CACHE_WATCH;
    bool news = cache_is_news(k, slot ? meta_of(kind, slot->object) : NULL, m, source);

    if (source == CACHE_WATCH)
        move_horizon(k, m->resource_version);
    if (kind == CACHE_PODS && slot && !news)
        cache_note_end(slot->object, object);
    if (news && slot) {
        cache_replace(c, kind, slot, object);
    } else if (news) {
        slot = hash_table_add(&k->objects, cache_hash_of(kind, m), object);
        attach(c, kind, slot);
    } else if (listed &&
               rv_compare(m->resource_version, meta_of(kind, slot->object)->resource_version) < 0) {
        members_add(&k->older, object); /* what holds if the list turns out to go back */
    } else {
        object_free(kind, object);
    }
    if (listed)
        slot->word |= LISTED;
    return news;
}

bool cache_put_job(struct cache *c, struct tj *tj, enum cache_source source)
{
    return cache_put(c, CACHE_JOBS, tj, source);
}

bool cache_put_pod(struct cache *c, struct pod *pod, enum cache_source source)
{
    return cache_put(c, CACHE_PODS, pod, source);
}

bool cache_put_owned(struct cache *c, struct owned_ref *ref, enum cache_source source)
{
    return cache_put(c, CACHE_OWNED + (int)ref->kind, ref, source);
}

/* Takes the object out; it is the caller's then. */
static void *cache_take(struct cache *c, int kind, struct hash_table_slot *slot)
{
    void *object = slot->object;

    detach(c, kind, slot);
    hash_table_remove(&c->kinds[kind].objects, slot);
    return object;
}

static void cache_drop(struct cache *c, int kind, const struct meta *key, const char *rv)
{
    struct hash_table_slot *slot = cache_find(c, kind, key);

    if (slot && strcmp(meta_of(kind, slot->object)->uid, key->uid) == 0)
        object_free(kind, cache_take(c, kind, slot));
    if (*rv)
        move_horizon(&c->kinds[kind], rv);
}

void cache_delete_job(struct cache *c, const char *namespace_, const char *name, const char *uid,
                      const char *rv)
{
    cache_drop(c, CACHE_JOBS, &(struct meta){.namespace_ = namespace_, .name = name, .uid = uid},
               rv);
}

void cache_delete_pod(struct cache *c, const char *uid, const char *rv)
{
    cache_drop(c, CACHE_PODS, &(struct meta){.uid = uid}, rv);
}

void cache_delete_owned(struct cache *c, enum owned_kind kind, const char *uid, const char *rv)
{
    cache_drop(c, CACHE_OWNED + (int)kind, &(struct meta){.uid = uid}, rv);
}

/* Relists. */

void cache_relist_begin(struct cache *c, int kind)
{
    struct cache_of_kind *k = &c->kinds[kind];

    k->listing = true;
    for (size_t i = 0; i < k->objects.cap; i++)
        k->objects.slots[i].word &= PLACE;
    free_older(k, kind);
}

static void cache_tell(int kind, const struct meta *m, cache_gone_fn *gone, void *arg)
{
    const char *job = kind == CACHE_JOBS ? m->name : m->owner_name;

    if (job)
        gone(arg, m->namespace_, job);
}

static void use_older(struct cache *c, int kind, cache_gone_fn *gone, void *arg)
{
    struct members *older = &c->kinds[kind].older;

    for (uint32_t i = 0; i < older->n; i++) {
        struct hash_table_slot *slot = cache_find(c, kind, meta_of(kind, older->items[i]));
        if (!slot) { /* 404 since */
            object_free(kind, older->items[i]);
            continue;
        }
        cache_replace(c, kind, slot, older->items[i]);
        cache_tell(kind, meta_of(kind, slot->object), gone, arg);
    }
    older->n = 0;
}

void cache_relist_end(struct cache *c, int kind, const char *rv, cache_gone_fn *gone, void *arg)
{
    struct cache_of_kind *k = &c->kinds[kind];
    bool went_back =
        !decimal(rv) || (*k->horizon && (!decimal(k->horizon) || rv_compare(rv, k->horizon) < 0));

    for (size_t i = 0; i < k->objects.cap;) {
        struct hash_table_slot *slot = &k->objects.slots[i];
        const struct meta *m = slot->object ? meta_of(kind, slot->object) : NULL;
        if (!m || slot->word & LISTED || (!went_back && newer(m->resource_version, rv))) {
            i++;
            continue;
        }
        void *object = cache_take(c, kind, slot);
        cache_tell(kind, m, gone, arg);
        object_free(kind, object);
    }
    if (went_back)
        use_older(c, kind, gone, arg);
    free_older(k, kind);
    k->listing = false;
    snprintf(k->horizon, sizeof k->horizon, "%s", rv);
}

/* Reads. */

const struct tj *cache_job(const struct cache *c, const char *namespace_, const char *name)
{
    struct meta key = {.namespace_ = namespace_, .name = name};
    struct hash_table_slot *slot = cache_find(c, CACHE_JOBS, &key);

    return slot ? slot->object : NULL;
}

const struct pod *cache_pod(const struct cache *c, const char *uid)
{
    struct hash_table_slot *slot = cache_find(c, CACHE_PODS, &(struct meta){.uid = uid});

    return slot ? slot->object : NULL;
}

const struct pod *const *cache_pods_of(const struct cache *c, const struct meta *job, size_t *n)
{
    const struct owner *owner = find_owner(c, job);

    *n = owner ? owner->of[CACHE_PODS].n : 0;
    return owner ? (const struct pod *const *)owner->of[CACHE_PODS].items : NULL;
}

void cache_watch_deletions(struct cache *c, const struct meta *job, int64_t mono_ms)
{
    const struct owner *owner = find_owner(c, job);

    for (size_t i = 0; owner && i < owner->of[CACHE_PODS].n; i++) {
        struct pod *pod = owner->of[CACHE_PODS].items[i];

        if (!pod->meta.deletion_ms)
            continue;
        if (!pod->deleting_since_ms)
            pod->deleting_since_ms = mono_ms;
        pod->deleting_for_ms = mono_ms - pod->deleting_since_ms;
    }
}

const struct owned_ref *cache_owned_at(const struct cache *c, enum owned_kind kind,
                                       const struct meta *job, size_t i)
{
    const struct owner *owner = find_owner(c, job);
    const struct members *m = owner ? &owner->of[CACHE_OWNED + (int)kind] : NULL;

    return m && i < m->n ? m->items[i] : NULL;
}

const struct owned_ref *cache_owned(const struct cache *c, enum owned_kind kind,
                                    const struct meta *job, const char *name)
{
    const struct owned_ref *ref;

    for (size_t i = 0; (ref = cache_owned_at(c, kind, job, i)) != NULL; i++)
        if (strcmp(ref->meta.name, name) == 0)
            return ref;
    return NULL;
}

void cache_each_job(const struct cache *c, cache_job_fn *fn, void *arg)
{
    const struct hash_table *t = &c->kinds[CACHE_JOBS].objects;

    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].object)
            fn(arg, t->slots[i].object);
}

void cache_each_pod(const struct cache *c, cache_pod_fn *fn, void *arg)
{
    const struct hash_table *t = &c->kinds[CACHE_PODS].objects;

    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].object)
            fn(arg, t->slots[i].object);
}

size_t cache_count(const struct cache *c, int kind) { return c->kinds[kind].objects.n; }
