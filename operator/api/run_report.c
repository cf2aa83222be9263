#include "operator/api/run_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "operator/api/field.h"
#include "paceline/losses.h"

#define MAX_STEP 1000000000000
#define MAX_GENERATION INDEX_MAP_MAX_VALUE
/* The ports of agents and Open MPI (docs/reference/agent.md); an agent can have the operator try no
 * other. */
#define MIN_PORT 7421
#define MAX_PORT 7999
#define MAX_WORLD (((int64_t)1 << 53) - 1)

const char *const run_phase_names[N_RUN_PHASES] = {
    [RUN_NONE] = "",
    [RUN_STARTING] = "starting",
    [RUN_TRAINING] = "training",
    [RUN_STOPPING] = "stopping",
    [RUN_DONE] = "done",
    [RUN_STOPPED] = "stopped",
    [RUN_FAILED] = "failed",
};

bool run_report_complete(const struct run_report *r)
{
    return *r->pod && r->generation >= r->announced;
}

bool run_is_active(const struct run_report *r)
{
    return r->phase == RUN_STARTING || r->phase == RUN_TRAINING || r->phase == RUN_STOPPING;
}

int64_t launch_world(int64_t world, const char *pod)
{
    uint64_t hash = 14695981039346656037u ^ (uint64_t)world;

    for (; *pod; pod++)
        hash = (hash ^ (unsigned char)*pod) * 1099511628211u;
    hash = (hash ^ (hash >> 32)) & (uint64_t)MAX_WORLD;
    return hash ? (int64_t)hash : 1;
}

static void take_text(char *out, size_t size, const cJSON *from, const char *key)
{
    const char *text = field_string(from, key);

    snprintf(out, size, "%.*s", text ? (int)text_cut(text, size - 1) : 0, text ? text : "");
    text_mend(out);
}

static void run_report_take_hello(struct run_report *r, const cJSON *message)
{
    int64_t canary = field_int(message, "canary", 0, MAX_PORT + 1);

    *r = (struct run_report){.seen = field_int(message, "generation", 0, MAX_GENERATION),
                             .announced = field_int(message, "run", 0, MAX_GENERATION)};
    if (canary >= MIN_PORT && canary <= MAX_PORT)
        r->canary = (int)canary;
    take_text(r->pod, sizeof r->pod, message, "pod");
}

static enum run_phase run_report_phase_of(const char *name)
{
    for (int i = 0; name && i < N_RUN_PHASES; i++)
        if (strcmp(name, run_phase_names[i]) == 0)
            return (enum run_phase)i;
    return RUN_NONE;
}

/* Takes the result of a training that is done, if the record is whole. A program that is not ours
 * has neither steps nor weights. */
static void take_record(struct run_report *r, const cJSON *message)
{
    const cJSON *record = field_get(message, "record");
    bool step = cJSON_IsNumber(field_get(record, "step"));
    bool digest = field_string(record, "digest") != NULL;

    *r->record_uid = '\0';
    if (r->phase == RUN_DONE && step == digest &&
        field_int(record, "generation", 0, MAX_GENERATION) == r->generation)
        take_text(r->record_uid, sizeof r->record_uid, record, "uid");
}

/* Pods are called JOB-ROLE-INDEX-INCARNATION. */
static enum cluster_role role_of(const char *pod)
{
    size_t n = strlen(pod);

    for (int dashes = 0; n && dashes < 2; n--)
        dashes += pod[n - 1] == '-';
    for (int role = 0; role < N_CLUSTER_ROLES; role++) {
        size_t length = strlen(cluster_role_names[role]);

        if (n >= length && strncmp(pod + n - length, cluster_role_names[role], length) == 0)
            return (enum cluster_role)role;
    }
    return ROLE_WORKER;
}

static void take_pods(struct run_report *r, const cJSON *pods)
{
    const cJSON *pod;

    r->world = 0;
    memset(r->replicas, 0, sizeof r->replicas);
    cJSON_ArrayForEach(pod, pods)
    {
        const char *name = cJSON_GetStringValue(pod);

        r->world = launch_world(r->world, name ? name : "");
        r->replicas[role_of(name ? name : "")]++;
    }
}

static void take_run(struct run_report *r, const cJSON *message)
{
    int64_t generation = field_int(message, "generation", 0, MAX_GENERATION);

    if (generation != r->generation) {
        r->progress = (struct tj_progress){0};
        r->switched = (struct switch_report){0};
        r->resumed = 0;
        r->transfer_s = 0;
        *r->copy_error = '\0';
    }
    r->generation = generation;
    if (r->seen < generation)
        r->seen = generation;
    r->phase = run_report_phase_of(field_string(message, "phase"));
    r->step = field_int(message, "step", 0, MAX_STEP);
    take_pods(r, field_get(message, "pods"));
    take_text(r->stage, sizeof r->stage, message, "stage");
    take_text(r->message, sizeof r->message, message, "message");
    take_record(r, message);
    take_text(r->silent, sizeof r->silent, message, "silent");
    r->relaunch = r->phase == RUN_STOPPED && cJSON_IsTrue(field_get(message, "relaunch"));
}

