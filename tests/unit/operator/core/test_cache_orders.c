// LINK: operator/core/cache.c operator/core/hash_table.c operator/api/meta.c operator/api/field.c
// LINK: operator/api/pod.c operator/api/index_map.c common
/*
 * The cache against everything that may come in any order: a server with a history, a watch that
 * lags behind it and breaks, lists in pages that break off, answers that come when they like, 404s.
 * The model does not know horizons: it knows which objects have been shown to be deleted.
 */
#include "operator/core/cache.h"

#include "tests/test.h"
#include "tests/unit/cache_objects.h"
#include "tests/unit/random.h"

enum { NAMES = 24, LIVES = 400, EVENTS = 6000, ANSWERS = 64, OWNERS = 4, FIRST_RV = 95 };

/* One life of a name is one UID. */
struct cache_event {
    int name, life, owner;
    bool deleted;
};

struct shown_objects {
    int best;       /* the newest version that the cache was given; 0: none */
    int owner;      /* of that version */
    bool deleted;   /* the watch or a list showed that it is gone */
    bool not_found; /* only a 404 did: the watch may show it alive once more */
    bool unlisted;  /* a 404 came after the list's page */
};

static struct {
    struct cache_event log[EVENTS]; /* of version FIRST_RV + i */
    int n;
    int life[NAMES];        /* the current or last one */
    int born[NAMES][LIVES]; /* the event of each life's beginning */
    bool alive[NAMES];
    int at[NAMES]; /* the event of its last version */
    struct cache_event answers[ANSWERS];
    int answer_rv[ANSWERS], n_answers;
} server;

static struct {
    int kind;
    struct cache *cache;
    int pos; /* events before it have been shown */
    bool listing;
    int list_end, list_name; /* the list's version as a position; the next name to show */
    bool list_alive[NAMES];
    struct cache_event list[NAMES];
    int list_rv[NAMES];
    struct shown_objects shown[NAMES][LIVES];
    int restored; /* 404s that the watch overtook */
} client;

static void uid_of(char out[32], int name, int life) { snprintf(out, 32, "u-%d-%d", name, life); }

static void put(const struct cache_event *e, int rv, enum cache_source source)
{
    char uid[32], owner[32], version[24], name[24];

    uid_of(uid, e->name, e->life);
    snprintf(owner, sizeof owner, "owner-%d", e->owner);
    snprintf(version, sizeof version, "%d", rv);
    snprintf(name, sizeof name, "job-%d", e->name);
    if (client.kind == CACHE_JOBS)
        cache_put_job(client.cache, new_job(name, uid, version), source);
    else if (client.kind == CACHE_PODS)
        cache_put_pod(client.cache, new_pod(uid, e->owner ? owner : NULL, version), source);
    else
        cache_put_owned(client.cache, new_ref(OWNED_CONFIG_MAP, uid, owner, version), source);
}

static void delete_object(int name, int life, const char *rv)
{
    char uid[32], job[24];

    uid_of(uid, name, life);
    snprintf(job, sizeof job, "job-%d", name);
    if (client.kind == CACHE_JOBS)
        cache_delete_job(client.cache, "ns", job, uid, rv);
    else if (client.kind == CACHE_PODS)
        cache_delete_pod(client.cache, uid, rv);
    else
        cache_delete_owned(client.cache, OWNED_CONFIG_MAP, uid, rv);
}

/* The version of the object that the cache has; 0: none. */
static int version_of(int name, int life, int owner)
{
    char uid[32], text[64];
    const struct meta *m = NULL;

    uid_of(uid, name, life);
    if (client.kind == CACHE_JOBS) {
        snprintf(text, sizeof text, "job-%d", name);
        const struct tj *tj = cache_job(client.cache, "ns", text);
        m = tj && strcmp(tj->meta.uid, uid) == 0 ? &tj->meta : NULL;
    } else if (client.kind == CACHE_PODS) {
        const struct pod *pod = cache_pod(client.cache, uid);
        m = pod ? &pod->meta : NULL;
    } else {
        char of[32];
        snprintf(text, sizeof text, "name-%s", uid);
        snprintf(of, sizeof of, "owner-%d", owner);
        const struct owned_ref *ref =
            cache_owned(client.cache, OWNED_CONFIG_MAP, owner_of(of), text);
        m = ref ? &ref->meta : NULL;
    }
    return m ? (int)strtol(m->resource_version, NULL, 10) : 0;
}

/* Under one name a job of a later life ends those before it. */
static void end_earlier(int name, int life)
{
    if (client.kind != CACHE_JOBS)
        return;
    for (int i = 0; i < life; i++)
        client.shown[name][i].deleted = true;
}

