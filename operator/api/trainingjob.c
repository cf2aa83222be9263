#include "operator/api/trainingjob.h"

#include <string.h>

#include "operator/api/field.h"
#include "operator/api/status_json.h"
#include "paceline/mem.h"
#include "paceline/net.h"

#define SHOWN_PROBLEMS 3

/* The first problems as one sentence. */
static const char *join_problems(const struct problems *problems, struct arena *a)
{
    char *text = arena_strdup(a, problems->n ? problems->items[0] : "the spec cannot be read");

    for (size_t i = 1; i < problems->n && i < SHOWN_PROBLEMS; i++)
        text = arena_printf(a, "%s; %s", text, problems->items[i]);
    if (problems->n > SHOWN_PROBLEMS)
        text = arena_printf(a, "%s; and %zu more", text, problems->n - SHOWN_PROBLEMS);
    return text;
}

/*
 * Whether the network can be built for the job's samples, as `paceline validate` asks: the one rule
 * that the API server cannot check. Some data's shapes only their readers know.
 */
static int check_network(const struct job *job, struct err *err)
{
    struct net net;

    if (!job_builtin(job) || !job_publishes_shape(job))
        return 0;
    if (job_network(job, job_published_shape(job), 0, &net, err))
        return -1;
    net_release(&net);
    return 0;
}

static const char *managed_by(const cJSON *object, struct arena *a)
{
    const cJSON *policy = field_get(field_get(object, "spec"), "runPolicy");
    const char *manager = cJSON_GetStringValue(field_get(policy, "managedBy"));

    return manager ? arena_strdup(a, manager) : NULL;
}

int tj_decode(struct tj **out, const cJSON *object, struct err *err)
{
    AUTO(problems_release) struct problems problems = {0};
    struct tj *tj = xcalloc(1, sizeof *tj);
    struct err damage, misfit;

    if (meta_decode(&tj->meta, object, &tj->arena, err)) {
        tj_free(tj);
        return err_wrap(err, "TrainingJob");
    }
    tj->managed_by = managed_by(object, &tj->arena);
    tj->job = job_from_json(object, &problems);
    if (!tj->job) {
        tj->problem = join_problems(&problems, &tj->arena);
    } else if (check_network(tj->job, &misfit)) {
        tj->problem = arena_strdup(&tj->arena, misfit.msg);
        job_free(tj->job);
        tj->job = NULL;
    }
    if (status_decode(tj, field_get(object, "status"), &damage) && !tj->problem)
        tj->problem = arena_strdup(&tj->arena, damage.msg);
    *out = tj;
    return 0;
}

bool tj_is_ours(const struct tj *tj)
{
    return !tj->managed_by || strcmp(tj->managed_by, MANAGED_BY_US) == 0;
}

void tj_free(struct tj *tj)
{
    if (!tj)
        return;
    job_free(tj->job);
    arena_release(&tj->arena);
    free(tj);
}
