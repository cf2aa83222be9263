#include "cli/cluster/cluster_job.h"

#include <math.h>
#include <string.h>

#include "cli/base/format.h"
#include "paceline/json.h"
#include "paceline/mem.h"

const cJSON *cluster_field(const cJSON *object, const char *path)
{
    char key[64];

    while (object && *path) {
        size_t n = strcspn(path, ".");

        snprintf(key, sizeof key, "%.*s", (int)n, path);
        object = cJSON_GetObjectItemCaseSensitive(object, key);
        path += n + (path[n] == '.');
    }
    return object;
}

const char *cluster_text(const cJSON *object, const char *path)
{
    const cJSON *field = cluster_field(object, path);

    return cJSON_IsString(field) ? field->valuestring : "";
}

double cluster_number(const cJSON *object, const char *path)
{
    const cJSON *field = cluster_field(object, path);

    return cJSON_IsNumber(field) ? field->valuedouble : NAN;
}

int cluster_job_get(const struct kubectl *k, const char *name, cJSON **job, struct err *err)
{
    const char *const arguments[] = {"get", "trainingjobs.paceline.dev", name, "-o", "json", NULL};

    if (kubectl_json(k, arguments, job, err) == 0)
        return 0;
    if (strstr(err->msg, "have a resource type"))
        err_set(err, ERR_INVALID,
                "this cluster knows no TrainingJobs: Paceline's chart or "
                "manifests are not installed there");
    return -1;
}

const char *cluster_job_says(const cJSON *job, const char *type, const char *status)
{
    const cJSON *condition;

    cJSON_ArrayForEach(condition, cluster_field(job, "status.conditions"))
    {
        if (strcmp(cluster_text(condition, "type"), type) == 0)
            return strcmp(cluster_text(condition, "status"), status) == 0
                       ? cluster_text(condition, "message")
                       : NULL;
    }
    return NULL;
}

bool cluster_job_trains(const cJSON *job)
{
    return cluster_job_says(job, "Running", "True") &&
           cluster_number(job, "status.progress.step") > 0;
}

static struct sentence why_it_waits(const cJSON *job)
{
    static const struct {
        const char *type, *status;
    } reasons[] = {
        {"PodsBlocked", "True"}, {"Suspended", "True"}, {"Running", "False"}, {"Created", "True"}};
    struct sentence text = {"no operator has looked at it yet: is paceline-operator running?"};

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        const char *message = cluster_job_says(job, reasons[i].type, reasons[i].status);

        if (message) {
            snprintf(text.s, sizeof text.s, "%s", message);
            break;
        }
    }
    return text;
}

struct sentence cluster_job_progress(const cJSON *job)
{
    const cJSON *p = cluster_field(job, "status.progress");
    struct sentence text;

    if (!cluster_job_trains(job))
        return why_it_waits(job);
    snprintf(text.s, sizeof text.s, "step %s, epoch %s of %s, %s samples/s, ETA %s",
             format_count(cluster_number(p, "step")).s, format_count(cluster_number(p, "epoch")).s,
             format_count(cluster_number(p, "epochs")).s,
             format_rate(cluster_number(p, "samplesPerSecond")).s,
             format_clock(cluster_number(p, "etaSeconds")).s);
    return text;
}

/* Times of the API are text that sorts. */
static const char *time_of(const cJSON *event)
{
    const char *time = cluster_text(event, "lastTimestamp");

    return *time ? time : cluster_text(event, "eventTime");
}

struct sentence cluster_job_warning(const struct kubectl *k, const char *name)
{
    static const char *const arguments[] = {
        "get",  "events", "--field-selector", "type=Warning,involvedObject.kind=Pod", "-o",
        "json", NULL};
    AUTO(auto_free) char *prefix = xasprintf("%s-worker-", name);
    AUTO(auto_json) cJSON *list = NULL;
    const cJSON *event, *newest = NULL;
    struct sentence text = {""};
    struct err err;

    if (kubectl_json(k, arguments, &list, &err) < 0)
        return text;
    cJSON_ArrayForEach(event, cluster_field(list, "items"))
    {
        const char *pod = cluster_text(event, "involvedObject.name");

        if (strncmp(pod, prefix, strlen(prefix)) == 0 &&
            (!newest || strcmp(time_of(event), time_of(newest)) >= 0))
            newest = event;
    }
    if (newest)
        snprintf(text.s, sizeof text.s, "%s: %s: %s", cluster_text(newest, "involvedObject.name"),
                 cluster_text(newest, "reason"), cluster_text(newest, "message"));
    return text;
}
