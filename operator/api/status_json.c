#include "operator/api/status_json.h"

#include <math.h>
#include <string.h>

#include "operator/api/field.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define MAX_REASON 256
#define MAX_COUNT 1000000000000
#define MAX_WORLD (((int64_t)1 << 53) - 1)
#define MAX_REPLICAS (LEDGER_MAX_INDEX + 1)

const char *const condition_names[N_CONDITIONS] = {
    [COND_CREATED] = "Created",
    [COND_RUNNING] = "Running",
    [COND_RESTARTING] = "Restarting",
    [COND_SUSPENDED] = "Suspended",
    [COND_PODS_BLOCKED] = "PodsBlocked",
    [COND_SUCCEEDED] = "Succeeded",
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

static int decode_role(struct tj *tj, int r, const cJSON *from, struct err *err)
{
    struct role_status *role = &tj->status.roles[r];
    int result = 0;

    role->active = (int)field_int(from, "active", 0, MAX_REPLICAS);
    role->ready = (int)field_int(from, "ready", 0, MAX_REPLICAS);
    role->succeeded = (int)field_int(from, "succeeded", 0, MAX_REPLICAS);
    role->failed = (int)field_int(from, "failed", 0, MAX_REPLICAS);
    role->restarts = field_int(from, "restarts", 0, MAX_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(ledger_fields); i++) {
        const struct ledger_field *f = &ledger_fields[i];
        struct ledger *l = (struct ledger *)((char *)role + f->offset);
        const cJSON *item = field_get(from, f->name);
        const char *text = cJSON_GetStringValue(item);

        if (!item || cJSON_IsNull(item))
            continue;
        if (!text)
            result = err_set(err, ERR_INVALID, "not a string");
        else
            result = ledger_parse(l, text, f->values, &tj->arena, err);
        if (result)
            return err_wrap(err, "status.replicaStatuses.%s.%s", cluster_role_names[r], f->name);
    }
    return 0;
}

static void decode_launch(struct tj_status *s, const cJSON *launch)
{
    s->launch.generation = field_int(launch, "generation", 0, LEDGER_MAX_VALUE);
    s->launch.world = field_int(launch, "world", 0, MAX_WORLD);
    s->launch.step = field_int(launch, "step", 0, MAX_COUNT);
    s->launch.failures = field_int(launch, "failures", 0, MAX_COUNT);
    s->launch.forgiven = field_int(launch, "forgiven", 0, MAX_COUNT);
}

static void decode_progress(struct progress *p, const cJSON *from)
{
    p->present = cJSON_IsObject(from);
    p->epoch = field_int(from, "epoch", 0, MAX_COUNT);
    p->epochs = field_int(from, "epochs", 0, MAX_COUNT);
    p->step = field_int(from, "step", 0, MAX_COUNT);
    p->loss = field_number(from, "loss");
    p->has_accuracy = cJSON_IsNumber(field_get(from, "accuracy"));
    p->accuracy = field_number(from, "accuracy");
    p->samples_per_second = field_number(from, "samplesPerSecond");
    p->eta_seconds = field_number(from, "etaSeconds");
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

/* All of it, or nothing where there was no launch: as put_training writes it. */
static void decode_training(struct tj *tj, const cJSON *status)
{
    const cJSON *launch = field_get(status, "launch");

    if (field_int(launch, "generation", 0, LEDGER_MAX_VALUE) == 0)
        return;
    decode_launch(&tj->status, launch);
    decode_progress(&tj->status.progress, field_get(status, "progress"));
    decode_scaling(tj, field_get(status, "scaling"));
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
    decode_training(tj, status);
    s->restarts = field_int(status, "restarts", 0, MAX_COUNT);
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

static void put_ledger(struct buf *out, const struct ledger_field *f,
                       const struct role_status *role)
{
    const struct ledger *l = (const struct ledger *)((const char *)role + f->offset);

    buf_printf(out, ",\"%s\":", f->name);
    if (l->n == 0) {
        buf_puts(out, "null");
        return;
    }
    buf_puts(out, "\"");
    ledger_encode(l, f->values, out);
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
        put_ledger(out, &ledger_fields[i], role);
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
    if (s->launch.generation == 0) {
        buf_puts(out, "\"launch\":null");
        return;
    }
    buf_printf(out,
               "\"launch\":{\"generation\":%lld,\"world\":%lld,\"step\":%lld,\"failures\":%lld,"
               "\"forgiven\":%lld}",
               (long long)s->launch.generation, (long long)s->launch.world,
               (long long)s->launch.step, (long long)s->launch.failures,
               (long long)s->launch.forgiven);
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
    if (p->has_accuracy)
        put_number(out, "accuracy", p->accuracy);
    else
        buf_puts(out, ",\"accuracy\":null");
    put_number(out, "samplesPerSecond", p->samples_per_second);
    if (speedup > 0)
        put_number(out, "speedup", speedup);
    else
        buf_puts(out, ",\"speedup\":null");
    put_number(out, "etaSeconds", p->eta_seconds);
    buf_puts(out, "}");
}

static void put_scaling(struct buf *out, const struct tj_status *s)
{
    if (s->n_scaling == 0) {
        buf_puts(out, "\"scaling\":null");
        return;
    }
    buf_puts(out, "\"scaling\":[");
    for (int i = 0; i < s->n_scaling; i++) {
        const struct scaling *point = &s->scaling[i];
        double speedup = speedup_of(s, point->samples_per_second);

        buf_printf(out, "%s{\"workers\":%lld", i ? "," : "", (long long)point->workers);
        put_number(out, "samplesPerSecond", point->samples_per_second);
        if (speedup > 0)
            put_number(out, "speedup", speedup);
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

/* Of built-in jobs; of others nothing, not even null. */
static void put_training(struct buf *out, const struct tj_status *old, const struct tj_status *s)
{
    if (!s->launch.generation && !old->launch.generation)
        return;
    buf_puts(out, ",");
    put_launch(out, s);
    buf_puts(out, ",");
    put_progress(out, s);
    buf_puts(out, ",");
    put_scaling(out, s);
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
    buf_printf(out, "},\"status\":{\"state\":\"%s\",", status_state(s));
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
    put_training(out, &tj->status, s);
    buf_printf(out, ",\"restarts\":%lld,", (long long)s->restarts);
    put_time(out, "backoffUntil", s->backoff_until_ms);
    buf_puts(out, ",\"replicaStatuses\":{");
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        buf_puts(out, r ? "," : "");
        put_role(out, s, r);
    }
    buf_puts(out, "}}}");
}
