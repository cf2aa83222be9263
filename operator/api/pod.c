#include "operator/api/pod.h"

#include <string.h>

#include "operator/api/field.h"
#include "operator/api/index_map.h"
#include "paceline/mem.h"

#define MAX_REASON 128
#define MAX_MESSAGE 512
#define MAX_RESTARTS 1000000000

/* Why the node or the control plane ended a pod, through no fault of the program. */
static const char *const disruption_reasons[] = {
    "Evicted",
    "Preempting",
    "Preempted",
    "NodeLost",
    "NodeShutdown",
    "Shutdown",
    "Terminated",
    "NodeAffinity",
    "NodePorts",
    "UnexpectedAdmissionError",
    "OutOfcpu",
    "OutOfmemory",
    "OutOfpods",
    "TopologyAffinityError",
    "OutOfephemeral-storage",
};
/* Containers that train, by the names that frameworks' operators gave them. */
static const char *const main_names[] = {"tensorflow", "pytorch", "trainer"};

static bool pod_one_of(const char *text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

bool pod_finished(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

bool pod_is_up(const struct pod *p) { return p->phase == POD_RUNNING && (p->ready || !p->probed); }

bool pod_is_unschedulable(const struct pod *p)
{
    return p->phase == POD_PENDING && !p->scheduled && p->reason &&
           strcmp(p->reason, "Unschedulable") == 0;
}

bool pod_is_owned(const struct pod *p) { return p->meta.owner_uid; }

static int decode_labels(struct pod *p, const cJSON *labels, struct err *err)
{
    const char *role = field_string(labels, LABEL_ROLE);
    const char *index = field_string(labels, LABEL_INDEX);
    const char *incarnation = field_string(labels, LABEL_INCARNATION);
    const char *name = p->meta.name;
    int64_t number;
    int r = 0;

    while (role && r < N_CLUSTER_ROLES && strcmp(role, cluster_role_names[r]) != 0)
        r++;
    if (!role || r == N_CLUSTER_ROLES)
        return err_set(err, ERR_INVALID, "%s: label %s names no role", name, LABEL_ROLE);
    p->role = (enum cluster_role)r;
    if (!index || !decimal_parse(&number, index, INDEX_MAP_MAX_INDEX))
        return err_set(err, ERR_INVALID, "%s: label %s is no index up to %d", name, LABEL_INDEX,
                       INDEX_MAP_MAX_INDEX);
    p->index = (int)number;
    if (!incarnation || !decimal_parse(&p->incarnation, incarnation, INDEX_MAP_MAX_VALUE))
        return err_set(err, ERR_INVALID, "%s: label %s is no incarnation", name, LABEL_INCARNATION);
    return 0;
}

static enum pod_phase decode_phase(const char *phase)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed"};
    int i = POD_PENDING;

    if (!phase)
        return POD_PENDING;
    while (i < POD_UNKNOWN && strcmp(phase, names[i]) != 0)
        i++;
    return (enum pod_phase)i;
}

/* The pod's condition of this type. */
static const cJSON *condition(const cJSON *status, const char *type)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, field_get(status, "conditions"))
    {
        const char *name = field_string(item, "type");

        if (name && strcmp(name, type) == 0)
            return item;
    }
    return NULL;
}

static bool has_status(const cJSON *item, const char *wanted)
{
    const char *value = field_string(item, "status");

    return value && strcmp(value, wanted) == 0;
}

/* The name of the main container: the first that is called like one, else the first. */
static const char *main_container(const cJSON *spec)
{
    const cJSON *containers = field_get(spec, "containers"), *item;

    cJSON_ArrayForEach(item, containers)
    {
        const char *name = field_string(item, "name");

        if (name && pod_one_of(name, main_names, ARRAY_LEN(main_names)))
            return name;
    }
    return field_string(cJSON_IsArray(containers) ? containers->child : NULL, "name");
}

static bool has_probe(const cJSON *spec)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, field_get(spec, "containers"))
    {
        if (field_get(item, "readinessProbe"))
            return true;
    }
    return false;
}

static const cJSON *terminated(const cJSON *container)
{
    return field_get(field_get(container, "state"), "terminated");
}

/* Reason and message from an object that has such fields, unless there is a reason already. */
static void pod_explain(struct pod *p, const cJSON *from, struct arena *a)
{
    if (p->reason)
        return;
    p->reason = field_text(from, "reason", MAX_REASON, a);
    if (p->reason)
        p->message = field_text(from, "message", MAX_MESSAGE, a);
}

static void decode_termination(struct pod *p, const cJSON *state, struct arena *a)
{
    const char *reason = field_string(state, "reason");

    p->has_exit_code = true;
    p->exit_code = (int)field_int(state, "exitCode", -1000000, 1000000);
    if (p->phase != POD_FAILED)
        return;
    pod_explain(p, state, a);
    /* The kubelet came back and found its container gone: the node was restarted. */
    if (reason && strcmp(reason, "ContainerStatusUnknown") == 0)
        p->disrupted = true;
}

static const cJSON *failed_container(const cJSON *statuses)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, statuses)
    {
        if (field_int(terminated(item), "exitCode", -1000000, 1000000) != 0)
            return item;
    }
    return NULL;
}

