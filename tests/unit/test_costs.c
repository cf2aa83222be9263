// LINK: operator/controller/answer.c operator/controller/requests.c operator/reconcile
// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * What the worst objects cost the control thread: to read, to look at, to make things of. Each is
 * as large as the sieve lets through. Time is only shown (SHOW=1): of several runs the shortest, as
 * other programs disturb. What is checked are counts: comparisons and steps along lists grow as the
 * object does, and no stage parses more text than it has to. The libraries' calls come here, too,
 * since a program's own functions go before those of shared libraries.
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

/* "item(i)" n times, with commas. */
static void repeat(struct buf *out, int n, const char *item)
{
    for (int i = 0; i < n; i++) {
        if (i)
            buf_puts(out, ",");
        for (const char *c = item; *c; c++)
            if (*c == '#')
                buf_printf(out, "%05d", i);
            else
                buf_add(out, c, 1);
    }
}

#define JOB_HEAD                                                                  \
    "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{" \
    "\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":1"
#define BUILTIN "\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}"
#define CONTAINER "{\"name\":\"c\",\"image\":\"i\"}"
#define TEMPLATE(members) JOB_HEAD "},\"spec\":{\"replicas\":{\"worker\":{\"template\":{" members
#define TEMPLATE_END "}}}}}"
#define POD_HEAD                                                                                \
    "{\"metadata\":{\"name\":\"j-worker-0-0\",\"namespace\":\"ns\",\"uid\":\"p\","              \
    "\"resourceVersion\":\"7\",\"labels\":{\"paceline.dev/job-name\":\"j\","                    \
    "\"paceline.dev/role\":\"worker\",\"paceline.dev/index\":\"0\","                            \
    "\"paceline.dev/incarnation\":\"0\"},\"ownerReferences\":[{\"apiVersion\":"                 \
    "\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"name\":\"j\",\"uid\":\"u\",\"controller\":" \
    "true}]"

#define HUNDRED                                         \
    "0123456789012345678901234567890123456789012345678" \
    "9012345678901234567890123456789012345678901234567890"

/* n layers, each of which adds up the 64 before it. */
static void write_joins(struct buf *out, int n)
{
    buf_puts(out, JOB_HEAD "},\"spec\":{\"dataset\":{\"name\":\"fashion-mnist\"},\"model\":{"
                           "\"layers\":[");
    for (int i = 0; i < n - 2; i++) {
        buf_printf(out, "{\"name\":\"l%03d\",\"type\":\"%s\"", i, i < 2 ? "relu" : "add");
        if (i >= 2)
            buf_puts(out, ",\"inputs\":[");
        for (int k = i > 64 ? i - 64 : 0; i >= 2 && k < i; k++)
            buf_printf(out, "%s\"l%03d\"", k == (i > 64 ? i - 64 : 0) ? "" : ",", k);
        buf_puts(out, i >= 2 ? "]}," : "},");
    }
    buf_puts(out, "{\"type\":\"flatten\"},{\"type\":\"dense\",\"units\":10}]}}}");
}

static void write_runs(struct buf *out, int n)
{
    buf_printf(out,
               JOB_HEAD "},\"spec\":{\"replicas\":{\"worker\":{\"replicas\":%d,\"template\":{"
                        "\"spec\":{\"containers\":[" CONTAINER "]}}}}},\"status\":{\"world\":{"
                        "\"generation\":1,\"worker\":%d},\"replicaStatuses\":{\"worker\":{"
                        "\"completed\":\"",
               n, n);
    for (int i = 0; i < n; i += 2)
        buf_printf(out, "%s%d", i ? "," : "", i);
    buf_puts(out, "\"}}}}");
}

