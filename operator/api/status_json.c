#include "operator/api/status_json.h"

#include <math.h>
#include <string.h>

#include "operator/api/field.h"
#include "paceline/json.h"
#include "paceline/losses.h"
#include "paceline/mem.h"
#include "paceline/predict.h"

#define MAX_REASON 256
#define MAX_COUNT 1000000000000
#define MAX_WORLD (((int64_t)1 << 53) - 1)
#define MAX_REPLICAS (LEDGER_MAX_INDEX + 1)

const char *const condition_names[N_CONDITIONS] = {
    [COND_CREATED] = "Created",       [COND_RUNNING] = "Running",
    [COND_RESTARTING] = "Restarting", [COND_SUSPENDED] = "Suspended",
    [COND_STALLED] = "Stalled",       [COND_PODS_BLOCKED] = "PodsBlocked",
    [COND_DURABLE] = "Durable",       [COND_SUCCEEDED] = "Succeeded",
    [COND_FAILED] = "Failed",
};

/* Decoding */

/* N_CONDITIONS: somebody else's. */
static int condition_type_of(const char *name)
{
    int type = 0;

    while (type < N_CONDITIONS && strcmp(name, condition_names[type]) != 0)
        type++;
    return type;
}

static void decode_conditions(struct tj *tj, const cJSON *list)
{
    AUTO(buf_release) struct buf foreign;
    const cJSON *item;

    buf_init(&foreign, 0);
    cJSON_ArrayForEach(item, list)
    {
        const char *name = field_string(item, "type");
        const char *value = field_string(item, "status");
        int type = name ? condition_type_of(name) : N_CONDITIONS;

        if (type < N_CONDITIONS) {
            tj->status.conditions[type] = (struct condition){
                .present = true,
                .status = value && strcmp(value, "True") == 0,
                .reason = field_text(item, "reason", MAX_REASON, &tj->arena),
                .message = field_text(item, "message", STATUS_MAX_MESSAGE, &tj->arena),
                .since_ms = field_time(item, "lastTransitionTime"),
            };
        } else if (name) {
            buf_puts(&foreign, foreign.len ? "," : "");
            json_print(item, 0, &foreign);
        }
    }
    tj->foreign_conditions = foreign.len ? arena_strdup(&tj->arena, foreign.data) : NULL;
}

struct ledger_field {
    const char *name;
    size_t offset;
    bool values;
};
static const struct ledger_field ledger_fields[] = {
    {"completed", offsetof(struct role_status, completed), false},
    {"lost", offsetof(struct role_status, lost), false},
    {"incarnations", offsetof(struct role_status, incarnations), true},
};

/* Absent: empty. */
static int decode_ledger(struct ledger *l, const cJSON *item, bool values, struct arena *a,
                         struct err *err)
{
    const char *text = cJSON_GetStringValue(item);

    if (!item || cJSON_IsNull(item))
        return 0;
    if (!text)
        return err_set(err, ERR_INVALID, "not a string");
    return ledger_parse(l, text, values, a, err);
}

static int decode_role(struct tj *tj, int r, const cJSON *from, struct err *err)
{
    struct role_status *role = &tj->status.roles[r];

    role->active = (int)field_int(from, "active", 0, MAX_REPLICAS);
    role->ready = (int)field_int(from, "ready", 0, MAX_REPLICAS);
    role->succeeded = (int)field_int(from, "succeeded", 0, MAX_REPLICAS);
    role->failed = (int)field_int(from, "failed", 0, MAX_REPLICAS);
    role->restarts = field_int(from, "restarts", 0, MAX_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(ledger_fields); i++) {
        const struct ledger_field *f = &ledger_fields[i];
        struct ledger *l = (struct ledger *)((char *)role + f->offset);

        if (decode_ledger(l, field_get(from, f->name), f->values, &tj->arena, err))
            return err_wrap(err, "status.replicaStatuses.%s.%s", cluster_role_names[r], f->name);
    }
    return 0;
}

static const char *const launch_reasons[N_LAUNCH_REASONS] = {
    [LAUNCH_START] = "Start",     [LAUNCH_RESUME] = "Resume", [LAUNCH_LOSS] = "Loss",
    [LAUNCH_RESCALE] = "Rescale", [LAUNCH_SWITCH] = "Switch",
};

