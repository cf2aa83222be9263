// LINK: operator/controller/answer.c operator/controller/requests.c operator/reconcile
// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * The cost of the worst objects to the control thread: to read, to look at, to make things of. Each
 * is as large as the sieve lets through. Time is only shown (SHOW=1): of several runs the shortest,
 * as other programs disturb. It checks counts: comparisons and steps along lists grow as the object
 * does, and no stage parses more text than it has to. The libraries' calls come here, too, since a
 * program's own functions go before those of shared libraries.
 */
#include <dlfcn.h>
#include <time.h>

#include "operator/api/kept.h"
#include "operator/api/pod_events.h"
#include "operator/controller/answer.h"
#include "operator/controller/requests.h"
#include "operator/objects/objects.h"
#include "operator/reconcile/reconcile.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/hostile_objects.h"
#include "tests/unit/sieve_check.h"

#define REPEAT 7

static unsigned long long work;
static size_t parsed; /* bytes of JSON */

cJSON *cJSON_ParseWithLengthOpts(const char *text, size_t len, const char **end, cJSON_bool ends)
{
    static cJSON *(*parse)(const char *, size_t, const char **, cJSON_bool);

    if (!parse)
        *(void **)&parse = dlsym(RTLD_NEXT, "cJSON_ParseWithLengthOpts");
    parsed += len;
    return parse(text, len, end, ends);
}

#undef strcmp
int strcmp(const char *a, const char *b)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

    work++;
    while (*x && *x == *y)
        x++, y++;
    return *x - *y;
}

/* Through this one go cJSON_GetArrayItem and what looks for an index in a list. */
cJSON *cJSON_GetArrayItem(const cJSON *array, int index)
{
    cJSON *c = array ? array->child : NULL;

    for (work++; c && index > 0; index--, work++)
        c = c->next;
    return c;
}

int cJSON_GetArraySize(const cJSON *array)
{
    int n = 0;

    for (const cJSON *c = array ? array->child : NULL; c; c = c->next, work++)
        n++;
    return n;
}

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The cost of the stages of an object. */
struct cost {
    unsigned long long work;
    size_t n;
    struct stage {
        const char *name;
        double us;     /* the shortest of all runs */
        size_t parsed; /* bytes of JSON */
    } stages[16];
};

static double began_us;
static size_t began_parsed;

static void begin(void)
{
    began_parsed = parsed;
    began_us = cpu_us();
}

static void charge(struct cost *c, const char *name)
{
    double us = cpu_us() - began_us;
    struct stage *s = &c->stages[c->n++];

    if (!s->name || us < s->us)
        s->us = us;
    s->name = name;
    s->parsed = parsed - began_parsed;
}

static const unsigned char master_key[32] = {1};
static const struct objects_config config = {
    .operator_namespace = "ops", .worker_image = "w", .master_key = master_key};

static void make_pods(const struct tj *tj, struct cost *cost)
{
    struct pod_maker *maker;
    struct err err;
    struct buf body;

    begin();
    maker = pod_maker_new(&config, tj, ROLE_WORKER, &err);
    if (maker) {
        buf_init(&body, 0);
        pod_maker_body(maker, 0, 0, &body);
        buf_release(&body);
    }
    pod_maker_free(maker);
    charge(cost, "a pod");
}

static void make_owned(const struct tj *tj, struct cost *cost)
{
    for (int kind = 0; kind < N_OWNED; kind++) {
        struct err err;
        struct buf body;

        begin();
        buf_init(&body, 0);
        (void)!owned_body(&config, tj, kind, &body, &err);
        buf_release(&body);
        charge(cost, owned_kind_names[kind]);
    }
}

static void look(const struct tj *tj, struct cost *cost)
{
    struct observed o = {.tj = tj};
    AUTO(plan_release) struct plan plan = {0};

    begin();
    reconcile(&o, 1800000000000, &plan);
    charge(cost, "a look");
    if (!plan.status)
        return;
    begin();
    struct api_request r = request_patch_status(tj, plan.status);

    free(r.path);
    buf_release(&r.body);
    charge(cost, "a status");
}

static void tell(const struct tj *tj, struct cost *cost)
{
    AUTO(buf_release) struct buf body;
    struct job_event event = {
        .reason = "InvalidSpec", .message = tj->problem ? tj->problem : "", .key = "k"};

    begin();
    buf_init(&body, 0);
    event_body(tj, &event, "paceline", 1800000000000, &body);
    charge(cost, "an event");
}