/* Exit code, time and reason of the end. */
static void decode_end(struct pod *p, const cJSON *spec, const cJSON *status, struct arena *a)
{
    const cJSON *statuses = field_get(status, "containerStatuses"), *item, *end = NULL;
    const char *main_name = main_container(spec);

    cJSON_ArrayForEach(item, statuses)
    {
        const char *name = field_string(item, "name");

        if (name && main_name && strcmp(name, main_name) == 0)
            end = terminated(item);
    }
    p->finished_ms = field_time(end, "finishedAt");
    /* Where the main container ended well, it does not explain why the pod failed. */
    if (p->phase == POD_FAILED && field_int(end, "exitCode", -1, 1) == 0) {
        item = failed_container(statuses);
        if (!item)
            item = failed_container(field_get(status, "initContainerStatuses"));
        if (item)
            end = terminated(item);
        if (!p->finished_ms)
            p->finished_ms = field_time(end, "finishedAt");
    }
    if (end)
        decode_termination(p, end, a);
}

static const char *const status_lists[] = {"initContainerStatuses", "containerStatuses"};

/* Why it waits, in the words of the first container that does, or of the scheduler. */
static void decode_waiting(struct pod *p, const cJSON *status, struct arena *a)
{
    static const char *const normal[] = {"ContainerCreating", "PodInitializing"};
    const cJSON *item, *scheduled = condition(status, "PodScheduled");

    for (size_t i = 0; i < ARRAY_LEN(status_lists); i++) {
        cJSON_ArrayForEach(item, field_get(status, status_lists[i]))
        {
            const cJSON *waiting = field_get(field_get(item, "state"), "waiting");
            const char *reason = field_string(waiting, "reason");

            if (reason && !pod_one_of(reason, normal, ARRAY_LEN(normal)))
                pod_explain(p, waiting, a);
        }
    }
    if (has_status(scheduled, "False"))
        pod_explain(p, scheduled, a);
}

static void decode_past(struct pod *p, const cJSON *status)
{
    const cJSON *item;

    for (size_t i = 0; i < ARRAY_LEN(status_lists); i++) {
        cJSON_ArrayForEach(item, field_get(status, status_lists[i]))
        {
            const cJSON *state = field_get(item, "state");

            p->restart_count += field_int(item, "restartCount", 0, MAX_RESTARTS);
            p->begun = p->begun || field_get(state, "running") || field_get(state, "terminated");
        }
    }
    if (p->restart_count > MAX_RESTARTS)
        p->restart_count = MAX_RESTARTS;
    p->begun = p->begun || p->restart_count > 0;
}

static void decode_status(struct pod *p, const cJSON *spec, const cJSON *status, struct arena *a)
{
    const char *reason = field_string(status, "reason");

    p->phase = decode_phase(field_string(status, "phase"));
    p->ready = has_status(condition(status, "Ready"), "True");
    p->disrupted =
        has_status(condition(status, "DisruptionTarget"), "True") ||
        (reason && pod_one_of(reason, disruption_reasons, ARRAY_LEN(disruption_reasons)));
    p->probed = has_probe(spec);
    decode_past(p, status);
    p->started_ms = field_time(status, "startTime");
    p->ip = field_text(status, "podIP", 64, a);
    pod_explain(p, status, a);
    decode_end(p, spec, status, a);
    if (!pod_finished(p))
        decode_waiting(p, status, a);
}

static const char *mounted_key(const cJSON *spec, struct arena *a)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, field_get(spec, "volumes"))
    {
        const char *name = field_string(item, "name");

        if (name && strcmp(name, KEY_VOLUME) == 0)
            return field_text(field_get(item, "secret"), "secretName", 253, a);
    }
    return NULL;
}

static bool pod_is_tracked(const cJSON *meta)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, field_get(meta, "finalizers"))
    {
        const char *name = cJSON_GetStringValue(item);

        if (name && strcmp(name, TRACKING_FINALIZER) == 0)
            return true;
    }
    return false;
}

/* The pod and its strings in one allocation. */
static struct pod *pack(const struct pod *from)
{
    struct pod copy = *from, *out;
    const char **const strings[] = {
        &copy.meta.namespace_,
        &copy.meta.name,
        &copy.meta.uid,
        &copy.meta.owner_uid,
        &copy.meta.owner_name,
        &copy.reason,
        &copy.message,
        &copy.ip,
        &copy.node,
        &copy.key,
    };
    size_t bytes = sizeof copy;
    char *at;

    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        bytes += *strings[i] ? strlen(*strings[i]) + 1 : 0;
    out = xmalloc(bytes);
    at = (char *)(out + 1);
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        size_t n = *strings[i] ? strlen(*strings[i]) + 1 : 0;

        if (n)
            *strings[i] = memcpy(at, *strings[i], n);
        at += n;
    }
    *out = copy;
    return out;
}

int pod_decode(struct pod **out, const cJSON *object, struct err *err)
{
    AUTO(arena_release) struct arena a = {0};
    const cJSON *meta = field_get(object, "metadata"), *spec = field_get(object, "spec");
    struct pod p = {0};

    if (meta_decode(&p.meta, object, &a, err) || decode_labels(&p, field_get(meta, "labels"), err))
        return err_wrap(err, "pod");
    p.tracked = pod_is_tracked(meta);
    p.node = field_text(spec, "nodeName", 253, &a);
    p.scheduled = p.node != NULL;
    p.key = mounted_key(spec, &a);
    decode_status(&p, spec, field_get(object, "status"), &a);
    *out = pack(&p);
    return 0;
}