static void show(const struct cache_event *e, int rv, bool answer)
{
    struct shown_objects *s = &client.shown[e->name][e->life];

    if (s->not_found && (!answer || rv >= FIRST_RV + client.pos)) {
        s->not_found = false; /* the watch, or what it has still to show */
        s->best = 0;
        client.restored++;
    }
    s->unlisted = s->unlisted && answer;
    if (!s->deleted && !s->not_found)
        end_earlier(e->name, e->life);
    if (rv > s->best) {
        s->best = rv;
        s->owner = e->owner;
    }
}

static void server_step(void)
{
    int name = (int)random_below(NAMES);
    struct cache_event *e = &server.log[server.n];

    if (server.alive[name]) {
        *e = server.log[server.at[name]];
        e->deleted = random_below(4) == 0;
        if (random_below(8) == 0)
            e->owner = (int)random_below(OWNERS);
        server.alive[name] = !e->deleted;
    } else {
        int life = server.life[name] + 1;
        if (life == LIVES)
            return;
        *e = (struct cache_event){.name = name, .life = life, .owner = (int)random_below(OWNERS)};
        server.life[name] = life;
        server.born[name][life] = server.n;
        server.alive[name] = true;
    }
    server.at[name] = server.n++;
    if (!e->deleted && server.n_answers < ANSWERS && random_below(2)) {
        server.answers[server.n_answers] = *e;
        server.answer_rv[server.n_answers++] = FIRST_RV + server.n - 1;
    }
}

static void answer_step(void)
{
    if (!server.n_answers)
        return;
    int i = (int)random_below((uint32_t)server.n_answers);
    show(&server.answers[i], server.answer_rv[i], true);
    put(&server.answers[i], server.answer_rv[i], CACHE_ANSWER);
    server.answers[i] = server.answers[--server.n_answers];
    server.answer_rv[i] = server.answer_rv[server.n_answers];
}

/* A GET says 404 for the UID: it is gone, whatever the watch has shown. */
static void not_found_step(void)
{
    int name = (int)random_below(NAMES), life = server.life[name];

    if (client.kind == CACHE_JOBS || life < 0 || server.alive[name])
        return;
    struct shown_objects *s = &client.shown[name][life];
    if (s->deleted)
        return;
    s->not_found = true;
    s->unlisted = client.listing;
    delete_object(name, life, "");
}

static void watch_step(void)
{
    char rv[24];

    if (client.listing || client.pos == server.n)
        return;
    const struct cache_event *e = &server.log[client.pos];
    if (e->deleted) {
        snprintf(rv, sizeof rv, "%d", FIRST_RV + client.pos);
        client.shown[e->name][e->life].deleted = true;
        delete_object(e->name, e->life, rv);
    } else {
        show(e, FIRST_RV + client.pos, false);
        put(e, FIRST_RV + client.pos, CACHE_WATCH);
    }
    client.pos++;
}

static void list_begin(void)
{
    client.listing = true;
    client.list_end = server.n;
    client.list_name = 0;
    for (int i = 0; i < NAMES; i++) {
        client.list_alive[i] = server.alive[i];
        client.list[i] = server.log[server.at[i]];
        client.list_rv[i] = FIRST_RV + server.at[i];
    }
    cache_relist_begin(client.cache, client.kind);
}

static void on_gone(void *arg, const char *namespace_, const char *job)
{
    (void)job;
    CHECK_STR(namespace_, "ns");
    ++*(int *)arg;
}

static void list_finish(void)
{
    int gone = 0;
    char rv[24];

    for (int name = 0; name < NAMES; name++)
        for (int life = 0; life <= server.life[name]; life++) {
            struct shown_objects *s = &client.shown[name][life];
            bool listed = client.list_alive[name] && client.list[name].life == life;
            if (!listed && server.born[name][life] < client.list_end)
                s->deleted = true;
            else if (s->unlisted && s->best < FIRST_RV + client.list_end)
                s->not_found = true; /* a late answer does not make it listed again */
            s->unlisted = false;
        }
    client.listing = false;
    client.pos = client.list_end;
    snprintf(rv, sizeof rv, "%d", FIRST_RV + client.list_end - 1);
    cache_relist_end(client.cache, client.kind, rv, on_gone, &gone);
}

static void list_step(void)
{
    if (!client.listing) {
        if (server.n && random_below(100) == 0)
            list_begin();
        return;
    }
    if (random_below(60) == 0) {
        list_begin(); /* broke off */
        return;
    }
    for (int i = 0; i < 4 && client.list_name < NAMES; i++, client.list_name++) {
        if (!client.list_alive[client.list_name])
            continue;
        show(&client.list[client.list_name], client.list_rv[client.list_name], false);
        put(&client.list[client.list_name], client.list_rv[client.list_name], CACHE_WATCH);
    }
    if (client.list_name == NAMES)
        list_finish();
}

