// LINK: operator/controller/answer.c operator/controller/requests.c operator/reconcile
// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * What the worst objects cost the control thread: to read, to look at, to make things of. Time is
 * only shown (SHOW=1). What is checked is the number of comparisons and of steps along lists: they
 * grow as the object does. The libraries' calls come here, too, since a program's own functions go
 * before those of shared libraries.
 */
#include <time.h>

#include "operator/controller/answer.h"
#include "operator/controller/requests.h"
#include "operator/objects/objects.h"
#include "operator/reconcile/reconcile.h"
#include "paceline/mem.h"
#include "tests/test.h"

static unsigned long long work;

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

static const struct hostile {
    const char *name, *head, *item, *tail; /* the item n times between the others */
    int most;                              /* n where the object is as large as is taken */
    void (*write)(struct buf *out, int n);
} hostiles[] = {
    {"job: labels", JOB_HEAD ",\"labels\":{", "\"k#\":\"v\"", "}},\"spec\":{" BUILTIN "}}", 4096,
     NULL},
    {"job: annotations", JOB_HEAD ",\"annotations\":{", "\"k#\":\"v\"",
     "}},\"spec\":{" BUILTIN "}}", 16384, NULL},
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
    {"template: numbers", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "0.1#1",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"template: empty maps", TEMPLATE("\"spec\":{\"containers\":[{\"name\":\"c\",\"args\":["), "{}",
     "]}]}" TEMPLATE_END, 16000, NULL},
    {"pod: conditions", POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[",
     "{\"type\":\"T#\",\"status\":\"True\"}", "]}}", 8192, NULL},
    {"pod: containers", POD_HEAD "},\"spec\":{\"containers\":[", "{\"name\":\"c#\"}", "]}}", 8192,
     NULL},
    {"pod: states", POD_HEAD "},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[",
     "{\"name\":\"c#\",\"state\":{\"terminated\":{\"exitCode\":0}}}", "]}}", 8192, NULL},
    {"pod: volumes", POD_HEAD "},\"spec\":{\"volumes\":[", "{\"name\":\"v#\"}", "]}}", 8192, NULL},
    {"pod: finalizers", POD_HEAD ",\"finalizers\":[", "\"a/#\"", "]}}", 16384, NULL},
};

/* What the stages of an object took. */
struct cost {
    unsigned long long work;
    double worst_us;
    const char *worst;
};

static void charge(struct cost *c, const char *stage, double began_us)
{
    double us = cpu_us() - began_us;

    if (us > c->worst_us) {
        c->worst_us = us;
        c->worst = stage;
    }
}

static const unsigned char master_key[32] = {1};
static const struct objects_config config = {
    .operator_namespace = "ops", .worker_image = "w", .master_key = master_key};

static void make_pods(const struct tj *tj, struct cost *cost)
{
    double began = cpu_us();
    struct pod_maker *maker;
    struct err err;
    struct buf body;

    maker = pod_maker_new(&config, tj, ROLE_WORKER, &err);
    if (maker) {
        buf_init(&body, 0);
        pod_maker_body(maker, 0, 0, &body);
        buf_release(&body);
    }
    pod_maker_free(maker);
    charge(cost, "a pod", began);
}

static void make_owned(const struct tj *tj, struct cost *cost)
{
    for (int kind = 0; kind < N_OWNED; kind++) {
        double began = cpu_us();
        struct err err;
        struct buf body;

        buf_init(&body, 0);
        (void)!owned_body(&config, tj, kind, &body, &err);
        buf_release(&body);
        charge(cost, owned_kind_names[kind], began);
    }
}

static void look(const struct tj *tj, struct cost *cost)
{
    struct observed o = {.tj = tj};
    AUTO(plan_release) struct plan plan = {0};
    double began = cpu_us();

    reconcile(&o, 1800000000000, &plan);
    charge(cost, "a look", began);
    if (!plan.status)
        return;
    began = cpu_us();
    struct request r = request_patch_status(tj, plan.status);

    free(r.path);
    buf_release(&r.body);
    charge(cost, "a status", began);
}

static void take_job(const cJSON *object, struct cost *cost)
{
    struct tj *tj, *again;
    struct err err;
    double began = cpu_us();

    CHECK_INT(tj_decode(&tj, object, &err), 0);
    charge(cost, "a spec", began);
    began = cpu_us();
    CHECK_INT(tj_decode_again(&again, object, tj, &err), 0);
    charge(cost, "the spec again", began);
    look(tj, cost);
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
    double began = cpu_us();

    CHECK_INT(pod_decode(&pod, object, &err), 0);
    charge(cost, "the pod", began);
    free(pod);
}

static size_t take(const struct hostile *h, int n, struct cost *cost)
{
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(buf_release) struct buf text;
    struct err err;
    double began;

    buf_init(&text, 0);
    if (h->write) {
        h->write(&text, n);
    } else {
        buf_puts(&text, h->head);
        repeat(&text, n, h->item);
        buf_puts(&text, h->tail);
    }
    *cost = (struct cost){0};
    work = 0;
    began = cpu_us();
    CHECK_INT(answer_parse(&object, text.data, text.len, h->name, &err), 0);
    charge(cost, "its JSON", began);
    if (strncmp(h->name, "pod", 3) == 0)
        take_pod(object, cost);
    else
        take_job(object, cost);
    cost->work = work;
    return text.len;
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_LEN(hostiles); i++) {
        const struct hostile *h = &hostiles[i];
        struct cost half, full;
        size_t bytes;

        take(h, h->most / 2, &half);
        bytes = take(h, h->most, &full);
        printf("%-32s %7zu bytes %9llu steps, longest %7.0f us: %s\n", h->name, bytes, full.work,
               full.worst_us, full.worst);
        /* Twice as much, and a little for the depth of sorting. */
        CHECK(full.work <= half.work * 5 / 2 + 1000);
        if (full.work > half.work * 5 / 2 + 1000)
            fprintf(stderr, "%s: %llu steps, and %llu for half of it\n", h->name, full.work,
                    half.work);
    }
    return test_result();
}