/* A world that we sent was not taken: it has failed before it began. */
static void take_refusal(struct run_report *r, const cJSON *message)
{
    int64_t generation = field_int(message, "generation", 0, MAX_GENERATION);

    if (generation != r->told || generation <= r->generation)
        return;
    r->generation = generation;
    r->phase = RUN_FAILED;
    r->progress = (struct tj_progress){0};
    r->switched = (struct switch_report){0};
    r->relaunch = false;
    r->step = r->resumed = 0;
    take_pods(r, NULL);
    *r->silent = '\0';
    take_text(r->message, sizeof r->message, message, "message");
}

static double run_report_rounded(double number, double parts)
{
    return round(number * parts) / parts;
}

/* `start` says whether it has been, `switch` that it is now. */
static void take_switch(struct run_report *r, const cJSON *event, bool now)
{
    const cJSON *from = now ? event : field_get(event, "switch");

    if (!cJSON_IsObject(from))
        return;
    r->switched = (struct switch_report){.known = true};
    if (!now && !cJSON_IsTrue(field_get(from, "fired")))
        return;
    r->switched.epoch = field_int(from, "epoch", 0, MAX_STEP);
    r->switched.step = field_int(from, "step", 0, MAX_STEP);
    r->switched.seconds = run_report_rounded(field_number(from, "seconds"), 1e6);
    take_text(r->switched.reason, sizeof r->switched.reason, from, "reason");
}

/* The metrics of the validation samples, else of the test samples. Shares of 1 have four digits. */
static void take_metrics(struct tj_progress *p, const cJSON *epoch)
{
    p->has_metrics = 0;
    for (int m = METRIC_LOSS + 1; m < N_METRICS; m++) {
        struct metric_key key = metric_key("validation", (enum metric)m);

        if (!cJSON_IsNumber(field_get(epoch, key.s)))
            key = metric_key("test", (enum metric)m);
        p->has_metrics |= (unsigned)cJSON_IsNumber(field_get(epoch, key.s)) << m;
        p->metrics[m] =
            run_report_rounded(field_number(epoch, key.s), metric_defs[m].larger ? 1e4 : 1e6);
    }
}

/* The fields of an event replace the known ones; fields that it lacks stay. */
static void run_report_take_event(struct run_report *r, const cJSON *message)
{
    const cJSON *event = field_get(message, "event");
    const char *name = field_string(event, "event");
    struct tj_progress *p = &r->progress;
    bool progress = name && strcmp(name, "progress") == 0;
    bool epoch = name && strcmp(name, "epoch") == 0;
    bool done = name && strcmp(name, "done") == 0;

    if (field_int(message, "generation", 0, MAX_GENERATION) != r->generation)
        return;
    if (name && strcmp(name, "start") == 0) {
        p->epochs = field_int(event, "epochs", 0, MAX_STEP);
        r->resumed = field_int(event, "resumedStep", 0, MAX_STEP);
        r->transfer_s = run_report_rounded(field_number(event, "transferSeconds"), 1e6);
        take_switch(r, event, false);
    }
    if (name && strcmp(name, "switch") == 0)
        take_switch(r, event, true);
    if (name && strcmp(name, "durable") == 0) {
        r->copy_step = field_int(event, "step", 0, MAX_STEP);
        take_text(r->copy_error, sizeof r->copy_error, event, "message");
    }
    if (!progress && !epoch && !done)
        return;
    p->present = true;
    p->step = field_int(event, "step", 0, MAX_STEP);
    if (r->step < p->step)
        r->step = p->step;
    p->samples_per_second = run_report_rounded(field_number(event, "samplesPerSecond"), 10);
    p->early_epoch = field_int(field_get(event, "stoppedEarly"), "epoch", 0, MAX_STEP);
    if (done) /* the mean over all steps is its last figure */
        return;
    p->epoch = field_int(event, "epoch", 0, MAX_STEP) + progress; /* from 0 there */
    p->loss = run_report_rounded(field_number(event, "loss"), 1e6);
    p->learning_rate = field_number(event, "learningRate");
    if (progress)
        p->eta_seconds = run_report_rounded(field_number(event, "etaSeconds"), 1);
    if (epoch)
        take_metrics(p, event);
}

bool run_report_take(struct run_report *r, const cJSON *message)
{
    static const struct {
        const char *type;
        void (*take)(struct run_report *r, const cJSON *message);
    } kinds[] = {{"hello", run_report_take_hello},
                 {"run", take_run},
                 {"event", run_report_take_event},
                 {"refused", take_refusal}};
    const char *type = field_string(message, "type");

    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0) {
            kinds[i].take(r, message);
            return true;
        }
    return false;
}
