#include "operator/api/trainingjob.h"

#include <string.h>

#include "operator/api/field.h"
#include "operator/api/kept.h"
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

/* The sieve has cut the spec: to `false`, or to a list of what it keeps of a large one. */
static bool spec_is_cut(const cJSON *object)
{
    const cJSON *spec = field_get(object, "spec");

    return cJSON_IsFalse(spec) || cJSON_IsArray(spec);
}

static const char *managed_by(const cJSON *object, struct arena *a)
{
    const cJSON *spec = field_get(object, "spec");
    const cJSON *policy = field_get(cJSON_IsArray(spec) ? spec->child : spec, "runPolicy");
    const char *manager = cJSON_GetStringValue(field_get(policy, "managedBy"));

    return manager ? arena_strdup(a, manager) : NULL;
}

/* Derived from a spec once, and shared by the versions of the object that have this spec. */
struct derived {
    size_t n_users;
    uint32_t notes; /* hash of labels and annotations, which a generation does not count */
    struct job *job;
    bool stripped;
    char *problem;
};

/* The sentence about a part that the sieve has left `false` in the place of; NULL: there is none.
 */
static char *too_large(const cJSON *object)
{
    const cJSON *meta = field_get(object, "metadata");

    if (spec_is_cut(object))
        return xasprintf("spec: found more than the %zu KiB of JSON or the %zu values that a spec "
                         "may have with its templates: put scripts and data into a ConfigMap",
                         KEPT_SPEC_BYTES >> 10, KEPT_SPEC_VALUES);
    if (cJSON_IsFalse(field_get(meta, "labels")))
        return xasprintf(
            "metadata.labels: found more than %zu labels or %zu KiB; pods get them all", KEPT_NOTES,
            KEPT_LABELS_BYTES >> 10);
    if (cJSON_IsFalse(field_get(meta, "annotations")))
        return xasprintf("metadata.annotations: found more than %zu annotations or %zu KiB; pods "
                         "get all but kubectl's copy of the applied file, which `kubectl apply "
                         "--server-side` does not make",
                         KEPT_NOTES, KEPT_ANNOTATIONS_BYTES >> 10);
    return NULL;
}

static struct derived *derived_new(const cJSON *object, uint32_t notes)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(arena_release) struct arena arena = {0};
    struct derived *d = xcalloc(1, sizeof *d);
    struct err misfit;

    *d = (struct derived){.n_users = 1, .notes = notes, .problem = too_large(object)};
    if (d->problem)
        return d;
    d->job = job_from_json(object, &problems);
    if (!d->job) {
        d->problem = xstrdup(join_problems(&problems, &arena));
    } else if (check_network(d->job, &misfit)) {
        d->problem = xstrdup(misfit.msg);
        job_free(STEAL(d->job));
    }
    return d;
}

static void derived_release(struct derived *d)
{
    if (!d || --d->n_users)
        return;
    job_free(d->job);
    free(d->problem);
    free(d);
}

/* FNV-1a, its 0 byte included. */
static uint32_t notes_hash_text(uint32_t hash, const char *text)
{
    const unsigned char *p = (const unsigned char *)(text ? text : "");

    do {
        hash = (hash ^ *p) * 16777619u;
    } while (*p++);
    return hash;
}

static uint32_t notes_hash(const cJSON *object)
{
    static const char *const maps[] = {"labels", "annotations"};
    uint32_t hash = 2166136261u;
    const cJSON *item;

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        hash = notes_hash_text(hash, maps[i]);
        cJSON_ArrayForEach(item, field_get(field_get(object, "metadata"), maps[i]))
        {
            hash = notes_hash_text(hash, item->string);
            hash = notes_hash_text(hash, cJSON_GetStringValue(item));
        }
    }
    return hash;
}

/* Whether two versions of an object have the same spec: the API server counts a generation with
 * each change of it. */
static bool same_spec(const struct tj *known, const struct meta *meta, uint32_t notes)
{
    return known && known->derived && meta->generation > 0 &&
           known->meta.generation == meta->generation && strcmp(known->meta.uid, meta->uid) == 0 &&
           known->derived->notes == notes;
}

bool tj_spec_is_new(const cJSON *object, const struct tj *known)
{
    AUTO(arena_release) struct arena arena = {0};
    struct meta meta;
    struct err err;

    return meta_decode(&meta, object, &arena, &err) == 0 &&
           !same_spec(known, &meta, notes_hash(object));
}

static int trainingjob_decode(struct tj **out, const cJSON *object, const struct tj *known,
                              bool strip, struct err *err)
{
    struct tj *tj = xcalloc(1, sizeof *tj);
    uint32_t notes = notes_hash(object);
    struct err damage;

    if (meta_decode(&tj->meta, object, &tj->arena, err)) {
        tj_free(tj);
        return err_wrap(err, "TrainingJob");
    }
    tj->managed_by = managed_by(object, &tj->arena);
    if (same_spec(known, &tj->meta, notes)) {
        tj->derived = known->derived;
        tj->derived->n_users++;
    } else {
        tj->derived = derived_new(object, notes);
        if (strip && tj->derived->job)
            tj->derived->stripped = job_strip(tj->derived->job, TJ_KEPT_BYTES);
    }
    tj->job = tj->derived->job;
    tj->stripped = tj->derived->stripped;
    tj->problem = tj->derived->problem;
    if (cJSON_IsFalse(field_get(object, "status")) &&
        !tj->problem) /* likewise; not of our making */
        tj->problem = "status: larger than any that the operator writes";
    if (status_decode(tj, field_get(object, "status"), &damage) && !tj->problem)
        tj->problem = arena_strdup(&tj->arena, damage.msg);
    *out = tj;
    return 0;
}

int tj_decode_again(struct tj **out, const cJSON *object, const struct tj *known, struct err *err)
{
    return trainingjob_decode(out, object, known, true, err);
}

int tj_decode(struct tj **out, const cJSON *object, struct err *err)
{
    return trainingjob_decode(out, object, NULL, false, err);
}

int tj_decode_unread(struct tj **out, const cJSON *object, struct err *err)
{
    struct tj *tj = xcalloc(1, sizeof *tj);

    if (meta_decode(&tj->meta, object, &tj->arena, err)) {
        tj_free(tj);
        return err_wrap(err, "TrainingJob");
    }
    tj->unread = true;
    tj->problem = "the object cannot be read";
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
    derived_release(tj->derived);
    arena_release(&tj->arena);
    free(tj);
}