static void check_owners(void)
{
    size_t want[OWNERS] = {0}, n;
    char owner[32];

    for (int name = 0; name < NAMES; name++)
        for (int life = 0; life <= server.life[name]; life++) {
            const struct shown_objects *s = &client.shown[name][life];
            if (s->best && !s->deleted && !s->not_found)
                want[s->owner]++;
        }
    for (int i = client.kind == CACHE_PODS; i < OWNERS; i++) {
        snprintf(owner, sizeof owner, "owner-%d", i);
        if (client.kind == CACHE_PODS)
            cache_pods_of(client.cache, owner_of(owner), &n);
        else
            for (n = 0; cache_owned_at(client.cache, OWNED_CONFIG_MAP, owner_of(owner), n);)
                n++;
        CHECK_INT(n, want[i]);
    }
}

static void check_all(int step)
{
    size_t n = 0;

    for (int name = 0; name < NAMES; name++) {
        int life = server.life[name] > 3 ? server.life[name] - 3 : 0;
        for (; life <= server.life[name]; life++) {
            const struct shown_objects *s = &client.shown[name][life];
            bool there = s->best && !s->deleted && !s->not_found;
            int got = version_of(name, life, s->owner);
            if (got != (there ? s->best : 0))
                TEST_FAIL("step %d: kind %d name %d life %d: got %d, want %d", step, client.kind,
                          name, life, got, there ? s->best : 0);
            test_checked++;
        }
        for (int i = 0; i <= server.life[name]; i++) {
            const struct shown_objects *s = &client.shown[name][i];
            n += s->best && !s->deleted && !s->not_found;
        }
    }
    CHECK_INT(cache_count(client.cache, client.kind), n);
    if (client.kind != CACHE_JOBS)
        check_owners();
}

static void check_settled(void)
{
    while (server.n_answers)
        answer_step();
    while (client.listing)
        list_step();
    while (client.pos < server.n)
        watch_step();
    check_all(-1);
    for (int name = 0; name < NAMES; name++) {
        const struct cache_event *e = &server.log[server.at[name]];
        CHECK_INT(version_of(name, server.life[name], e->owner),
                  server.alive[name] ? FIRST_RV + server.at[name] : 0);
    }
}

static int run(int kind)
{
    memset(&server, 0, sizeof server);
    memset(&client, 0, sizeof client);
    for (int i = 0; i < NAMES; i++)
        server.life[i] = -1;
    client.kind = kind;
    client.cache = cache_new();
    for (int step = 0; server.n < EVENTS - 1 && !test_failed; step++) {
        uint32_t speed = 1 + (uint32_t)step / 500 % 3 * 3; /* the watch keeps up, then falls back */
        server_step();
        for (uint32_t i = 0; i < 3; i++) {
            if (random_below(speed) == 0)
                watch_step();
            if (random_below(speed + 1) == 0)
                answer_step();
        }
        list_step();
        if (random_below(4) == 0)
            not_found_step();
        if (step % 4 == 0)
            check_all(step);
    }
    check_settled();
    cache_free(client.cache);
    CHECK_INT(jobs_alive, 0);
    return client.restored;
}

/* Whoever makes a job may write into it that another job owns it. */
static void test_job_with_an_owner(void)
{
    static const char *const versions[] = {"101", "102", "103"};
    struct cache *c = cache_new();
    size_t n;

    for (int i = 0; i < 3; i++) {
        struct tj *tj = new_job("j", "u1", versions[i]);

        tj->meta.owner_uid = "J";
        tj->meta.owner_name = "job-J";
        CHECK(cache_put_job(c, tj, CACHE_WATCH));
        CHECK(cache_put_pod(c, new_pod("p", "J", versions[i]), CACHE_WATCH));
    }
    cache_delete_job(c, "ns", "j", "u1", "104");
    cache_pods_of(c, owner_of("J"), &n);
    CHECK_INT(n, 1);
    cache_free(c);
}

int main(void)
{
    int restored = 0;

    test_job_with_an_owner();

    for (int round = 0; round < 12 && !test_failed; round++) {
        run(CACHE_JOBS);
        restored += run(CACHE_PODS);
        restored += run(CACHE_OWNED + OWNED_CONFIG_MAP);
    }

    CHECK(restored > 100); /* the order was met that only a 404 makes */
    return test_result();
}