static const struct {
    const char *name;
    size_t offset;
    int64_t max;
} launch_fields[] = {
    {"generation", offsetof(struct tj_status, launch.generation), LEDGER_MAX_VALUE},
    {"world", offsetof(struct tj_status, launch.world), MAX_WORLD},
    {"chief", offsetof(struct tj_status, launch.chief), MAX_WORLD},
    {"step", offsetof(struct tj_status, launch.step), MAX_COUNT},
    {"failures", offsetof(struct tj_status, launch.failures), MAX_COUNT},
    {"forgiven", offsetof(struct tj_status, launch.forgiven), MAX_COUNT},
    {"outlived", offsetof(struct tj_status, launch.outlived), MAX_COUNT},
    {"resumed", offsetof(struct tj_status, launch.resumed), MAX_COUNT},
    {"workers", offsetof(struct tj_status, launch.workers), MAX_REPLICAS},
    {"stepped", offsetof(struct tj_status, launch.stepped), LEDGER_MAX_VALUE},
    {"stalled", offsetof(struct tj_status, launch.stalled), LEDGER_MAX_VALUE},
};

static int decode_launch(struct tj_status *s, const cJSON *launch, struct arena *a, struct err *err)
{
    const char *reason = field_string(launch, "reason");

    for (int i = 0; reason && i < N_LAUNCH_REASONS; i++)
        if (strcmp(reason, launch_reasons[i]) == 0)
            s->launch.reason = (enum launch_reason)i;
    s->launch.cause = field_text(launch, "cause", MAX_REASON, a);
    s->launch.from_ms = field_time(launch, "from");
    s->launch.trained_ms = field_time(launch, "trained");
    s->launch.since_ms = field_time(launch, "since");
    for (size_t i = 0; i < ARRAY_LEN(launch_fields); i++)
        *(int64_t *)((char *)s + launch_fields[i].offset) =
            field_int(launch, launch_fields[i].name, 0, launch_fields[i].max);
    if (decode_ledger(&s->launch.without, field_get(launch, "without"), false, a, err))
        return err_wrap(err, "status.launch.without");
    return 0;
}

static void decode_progress(struct progress *p, const cJSON *from)
{
    p->present = cJSON_IsObject(from);
    p->epoch = field_int(from, "epoch", 0, MAX_COUNT);
    p->epochs = field_int(from, "epochs", 0, MAX_COUNT);
    p->step = field_int(from, "step", 0, MAX_COUNT);
    p->early_epoch = field_int(from, "stoppedEarly", 0, MAX_COUNT);
    p->loss = field_number(from, "loss");
    for (int m = METRIC_LOSS + 1; m < N_METRICS; m++) {
        p->metrics[m] = field_number(from, metric_defs[m].name);
        p->has_metrics |= (unsigned)cJSON_IsNumber(field_get(from, metric_defs[m].name)) << m;
    }
    p->samples_per_second = field_number(from, "samplesPerSecond");
    p->eta_seconds = field_number(from, "etaSeconds");
}

static void decode_strategy(struct strategy_status *s, const cJSON *from, struct arena *a)
{
    s->phase = field_text(from, "phase", MAX_REASON, a);
    if (!s->phase)
        return;
    s->epoch = field_int(from, "epoch", 0, MAX_COUNT);
    s->step = field_int(from, "step", 0, MAX_COUNT);
    s->since_ms = field_time(from, "since");
    s->reason = field_text(from, "reason", MAX_REASON, a);
    s->seconds = field_number(from, "seconds");
}

/* Ascending; what is out of order is not ours. */
static void decode_scaling(struct tj *tj, const cJSON *list)
{
    struct scaling *points;
    const cJSON *item;
    int n = 0;

    if (!cJSON_IsArray(list) || !list->child)
        return;
    points = arena_alloc(&tj->arena, SCALING_MAX * sizeof *points);
    cJSON_ArrayForEach(item, list)
    {
        int64_t workers = field_int(item, "workers", 0, MAX_REPLICAS);

        if (n < SCALING_MAX && workers > (n ? points[n - 1].workers : 0))
            points[n++] = (struct scaling){workers, field_number(item, "samplesPerSecond")};
    }
    tj->status.scaling = points;
    tj->status.n_scaling = n;
}

/* Whether status has anything to say of launches. */
static bool has_launch(const struct tj_status *s)
{
    return s->launch.generation || s->launch.from_ms;
}

