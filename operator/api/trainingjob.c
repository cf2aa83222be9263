#include "operator/api/trainingjob.h"

#include "operator/api/field.h"
#include "operator/api/status_json.h"
#include "paceline/mem.h"

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

int tj_decode(struct tj **out, const cJSON *object, struct err *err)
{
    AUTO(problems_release) struct problems problems = {0};
    struct tj *tj = xcalloc(1, sizeof *tj);
    struct err damage;

    if (meta_decode(&tj->meta, object, &tj->arena, err)) {
        tj_free(tj);
        return err_wrap(err, "TrainingJob");
    }
    tj->job = job_from_json(object, &problems);
    if (!tj->job)
        tj->problem = join_problems(&problems, &tj->arena);
    if (status_decode(tj, field_get(object, "status"), &damage) && !tj->problem)
        tj->problem = arena_strdup(&tj->arena, damage.msg);
    *out = tj;
    return 0;
}

void tj_free(struct tj *tj)
{
    if (!tj)
        return;
    job_free(tj->job);
    arena_release(&tj->arena);
    free(tj);
}
