/* The fields of a job that its checkpoints record, and those that may change when a run is resumed.
 */
#include <inttypes.h>

#include "common/spec_table.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define SHOWN_MAX 60 /* bytes of a value in a message */

/* Each row is for a field and all fields below it that have no row of their own. A field without a
 * row is ON_RESUME_SAME, so a new field is safe until somebody decides otherwise. */
const struct resume_row spec_resume_rows[] = {
    {"metadata", ON_RESUME_FREE},
    {"metadata.name", ON_RESUME_TUNED},
    {"status", ON_RESUME_FREE},

    {"spec.model.initialWeights", ON_RESUME_ASKED},
    {"spec.model.layers[].rate", ON_RESUME_TUNED},
    {"spec.model.layers[].frozen", ON_RESUME_TUNED},
    {"spec.model.layers[].momentum", ON_RESUME_TUNED},
    {"spec.model.layers[].lossWeight", ON_RESUME_TUNED},

    {"spec.dataset.path", ON_RESUME_FREE},
    {"spec.dataset.volume", ON_RESUME_FREE},
    {"spec.dataset.cachePath", ON_RESUME_FREE},
    {"spec.dataset.maxDamaged", ON_RESUME_FREE},
    {"spec.dataset.staging", ON_RESUME_FREE},
    {"spec.dataset.cache", ON_RESUME_FREE},
    {"spec.dataset.rowConvert", ON_RESUME_FREE},
    {"spec.dataset.prefetch", ON_RESUME_FREE},
    {"spec.dataset.distribution", ON_RESUME_ASKED},
    {"spec.dataset.augment", ON_RESUME_TUNED},

    {"spec.training.epochs", ON_RESUME_FREE},
    {"spec.training.steps", ON_RESUME_FREE},
    {"spec.training.earlyStopping", ON_RESUME_FREE},
    {"spec.training.threads", ON_RESUME_FREE},
    {"spec.training.pinThreads", ON_RESUME_FREE},
    {"spec.training.profile", ON_RESUME_FREE},
    {"spec.training.lanes", ON_RESUME_TUNED}, /* record.h compares the lanes that there are */
    {"spec.training.l2", ON_RESUME_TUNED},
    {"spec.training.clipNorm", ON_RESUME_TUNED},
    {"spec.training.learningRateSchedule", ON_RESUME_TUNED},
    {"spec.training.optimizer", ON_RESUME_TUNED},
    {"spec.training.optimizer.name", ON_RESUME_SAME},
    {"spec.training.optimizer.centered", ON_RESUME_SAME},
    {"spec.training.optimizer.rateInVelocity", ON_RESUME_SAME},
    {"spec.training.optimizer.sharded", ON_RESUME_FREE},

    {"spec.checkpoint", ON_RESUME_FREE},
    {"spec.output", ON_RESUME_FREE},
    /* Free: the weights do not depend on it, or only by the order of a sum (with ring and mpi). */
    {"spec.strategy", ON_RESUME_ASKED},
    {"spec.strategy.batch", ON_RESUME_FREE},
    {"spec.strategy.waitSeconds", ON_RESUME_FREE},
    {"spec.strategy.microBatches", ON_RESUME_FREE},
    {"spec.strategy.layerPlacement", ON_RESUME_FREE},
    {"spec.strategy.switch.how", ON_RESUME_FREE},
    {"spec.strategy.schedule", ON_RESUME_FREE},
    {"spec.strategy.fusionBytes", ON_RESUME_FREE},
    {"spec.strategy.communicationThread", ON_RESUME_FREE},
    {"spec.mpi", ON_RESUME_FREE},
    {"spec.replicas", ON_RESUME_FREE},
    {"spec.runPolicy", ON_RESUME_FREE},
    {"spec.clusterSpec", ON_RESUME_FREE},
    {"spec.networkPolicy", ON_RESUME_FREE},
    {"spec.debug", ON_RESUME_FREE},
};
const size_t n_spec_resume_rows = ARRAY_LEN(spec_resume_rows);