/* All of it, or nothing where there was no launch: as put_training writes it. */
static int decode_training(struct tj *tj, const cJSON *status, struct err *err)
{
    const cJSON *launch = field_get(status, "launch");

    if (!field_int(launch, "generation", 0, LEDGER_MAX_VALUE) && !field_time(launch, "from"))
        return 0;
    decode_progress(&tj->status.progress, field_get(status, "progress"));
    decode_strategy(&tj->status.strategy, field_get(status, "strategy"), &tj->arena);
    tj->status.transfer_s = field_number(status, "transferSeconds");
    decode_scaling(tj, field_get(status, "scaling"));
    return decode_launch(&tj->status, launch, &tj->arena, err);
}

int status_decode(struct tj *tj, const cJSON *status, struct err *err)
{
    const cJSON *world = field_get(status, "world");
    const cJSON *roles = field_get(status, "replicaStatuses");
    struct tj_status *s = &tj->status;
    int result = 0;

    decode_conditions(tj, field_get(status, "conditions"));
    s->observed_generation = field_int(status, "observedGeneration", 0, INT64_MAX / 2);
    s->start_ms = field_time(status, "startTime");
    s->completion_ms = field_time(status, "completionTime");
    s->active_since_ms = field_time(status, "activeSince");
    s->active_ms = field_int(status, "activeMilliseconds", 0, MAX_COUNT);
    s->world.generation = field_int(world, "generation", 0, LEDGER_MAX_VALUE);
    s->world.incarnation = field_int(world, "incarnation", 0, LEDGER_MAX_VALUE);
    if (decode_training(tj, status, err))
        result = -1;
    s->restarts = field_int(status, "restarts", 0, MAX_COUNT);
    s->disruptions = field_int(status, "disruptions", 0, MAX_COUNT);
    s->backoff_until_ms = field_time(status, "backoffUntil");
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        s->world.replicas[r] = field_int(world, cluster_role_names[r], 0, MAX_REPLICAS);
        if (decode_role(tj, r, field_get(roles, cluster_role_names[r]), err))
            result = -1;
    }
    return result;
}

/* Encoding */

static void put_time(struct buf *out, const char *key, int64_t ms)
{
    char text[TIME_SIZE];

    if (ms <= 0) {
        buf_printf(out, "\"%s\":null", key);
        return;
    }
    time_encode(ms, text);
    buf_printf(out, "\"%s\":\"%s\"", key, text);
}

static void put_ledger(struct buf *out, const char *name, bool values, const struct ledger *l)
{
    buf_printf(out, ",\"%s\":", name);
    if (l->n == 0) {
        buf_puts(out, "null");
        return;
    }
    buf_puts(out, "\"");
    ledger_encode(l, values, out);
    buf_puts(out, "\"");
}

static void put_conditions(struct buf *out, const struct tj *tj, const struct tj_status *s)
{
    const char *comma = "";

    buf_puts(out, "\"conditions\":[");
    for (int i = 0; i < N_CONDITIONS; i++) {
        const struct condition *c = &s->conditions[i];

        if (!c->present)
            continue;
        buf_printf(out, "%s{\"type\":\"%s\",\"status\":\"%s\",\"reason\":", comma,
                   condition_names[i], c->status ? "True" : "False");
        json_print_string(c->reason ? c->reason : condition_names[i], out);
        buf_puts(out, ",\"message\":");
        json_print_string(c->message ? c->message : "", out);
        buf_puts(out, ",");
        put_time(out, "lastTransitionTime", c->since_ms > 0 ? c->since_ms : 1);
        buf_puts(out, "}");
        comma = ",";
    }
    if (tj->foreign_conditions)
        buf_printf(out, "%s%s", comma, tj->foreign_conditions);
    buf_puts(out, "]");
}

static void put_role(struct buf *out, const struct tj_status *s, int r)
{
    const struct role_status *role = &s->roles[r];
    bool used = r == ROLE_WORKER || s->world.replicas[r] > 0 || role->active || role->ready ||
                role->succeeded || role->failed || role->restarts || role->completed.n ||
                role->lost.n || role->incarnations.n;

    buf_printf(out, "\"%s\":", cluster_role_names[r]);
    if (!used) {
        buf_puts(out, "null");
        return;
    }
    buf_printf(out, "{\"active\":%d,\"ready\":%d,\"succeeded\":%d,\"failed\":%d,\"restarts\":%lld",
               role->active, role->ready, role->succeeded, role->failed, (long long)role->restarts);
    for (size_t i = 0; i < ARRAY_LEN(ledger_fields); i++)
        put_ledger(out, ledger_fields[i].name, ledger_fields[i].values,
                   (const struct ledger *)((const char *)role + ledger_fields[i].offset));
    buf_puts(out, "}");
}