static void take_job(const cJSON *object, struct cost *cost)
{
    struct tj *tj, *again;
    struct err err;

    begin();
    CHECK_INT(tj_decode(&tj, object, &err), 0);
    charge(cost, "a spec");
    begin();
    CHECK_INT(tj_decode_again(&again, object, tj, &err), 0);
    charge(cost, "the spec again");
    look(tj, cost);
    tell(tj, cost);
    if (tj->job) {
        make_pods(tj, cost);
        make_owned(tj, cost);
    }
    tj_free(again);
    tj_free(tj);
}

static void take_pod(const cJSON *object, struct cost *cost)
{
    struct pod *pod;
    struct err err;

    begin();
    CHECK_INT(pod_decode(&pod, object, &err), 0);
    charge(cost, "the pod");
    free(pod);
}

static void take_owned(const cJSON *object, struct cost *cost)
{
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    begin();
    CHECK_INT(meta_decode(&meta, object, &arena, &err), 0);
    charge(cost, "its metadata");
}

static void take_events(const cJSON *object, struct cost *cost)
{
    AUTO(arena_release) struct arena arena = {0};

    begin();
    CHECK(pod_events_newest(object, &arena) != NULL);
    charge(cost, "the newest");
}

static const struct taker {
    const char *prefix; /* of the names in hostiles */
    const struct sieve_field *fields;
    void (*take)(const cJSON *object, struct cost *cost);
} takers[] = {
    {"job: ", kept_job, take_job},          {"template: ", kept_job, take_job},
    {"pod: ", kept_pod, take_pod},          {"owned: ", kept_owned, take_owned},
    {"events: ", kept_events, take_events},
};

static const struct taker *taker_of(const struct hostile *h)
{
    const struct taker *t = takers;

    while (strncmp(t->prefix, h->name, strlen(t->prefix)) != 0)
        t++;
    return t;
}

static void write_hostile(const struct hostile *h, int n, struct buf *text)
{
    if (h->write) {
        h->write(text, n);
    } else {
        buf_puts(text, h->head);
        repeat(text, n, h->item);
        buf_puts(text, h->tail);
    }
}

static bool note_cut(void *arg, const char *text, size_t len, bool cut)
{
    (void)text, (void)len;
    *(bool *)arg = cut;
    return true;
}

/* The text that the sieve lets through; false: not all of it. */
static bool sieve(const struct hostile *h, const struct buf *text, struct buf *kept)
{
    AUTO(sieve_release) struct sieve s;
    bool cut = false;

    sieve_init(&s, taker_of(h)->fields, true);
    CHECK_INT(sieve_feed(&s, text->data, text->len, note_cut, &cut), SIEVE_OK);
    sieve_release(&s);
    sieve_init(&s, taker_of(h)->fields, false);
    CHECK_INT(sieve_feed(&s, text->data, text->len, note_cut, &cut), SIEVE_OK);
    buf_add(kept, s.rest.data, s.rest.len);
    return !cut;
}

static bool fits(const struct hostile *h, int n)
{
    AUTO(buf_release) struct buf text, kept;

    buf_init(&text, 0);
    buf_init(&kept, 0);
    write_hostile(h, n, &text);
    return sieve(h, &text, &kept);
}

/* The largest n of which nothing is cut. */
static int most_that_fits(const struct hostile *h)
{
    int low = 2, high = h->most + 1;

    while (high - low > 1) {
        int n = low + (high - low) / 2;

        if (fits(h, n))
            low = n;
        else
            high = n;
    }
    return low;
}

static size_t take(const struct hostile *h, int n, struct cost *cost)
{
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(buf_release) struct buf text, kept;
    struct err err;

    buf_init(&text, 0);
    buf_init(&kept, 0);
    write_hostile(h, n, &text);
    begin();
    sieve(h, &text, &kept);
    cost->n = 0;
    work = 0;
    begin();
    CHECK_INT(answer_parse(&object, kept.data, kept.len, h->name, &err), 0);
    charge(cost, "its JSON");
    taker_of(h)->take(object, cost);
    cost->work = work;
    return kept.len;
}

/*
 * How often a stage may parse the object's text. Rules of a spec read its template twice, and that
 * of an MPI job once more; a Secret or a PodGroup wants nothing of a template.
 */