/* Whether path is `above` itself, or a field below it. */
static bool covers(const char *above, const char *path)
{
    const size_t n = strlen(above);

    return strncmp(path, above, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
}

enum on_resume field_on_resume(const struct field *f)
{
    enum on_resume found = ON_RESUME_SAME;
    size_t longest = 0;

    for (size_t i = 0; i < n_spec_resume_rows; i++) {
        const struct resume_row *row = &spec_resume_rows[i];
        const size_t n = strlen(row->path);

        if (n > longest && covers(row->path, f->path)) {
            longest = n;
            found = row->on_resume;
        }
    }
    return found;
}

static bool is_same(const struct field *f) { return field_on_resume(f) == ON_RESUME_SAME; }

static bool is_recorded(const struct field *f)
{
    return is_same(f) || field_on_resume(f) == ON_RESUME_TUNED;
}

static bool is_not_free(const struct field *f) { return field_on_resume(f) != ON_RESUME_FREE; }

void job_record(const struct job *job, struct buf *out)
{
    AUTO(auto_json) cJSON *root = job_tree(job, is_recorded);

    json_print(root, 0, out);
}

/* Prints a value for a message: words without quotes. */
static void spec_resume_show(const cJSON *value, struct buf *out)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    if (!value)
        buf_puts(&text, "none");
    else if (cJSON_IsString(value))
        buf_puts(&text, value->valuestring);
    else
        json_print(value, 0, &text);
    buf_printf(out, "%.*s%s", SHOWN_MAX, text.data, text.len > SHOWN_MAX ? "..." : "");
}

static bool differ_at(const char *path, const cJSON *there, const cJSON *here, struct buf *what)
{
    buf_printf(what, "%s ", path);
    if (there && here && cJSON_IsArray(there) && cJSON_IsArray(here) &&
        cJSON_IsObject(there->child)) {
        buf_printf(what, "of %d layers, but the job has %d", cJSON_GetArraySize(there),
                   cJSON_GetArraySize(here));
        return true;
    }
    spec_resume_show(there, what);
    buf_puts(what, ", but the job has ");
    spec_resume_show(here, what);
    return true;
}

/* Finds the first difference below path: in the order of `there`, then fields that only `here` has.
 */
static bool find_difference(const char *path, const cJSON *there, const cJSON *here,
                            struct buf *what)
{
    const cJSON *a;
    int i = 0;

    if (!there || !here || there->type != here->type ||
        (cJSON_IsArray(there) && cJSON_GetArraySize(there) != cJSON_GetArraySize(here)))
        return (there || here) && differ_at(path, there, here, what);
    if (!cJSON_IsObject(there) && !(cJSON_IsArray(there) && cJSON_IsObject(there->child)))
        return !cJSON_Compare(there, here, true) && differ_at(path, there, here, what);
    cJSON_ArrayForEach(a, there)
    {
        const bool object = cJSON_IsObject(there);
        AUTO(auto_free)
        char *below = object ? xasprintf("%s%s%s", path, *path ? "." : "", a->string)
                             : xasprintf("%s[%d]", path, i);
        const cJSON *b = object ? cJSON_GetObjectItemCaseSensitive(here, a->string)
                                : cJSON_GetArrayItem(here, i);

        if (find_difference(below, a, b, what))
            return true;
        i++;
    }
    cJSON_ArrayForEach(a, here)
    {
        AUTO(auto_free) char *below = xasprintf("%s%s%s", path, *path ? "." : "", a->string);

        if (cJSON_IsObject(here) && !cJSON_GetObjectItemCaseSensitive(there, a->string))
            return differ_at(below, NULL, a, what);
    }
    return false;
}

/* The length of the training, where a step depends on it: in a cosine schedule, and before a switch
 * of strategy after a share of the training. */
static bool length_differs(const struct job *there, const struct job *here, struct buf *what)
{
    const bool share =
        here->strategy.type == STRATEGY_SWITCH && here->strategy.change.when != WHEN_EPOCH;
    const struct {
        const char *field;
        bool matters;
        int64_t there, here;
    } lengths[] = {
        {"steps", share, there->training.steps, here->training.steps},
        {"epochs",
         here->training.schedule.type == SCHED_COSINE || (share && here->training.steps == 0),
         there->training.epochs, here->training.epochs},
    };

    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        if (!lengths[i].matters || lengths[i].there == lengths[i].here)
            continue;
        buf_printf(what, "spec.training.%s %" PRId64 ", but the job has %" PRId64, lengths[i].field,
                   lengths[i].there, lengths[i].here);
        return true;
    }
    return false;
}

bool job_differs(const struct job *there, const struct job *here, bool strict, struct buf *what)
{
    AUTO(auto_json) cJSON *a = job_tree(there, strict ? is_not_free : is_same);
    AUTO(auto_json) cJSON *b = job_tree(here, strict ? is_not_free : is_same);

    return find_difference("", a, b, what) || (strict && length_differs(there, here, what));
}