static void put_world(struct buf *out, const struct tj_status *s)
{
    if (s->world.generation == 0) {
        buf_puts(out, "\"world\":null");
        return;
    }
    buf_printf(out, "\"world\":{\"generation\":%lld,\"incarnation\":%lld",
               (long long)s->world.generation, (long long)s->world.incarnation);
    for (int r = 0; r < N_CLUSTER_ROLES; r++)
        buf_printf(out, ",\"%s\":%lld", cluster_role_names[r], (long long)s->world.replicas[r]);
    buf_puts(out, "}");
}

static void put_launch(struct buf *out, const struct tj_status *s)
{
    if (!has_launch(s)) {
        buf_puts(out, "\"launch\":null");
        return;
    }
    buf_puts(out, "\"launch\":{");
    for (size_t i = 0; i < ARRAY_LEN(launch_fields); i++)
        buf_printf(out, "\"%s\":%lld,", launch_fields[i].name,
                   (long long)*(const int64_t *)((const char *)s + launch_fields[i].offset));
    buf_printf(out, "\"reason\":\"%s\",\"cause\":", launch_reasons[s->launch.reason]);
    json_print_string(s->launch.cause ? s->launch.cause : "", out);
    buf_puts(out, ",");
    put_time(out, "from", s->launch.from_ms);
    buf_puts(out, ",");
    put_time(out, "trained", s->launch.trained_ms);
    buf_puts(out, ",");
    put_time(out, "since", s->launch.since_ms);
    put_ledger(out, "without", false, &s->launch.without);
    buf_puts(out, "}");
}

/* ,"key":number */
static void put_number(struct buf *out, const char *key, double number)
{
    buf_printf(out, ",\"%s\":", key);
    json_print_number(number, out);
}

/* Against one worker; 0 where that was not measured. */
static double speedup_of(const struct tj_status *s, double samples_per_second)
{
    const struct scaling *one = s->scaling;

    return s->n_scaling && one->workers == 1 && one->samples_per_second > 0
               ? round(100 * samples_per_second / one->samples_per_second) / 100
               : 0;
}

/*
 * The same by the estimate for the strategy (study 003), as `paceline speedup` predicts it: from
 * what one worker reached, and how long a transfer takes. NAN: it is not known, or nobody has a
 * formula.
 */
static double predicted_of(const struct tj *tj, const struct tj_status *s, int64_t workers)
{
    const struct scaling *one = s->scaling;
    struct estimate_costs costs = {.transfer_s = s->transfer_s};
    struct job job;

    if (!tj->job || s->transfer_s <= 0 || one->workers != 1 || one->samples_per_second <= 0)
        return NAN;
    job = *tj->job;
    job.replicas[ROLE_WORKER].replicas = 1;
    costs.gradient_s = predict_gradient(&job, &costs, one->samples_per_second);
    job.replicas[ROLE_WORKER].replicas = workers;
    return round(100 * predict_rate(&job, &costs) / one->samples_per_second) / 100;
}

static void put_progress(struct buf *out, const struct tj_status *s)
{
    const struct progress *p = &s->progress;
    double speedup = speedup_of(s, p->samples_per_second);

    if (!p->present) {
        buf_puts(out, "\"progress\":null");
        return;
    }
    buf_printf(out, "\"progress\":{\"epoch\":%lld,\"epochs\":%lld,\"step\":%lld",
               (long long)p->epoch, (long long)p->epochs, (long long)p->step);
    put_number(out, "loss", p->loss);
    for (int m = METRIC_LOSS + 1; m < N_METRICS; m++)
        if (p->has_metrics >> m & 1)
            put_number(out, metric_defs[m].name, p->metrics[m]);
        else
            buf_printf(out, ",\"%s\":null", metric_defs[m].name);
    put_number(out, "samplesPerSecond", p->samples_per_second);
    if (speedup > 0)
        put_number(out, "speedup", speedup);
    else
        buf_puts(out, ",\"speedup\":null");
    put_number(out, "etaSeconds", p->eta_seconds);
    if (p->early_epoch)
        buf_printf(out, ",\"stoppedEarly\":%lld}", (long long)p->early_epoch);
    else
        buf_puts(out, ",\"stoppedEarly\":null}");
}