static size_t most_parsed(const struct hostile *h, const char *stage)
{
    if (strcmp(stage, "a spec") == 0)
        return strstr(h->name, "MPI") ? 3 : 2;
    if (strncmp(h->name, "template", 8) != 0)
        return 1;
    return strcmp(stage, owned_kind_names[OWNED_SECRET]) != 0 &&
           strcmp(stage, owned_kind_names[OWNED_NETWORK_POLICY]) != 0 &&
           strcmp(stage, owned_kind_names[OWNED_POD_GROUP]) != 0;
}

static void check_parsed(const struct hostile *h, const struct cost *cost, size_t bytes)
{
    for (size_t i = 0; i < cost->n; i++) {
        const struct stage *s = &cost->stages[i];
        size_t most = most_parsed(h, s->name) * bytes + 1000;

        CHECK(s->parsed <= most);
        if (s->parsed > most)
            fprintf(stderr, "%s: %s parses %zu bytes of an object of %zu\n", h->name, s->name,
                    s->parsed, bytes);
    }
}

static void show(const struct hostile *h, int n, const struct cost *cost, size_t bytes)
{
    const struct stage *worst = cost->stages;

    for (size_t i = 1; i < cost->n; i++)
        if (cost->stages[i].us > worst->us)
            worst = &cost->stages[i];
    printf("%-32s n=%-6d %7zu bytes %8llu steps, longest %6.0f us: %s\n", h->name, n, bytes,
           cost->work, worst->us, worst->name);
}

/* A look at a job of which n pods run. */
static void look_at_pods(int n, struct cost *cost)
{
    AUTO(auto_free) struct pod *pods = xcalloc((size_t)n, sizeof *pods);
    AUTO(auto_free) const struct pod **list = xcalloc((size_t)n, sizeof *list);
    AUTO(plan_release) struct plan plan = {0};
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(buf_release) struct buf text;
    struct observed o = {.pods = list, .n_pods = (size_t)n};
    struct tj *tj;
    struct err err;

    buf_init(&text, 0);
    buf_printf(&text,
               JOB_HEAD "},\"spec\":{\"replicas\":{\"worker\":{\"replicas\":%d,\"template\":{"
                        "\"spec\":{\"containers\":[" CONTAINER "]}}}}},\"status\":{\"world\":{"
                        "\"generation\":1,\"worker\":%d}}}",
               n, n);
    CHECK_INT(json_parse(&object, text.data, text.len, "job", &err), 0);
    CHECK_INT(tj_decode(&tj, object, &err), 0);
    o.tj = tj;
    memset(o.have, true, sizeof o.have);
    memset(o.dry_run_ok, true, sizeof o.dry_run_ok);
    for (int i = 0; i < n; i++) {
        list[i] = &pods[i];
        pods[i] =
            (struct pod){.meta = {.namespace_ = "ns", .name = "p", .uid = "p", .owner_uid = "u"},
                         .role = ROLE_WORKER,
                         .index = n - 1 - i,
                         .phase = POD_RUNNING,
                         .ready = true,
                         .scheduled = true,
                         .begun = true,
                         .tracked = true,
                         .node = "n",
                         .ip = "10.0.0.1"};
    }
    cost->n = 0;
    work = 0;
    begin();
    reconcile(&o, 1800000000000, &plan);
    charge(cost, "a look");
    CHECK(plan.status != NULL);
    cost->work = work;
    tj_free(tj);
}

static void test_pods(void)
{
    struct cost half = {0}, full = {0};

    look_at_pods(2048, &half);
    for (int k = 0; k < REPEAT; k++)
        look_at_pods(4096, &full);
    printf("a look at 4096 pods: %.0f us, %llu steps\n", full.stages[0].us, full.work);
    CHECK(full.work <= half.work * 5 / 2 + 1000);
}

int main(void)
{
    test_pods();
    for (size_t i = 0; i < ARRAY_LEN(hostiles); i++) {
        const struct hostile *h = &hostiles[i];
        struct cost half = {0}, full = {0};
        int n = most_that_fits(h);
        size_t bytes = 0;

        take(h, n / 2, &half);
        for (int k = 0; k < REPEAT; k++)
            bytes = take(h, n, &full);
        show(h, n, &full, bytes);
        check_parsed(h, &full, bytes);
        /* Twice as much, and a little: for the depth of sorting, and because the input of a layer
         * is searched by name among the layers before it, of which a network has a limited number.
         */
        const unsigned long long most = half.work * 5 / 2 + 2000;

        CHECK(full.work <= most);
        if (full.work > most)
            fprintf(stderr, "%s: %llu steps, and %llu for half of it\n", h->name, full.work,
                    half.work);
    }
    return test_result();
}