/* All parts of a job at their bounds at once. */
static void write_parts(struct buf *out, int n, const char *annotation, const char *text, int times)
{
    buf_puts(out, JOB_HEAD ",\"labels\":{");
    repeat(out, n / 12, "\"k#\":\"v\"");
    buf_printf(out, "},\"annotations\":{\"%s\":\"", annotation);
    for (int i = 0; i < times; i++)
        buf_puts(out, text);
    buf_puts(out,
             "\"}},\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"metadata\":{\"labels\":{");
    repeat(out, n, "\"k#\":\"v\"");
    buf_puts(out, "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END);
}

static void write_everything(struct buf *out, int n)
{
    write_parts(out, n, "k", "\\u0001", n * 7 / 2);
}

static void write_applied(struct buf *out, int n)
{
    write_parts(out, n, "kubectl.kubernetes.io/last-applied-configuration", "\\\\\\\"xxxxxxxx,",
                n * 8 / 5);
}

static const struct hostile {
    const char *name, *head, *item, *tail; /* the item n times between the others */
    int most;                              /* n beyond what the sieve lets through */
    void (*write)(struct buf *out, int n);
} hostiles[] = {
    {"job: labels", JOB_HEAD ",\"labels\":{", "\"k#\":\"v\"", "}},\"spec\":{" BUILTIN "}}", 16384,
     NULL},
    {"job: annotations", JOB_HEAD ",\"annotations\":{", "\"k#\":\"v\"",
     "}},\"spec\":{" BUILTIN "}}", 16384, NULL},
    {"job: long annotation", JOB_HEAD ",\"annotations\":{\"k\":\"", "0123456789abcdef,",
     "\"}},\"spec\":{" BUILTIN "}}", 40000, NULL},
    {"job: control characters", JOB_HEAD ",\"annotations\":{\"k\":\"", "\\u0001",
     "\"}},\"spec\":{" BUILTIN "}}", 120000, NULL},
    {"job: applied copy",
     JOB_HEAD ",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"",
     "\\\\\\\"#,", "\"}},\"spec\":{" BUILTIN "}}", 60000, NULL},
    {"job: everything", NULL, NULL, NULL, 16384, write_everything},
    {"job: everything, applied", NULL, NULL, NULL, 16384, write_applied},
    {"job: owners", JOB_HEAD ",\"ownerReferences\":[", "{\"uid\":\"u#\",\"name\":\"n\"}",
     "]},\"spec\":{" BUILTIN "}}", 4096, NULL},
    {"job: unknown fields", JOB_HEAD "},\"spec\":{", "\"f#\":1", "}}", 16384, NULL},
    {"job: joins", NULL, NULL, NULL, 256, write_joins},
    {"job: layers",
     JOB_HEAD "},\"spec\":{\"dataset\":{\"name\":\"fashion-mnist\"},\"model\":{"
              "\"layers\":[",
     "{\"type\":\"dense\",\"units\":8}", "]}}}", 256, NULL},
    {"job: indices", NULL, NULL, NULL, 4096, write_runs},
    {"job: conditions", JOB_HEAD "},\"spec\":{" BUILTIN "},\"status\":{\"conditions\":[",
     "{\"type\":\"Running\",\"status\":\"True\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}",
     "]}}", 8192, NULL},
    {"job: ingress",
     JOB_HEAD "},\"spec\":{" BUILTIN ",\"networkPolicy\":{\"extraIngress\":[{"
              "\"from\":[",
     "{\"ipBlock\":{\"cidr\":\"10.0.0.#/32\"}}", "]}]}}}", 4096, NULL},
    {"template: labels", TEMPLATE("\"metadata\":{\"labels\":{"), "\"k#\":\"v\"",
     "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: annotations", TEMPLATE("\"metadata\":{\"annotations\":{"), "\"k#\":\"v\"",
     "}},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: finalizers", TEMPLATE("\"metadata\":{\"finalizers\":["), "\"a.b/#\"",
     "]},\"spec\":{\"containers\":[" CONTAINER "]}" TEMPLATE_END, 16000, NULL},
    {"template: containers", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\"}", "]}" TEMPLATE_END, 5000, NULL},
    {"template: a hundred containers", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\"}", "]}" TEMPLATE_END, 128, NULL},
    {"template: of MPI", TEMPLATE("\"spec\":{\"containers\":["),
     "{\"name\":\"c#\",\"image\":\"i\",\"command\":[\"mpirun\"]}", "]}}}},\"mpi\":{}}}", 5000,
     NULL},
    {"template: volumes", TEMPLATE("\"spec\":{\"containers\":[" CONTAINER "],\"volumes\":["),
     "{\"name\":\"v#\",\"emptyDir\":{}}", "]}" TEMPLATE_END, 5000, NULL},
    {"template: env", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":["),
     "{\"name\":\"E#\",\"value\":\"v\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: env of ours", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":["),
     "{\"name\":\"TF_CONFIG\",\"value\":\"v\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: ports", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":["),
     "{\"name\":\"p#\",\"containerPort\":1}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: mounts", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"volumeMounts\":["),
     "{\"name\":\"v#\",\"mountPath\":\"/#\"}", "]}]}" TEMPLATE_END, 5000, NULL},
    {"template: arguments", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["),
     "\"a\"", "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: escapes", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":[\""),
     "\\n\\n\\n\\n", "\"]}]}" TEMPLATE_END, 32000, NULL},
    {"template: long numbers", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["),
     "0.123456789012#1", "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: numbers", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "0.1#1",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: empty maps", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "{}",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"pod: conditions", POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[",
     "{\"type\":\"T#\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"M\"}", "]}}", 16384,
     NULL},
    {"pod: containers", POD_HEAD "},\"spec\":{\"containers\":[",
     "{\"name\":\"c#\",\"readinessProbe\":{}}", "]}}", 16384, NULL},
    {"pod: states", POD_HEAD "},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[",
     "{\"name\":\"c#\",\"restartCount\":1,\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":"
     "\"R\","
     "\"message\":\"M\",\"finishedAt\":\"2027-01-15T08:00:00Z\"}}}",
     "]}}", 8192, NULL},
    {"pod: volumes", POD_HEAD "},\"spec\":{\"volumes\":[",
     "{\"name\":\"v#\",\"secret\":{\"secretName\":\"s\"}}", "]}}", 16384, NULL},
    {"pod: finalizers", POD_HEAD ",\"finalizers\":[", "\"a/#\"", "]}}", 65536, NULL},
    {"pod: long messages", POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[",
     "{\"type\":\"T#\",\"message\":\"" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED "\"}", "]}}",
     2400, NULL},
    {"owned: owners",
     "{\"metadata\":{\"name\":\"j\",\"uid\":\"c\",\"resourceVersion\":\"7\",\"ownerReferences\":[",
     "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"n#\",\"uid\":\"u#\",\"controller\":false}",
     "]}}", 8192, NULL},
    {"owned: data",
     "{\"metadata\":{\"name\":\"j\",\"uid\":\"c\",\"resourceVersion\":\"7\"},\"data\":{",
     "\"k#\":\"v\"", "}}", 65536, NULL},
    {"events: many", "{\"items\":[",
     "{\"type\":\"Warning\",\"reason\":\"R#\",\"message\":\"M\",\"lastTimestamp\":"
     "\"2027-01-15T08:00:00Z\",\"eventTime\":null,\"series\":{\"lastObservedTime\":"
     "\"2027-01-15T08:00:00Z\"},\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:00Z\"}}",
     "]}", 4096, NULL},
};

/* What the stages of an object took. */
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
    struct request r = request_patch_status(tj, plan.status);

    free(r.path);
    buf_release(&r.body);
    charge(cost, "a status");
}

static void tell(const struct tj *tj, struct cost *cost)
{
    AUTO(buf_release) struct buf body;
    struct plan_event event = {
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

/* What the sieve lets through; false: not all of it. */
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
        /* Twice as much, and a little for the depth of sorting. */
        CHECK(full.work <= half.work * 5 / 2 + 1000);
        if (full.work > half.work * 5 / 2 + 1000)
            fprintf(stderr, "%s: %llu steps, and %llu for half of it\n", h->name, full.work,
                    half.work);
    }
    return test_result();
}