/* Before the switch there is a phase, and nothing else. */
static void put_strategy(struct buf *out, const struct strategy_status *s)
{
    if (!s->phase) {
        buf_puts(out, "\"strategy\":null");
        return;
    }
    buf_puts(out, "\"strategy\":{\"phase\":");
    json_print_string(s->phase, out);
    if (s->step) {
        buf_printf(out, ",\"epoch\":%lld,\"step\":%lld,\"reason\":", (long long)s->epoch,
                   (long long)s->step);
        json_print_string(s->reason ? s->reason : "", out);
    } else {
        buf_puts(out, ",\"epoch\":null,\"step\":null,\"reason\":null");
    }
    if (s->seconds > 0)
        put_number(out, "seconds", s->seconds);
    else
        buf_puts(out, ",\"seconds\":null");
    buf_puts(out, ",");
    put_time(out, "since", s->since_ms);
    buf_puts(out, "}");
}

static void put_scaling(struct buf *out, const struct tj *tj, const struct tj_status *s)
{
    if (s->transfer_s > 0) {
        buf_puts(out, "\"transferSeconds\":");
        json_print_number(s->transfer_s, out);
    } else {
        buf_puts(out, "\"transferSeconds\":null");
    }
    if (s->n_scaling == 0) {
        buf_puts(out, ",\"scaling\":null");
        return;
    }
    buf_puts(out, ",\"scaling\":[");
    for (int i = 0; i < s->n_scaling; i++) {
        const struct scaling *point = &s->scaling[i];
        double speedup = speedup_of(s, point->samples_per_second);
        double predicted = predicted_of(tj, s, point->workers);

        buf_printf(out, "%s{\"workers\":%lld", i ? "," : "", (long long)point->workers);
        put_number(out, "samplesPerSecond", point->samples_per_second);
        if (speedup > 0)
            put_number(out, "speedup", speedup);
        if (predicted > 0)
            put_number(out, "predicted", predicted);
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

/* Of built-in jobs; of others nothing, not even null. */
static void put_training(struct buf *out, const struct tj *tj, const struct tj_status *s)
{
    if (!has_launch(s) && !has_launch(&tj->status))
        return;
    buf_puts(out, ",");
    put_launch(out, s);
    buf_puts(out, ",");
    put_progress(out, s);
    buf_puts(out, ",");
    put_strategy(out, &s->strategy);
    buf_puts(out, ",");
    put_scaling(out, tj, s);
}

void tj_selector(const struct tj *tj, struct buf *out)
{
    buf_printf(out, "%s=%s,%s=%s", LABEL_JOB, tj->meta.name, LABEL_ROLE,
               cluster_role_names[ROLE_WORKER]);
}

void status_encode_patch(const struct tj *tj, const struct tj_status *s, struct buf *out)
{
    AUTO(buf_release) struct buf selector;

    buf_init(&selector, 0);
    tj_selector(tj, &selector);
    buf_puts(out, "{\"metadata\":{\"uid\":");
    json_print_string(tj->meta.uid, out);
    buf_puts(out, ",\"resourceVersion\":");
    json_print_string(tj->meta.resource_version, out);
    buf_printf(out, "},\"status\":{\"state\":\"%s\",\"message\":", status_state(s));
    json_print_string(status_why(s), out);
    buf_puts(out, ",");
    put_conditions(out, tj, s);
    buf_printf(out, ",\"observedGeneration\":%lld,", (long long)s->observed_generation);
    put_time(out, "startTime", s->start_ms);
    buf_puts(out, ",");
    put_time(out, "completionTime", s->completion_ms);
    buf_puts(out, ",");
    put_time(out, "activeSince", s->active_since_ms);
    buf_printf(out, ",\"activeMilliseconds\":%lld,\"selector\":", (long long)s->active_ms);
    json_print_string(selector.data, out);
    buf_puts(out, ",");
    put_world(out, s);
    put_training(out, tj, s);
    buf_printf(out, ",\"restarts\":%lld,\"disruptions\":%lld,", (long long)s->restarts,
               (long long)s->disruptions);
    put_time(out, "backoffUntil", s->backoff_until_ms);
    buf_puts(out, ",\"replicaStatuses\":{");
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        buf_puts(out, r ? "," : "");
        put_role(out, s, r);
    }
    buf_puts(out, "}}}");
}
