// LINK: common
/* What a checkpoint records of a job, and what a resumed run may change. */
#include <glob.h>
#include <string.h>

#include "common/spec_table.h"
#include "tests/unit/spec_text.h"

#define BASE                                                                                     \
    HEAD "  model: {layers: [{type: flatten}, {type: dropout, rate: 0.5}, {type: dense, units: " \
         "10}]}\n  dataset: {name: idx, path: /data}\n"

/* A row that names no field would leave its field at ON_RESUME_SAME, and nobody would know. */
static void rows_name_fields(void)
{
    for (size_t i = 0; i < n_spec_resume_rows; i++)
        if (!spec_field_find(spec_resume_rows[i].path))
            CHECK_STR(spec_resume_rows[i].path, "a field");
    CHECK_INT(field_on_resume(spec_field_find("spec.training.seed")), ON_RESUME_SAME);
    CHECK_INT(field_on_resume(spec_field_find("spec.training.optimizer.beta1")), ON_RESUME_TUNED);
    CHECK_INT(field_on_resume(spec_field_find("spec.training.optimizer.name")), ON_RESUME_SAME);
    CHECK_INT(field_on_resume(spec_field_find("spec.dataset.cachePath")), ON_RESUME_FREE);
    CHECK_INT(field_on_resume(spec_field_find("spec.dataset.normalizeBy")), ON_RESUME_SAME);
    CHECK_INT(field_on_resume(spec_field_find("spec.replicas.worker.replicas")), ON_RESUME_FREE);
}

static struct buf record_of(const struct job *job)
{
    struct buf text;

    buf_init(&text, 0);
    job_record(job, &text);
    return text;
}

static const struct {
    const char *set;
    const char *differs; /* NULL: a run may be resumed so */
    bool recorded;       /* whether it changes what a checkpoint records */
} cases[] = {
    {"dataset.normalize.mean=0.25", "spec.dataset.normalize.mean 0, but the job has 0.25", true},
    {"dataset.normalizeBy=channel", "spec.dataset.normalizeBy given, but the job has channel",
     true},
    {"dataset.limit=5", "spec.dataset.limit 0, but the job has 5", true},
    {"training.seed=2", "spec.training.seed 1, but the job has 2", true},
    {"training.batchSize=64", "spec.training.batchSize 128, but the job has 64", true},
    {"training.optimizer={name: adam}", "spec.training.optimizer.name sgd, but the job has adam",
     true},
    {"model.loss=squaredError", "spec.model.loss softmaxCrossEntropy, but the job has squaredError",
     true},
    {"model.layers=[{type: flatten}, {type: dense, units: 10}]",
     "spec.model.layers of 3 layers, but the job has 2", true},
    {"model.layers=[{type: flatten}, {type: dropout, rate: 0.5}, {type: dense, units: 11}]",
     "spec.model.layers[2].units 10, but the job has 11", true},
    {"model={name: mlp}", "spec.model.layers ", true},
    {"training.optimizer.learningRate=0.5", NULL, true},
    {"training.optimizer.momentum=0.5", NULL, true},
    {"training.learningRateSchedule={type: cosine}", NULL, true},
    {"model.layers=[{type: flatten}, {type: dropout, rate: 0.1}, {type: dense, units: 10}]", NULL,
     true},
    {"dataset.augment.flip=true", NULL, true},
    {"training.lanes=32", NULL, true},
    {"training.epochs=77", NULL, false},
    {"training.threads=3", NULL, false},
    {"training.optimizer.sharded=false", NULL, false},
    {"dataset.path=/elsewhere", NULL, false},
    {"dataset.staging=stream", NULL, false},
    {"replicas.worker.replicas=4", NULL, false},
    {"strategy={type: ParameterServer}", NULL, false},
    {"checkpoint.everySteps=3", NULL, false},
    {"runPolicy.backoffLimit=1", NULL, false},
    {"debug.checkReplicas=1", NULL, false},
    {"metadata.labels={a: b}", NULL, false},
};

static void changes_are_refused_by_name_and_value(void)
{
    AUTO(auto_job) struct job *base = parse(BASE, NULL, 0);
    AUTO(buf_release) struct buf want = record_of(base);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_job) struct job *job = parse(BASE, &cases[i].set, 1);
        AUTO(buf_release) struct buf record = record_of(job);
        AUTO(buf_release) struct buf what;

        buf_init(&what, 0);
        if (job_differs(base, job, false, &what) != (cases[i].differs != NULL))
            CHECK_STR(cases[i].set, what.data);
        if (job_differs(base, job, true, &what) != cases[i].recorded)
            CHECK_STR("strict", cases[i].set);
        if (cases[i].differs && !strstr(what.data, cases[i].differs))
            CHECK_STR(what.data, cases[i].differs);
        if ((strcmp(record.data, want.data) != 0) != cases[i].recorded)
            CHECK_STR(record.data, cases[i].set);
    }
}

/* Also of a job that has everything somewhere else than in the record. */
static void a_record_is_a_job(void)
{
    static const char *const place[] = {"spec.dataset.path=/"};
    glob_t files;
    int n = 0;

    CHECK_INT(glob("examples/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct problems problems = {0};
        AUTO(auto_job) struct job *job = job_load(files.gl_pathv[i], NULL, 0, &problems);

        CHECK(job != NULL);
        if (!job || !job_builtin(job))
            continue;
        AUTO(buf_release) struct buf first = record_of(job);
        AUTO(auto_job) struct job *back = parse(first.data, place, 1);
        AUTO(buf_release) struct buf second = record_of(back);
        AUTO(buf_release) struct buf what;

        buf_init(&what, 0);
        CHECK_STR(second.data, first.data);
        CHECK(!job_differs(back, job, false, &what) && !job_differs(job, back, false, &what));
        CHECK_STR(what.data, "");
        n++;
    }
    CHECK(n >= 6);
    globfree(&files);
}

int main(void)
{
    rows_name_fields();
    changes_are_refused_by_name_and_value();
    a_record_is_a_job();
    return test_result();
}
