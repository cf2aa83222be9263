// LINK: common
/* The fields of a job that a checkpoint records, and those that a resumed run may change. */
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

#define SWITCH(when)                                                                          \
    {                                                                                         \
        "strategy={type: StrategySwitch, switch: {when: " when "}}", "replicas.ps.replicas=1" \
    }
#define COSINE "training.learningRateSchedule={type: cosine}"

/* Fields that a checkpoint records. Nobody may change them unasked. */
static const struct {
    const char *set;
    const char *differs; /* the difference */
    bool tuned;          /* `run --resume` takes it */
} recorded[] = {
    {"dataset.normalize.mean=0.25", "spec.dataset.normalize.mean 0, but the job has 0.25", false},
    {"dataset.normalizeBy=channel", "spec.dataset.normalizeBy given, but the job has channel",
     false},
    {"dataset.limit=5", "spec.dataset.limit 0, but the job has 5", false},
    {"training.seed=2", "spec.training.seed 1, but the job has 2", false},
    {"training.batchSize=64", "spec.training.batchSize 128, but the job has 64", false},
    {"training.optimizer={name: adam}", "spec.training.optimizer.name sgd, but the job has adam",
     false},
    {"model.loss=squaredError", "spec.model.loss softmaxCrossEntropy, but the job has squaredError",
     false},
    {"model.layers=[{type: flatten}, {type: dense, units: 10}]",
     "spec.model.layers of 3 layers, but the job has 2", false},
    {"model.layers=[{type: flatten}, {type: dropout, rate: 0.5}, {type: dense, units: 11}]",
     "spec.model.layers[2].units 10, but the job has 11", false},
    {"model={name: mlp}", "spec.model.layers ", false},
    {"training.optimizer.learningRate=0.5",
     "spec.training.optimizer.learningRate 0.05, but the job has 0.5", true},
    {"training.optimizer.momentum=0.5", "spec.training.optimizer.momentum 0.9, but the job has 0.5",
     true},
    {"training.learningRateSchedule={type: cosine}",
     "spec.training.learningRateSchedule.type constant, but the job has cosine", true},
    {"model.layers=[{type: flatten}, {type: dropout, rate: 0.1}, {type: dense, units: 10}]",
     "spec.model.layers[1].rate 0.5, but the job has 0.1", true},
    {"dataset.augment.flip=true", "spec.dataset.augment.flip false, but the job has true", true},
    {"training.lanes=32", "spec.training.lanes 0, but the job has 32", true},
};

#define COSINE "training.learningRateSchedule={type: cosine}"
#define SERVERS "strategy={type: ParameterServer}"
#define LOCAL "strategy={type: LocalSGD}"
#define PARTS "strategy={type: ModelParallel}"
#define SWITCH(when)                                                                          \
    {                                                                                         \
        "strategy={type: StrategySwitch, switch: {when: " when "}}", "replicas.ps.replicas=1" \
    }

/* Fields that a checkpoint does not record. `run --resume` takes changes of all of them. */
static const struct {
    const char *both[2]; /* is set in both jobs */
    const char *set;
    const char *unasked; /* the difference for who resumes unasked; NULL: free */
} unrecorded[] = {
    {{NULL}, "model.initialWeights=/w", "spec.model.initialWeights none, but the job has /w"},
    {{NULL}, SERVERS, "spec.strategy.type AllReduce, but the job has ParameterServer"},
    {{NULL}, "strategy.algorithm=ring", "spec.strategy.algorithm tree, but the job has ring"},
    {{NULL}, "strategy.wire=bf16", "spec.strategy.wire fp32, but the job has bf16"},
    {{SERVERS}, "strategy.mode=async", "spec.strategy.mode sync, but the job has async"},
    {{LOCAL}, "strategy.averageEvery=3", "spec.strategy.averageEvery 8, but the job has 3"},
    {{LOCAL},
     "dataset.distribution.kind=iid",
     "spec.dataset.distribution.kind dealt, but the job has iid"},
    {SWITCH("epoch, epoch: 1"), "strategy.switch.epoch=2",
     "spec.strategy.switch.epoch 1, but the job has 2"},

    {{NULL}, "training.epochs=77", NULL},
    {{NULL}, "training.steps=77", NULL},
    {{COSINE}, "training.epochs=77", "spec.training.epochs 5, but the job has 77"},
    {{COSINE}, "training.steps=77", NULL},
    {SWITCH("fraction, fraction: 0.5"), "training.epochs=77",
     "spec.training.epochs 5, but the job has 77"},
    {SWITCH("plateau, fraction: 0.5"), "training.epochs=77",
     "spec.training.epochs 5, but the job has 77"},
    {SWITCH("fraction, fraction: 0.5"), "training.steps=77",
     "spec.training.steps 0, but the job has 77"},
    {SWITCH("epoch, epoch: 1"), "training.epochs=77", NULL},
    {SWITCH("epoch, epoch: 1"), "training.steps=77", NULL},

    {{NULL}, "training.earlyStopping.patience=2", NULL},
    {{NULL}, "training.threads=3", NULL},
    {{NULL}, "training.profile=[1]", NULL},
    {{NULL}, "training.optimizer.sharded=false", NULL},
    {{NULL}, "dataset.path=/elsewhere", NULL},
    {{NULL}, "dataset.staging=stream", NULL},
    {{NULL}, "replicas.worker.replicas=4", NULL},
    {{NULL}, "strategy.schedule=end", NULL},
    {{"training.accumulate=4"}, "strategy.batch=join", NULL},
    {{NULL}, "strategy.fusionBytes=8192", NULL},
    {{NULL}, "strategy.communicationThread=true", NULL},
    {{LOCAL}, "strategy.waitSeconds=9", NULL},
    {{PARTS}, "strategy.microBatches=2", NULL},
    {{PARTS}, "strategy.layerPlacement=[0, 0, 0]", NULL},
    {SWITCH("epoch, epoch: 1"), "strategy.switch.how=relaunch", NULL},
    {{NULL}, "checkpoint.everySteps=3", NULL},
    {{NULL}, "runPolicy.backoffLimit=1", NULL},
    {{NULL}, "debug.checkReplicas=1", NULL},
    {{NULL}, "metadata.labels={a: b}", NULL},
};

/* want NULL: no difference. */
static void check_differs(const struct job *there, const struct job *here, bool strict,
                          const char *set, const char *want)
{
    AUTO(buf_release) struct buf what;
    bool differs;

    buf_init(&what, 0);
    differs = job_differs(there, here, strict, &what);
    if (differs != (want != NULL) || (want && !strstr(what.data, want))) {
        CHECK_STR(set, want ? want : "no difference");
        CHECK_STR(what.data, want ? want : "");
    }
}

static void check_record(const struct job *there, const struct job *here, bool same,
                         const char *set)
{
    AUTO(buf_release) struct buf a = record_of(there);
    AUTO(buf_release) struct buf b = record_of(here);

    if ((strcmp(a.data, b.data) == 0) != same)
        CHECK_STR(b.data, set);
}

static void a_record_has_what_decides(void)
{
    AUTO(auto_job) struct job *base = parse(BASE, NULL, 0);

    for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
        const char *set = recorded[i].set, *differs = recorded[i].differs;
        AUTO(auto_job) struct job *job = parse(BASE, &set, 1);

        check_differs(base, job, false, set, recorded[i].tuned ? NULL : differs);
        check_differs(base, job, true, set, differs);
        check_record(base, job, false, set);
    }
}

static void what_is_not_recorded_may_change_when_asked(void)
{
    for (size_t i = 0; i < ARRAY_LEN(unrecorded); i++) {
        const char *const *both = unrecorded[i].both, *set = unrecorded[i].set;
        const char *sets[3] = {both[0], both[1]};
        const size_t n = both[1] ? 2 : both[0] ? 1 : 0;
        AUTO(auto_job) struct job *base = parse(BASE, sets, n);
        AUTO(auto_job) struct job *job = NULL;

        sets[n] = set;
        job = parse(BASE, sets, n + 1);

        if (!base || !job) /* parse has said why */
            continue;
        check_differs(base, job, false, set, NULL);
        check_differs(base, job, true, set, unrecorded[i].unasked);
        check_record(base, job, true, set);
    }
}

/* Whether the API server lets a user change the field of a job that runs. */
static bool is_changeable(const struct field *f)
{
    for (size_t i = 0; i < n_spec_fields; i++) {
        const char *path = spec_fields[i].path;
        const size_t n = strlen(path);

        if (spec_fields[i].fixed && strncmp(f->path, path, n) == 0 &&
            (!f->path[n] || f->path[n] == '.' || f->path[n] == '['))
            return false;
    }
    return strncmp(f->path, "spec.", 5) == 0;
}

/* The next launch of a job resumes without being asked. It must take what a user may change
 * meanwhile, such as the number of workers. */
static void a_live_job_is_never_refused(void)
{
    int n = 0;

    for (size_t i = 0; i < n_spec_fields; i++) {
        if (!is_changeable(&spec_fields[i]))
            continue;
        if (field_on_resume(&spec_fields[i]) != ON_RESUME_FREE)
            CHECK_STR(spec_fields[i].path, "free");
        n++;
    }
    CHECK(n > 20);
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

/* A job that is launched again finds the job.json of its earlier launch, which may have had other
 * numbers of processes. */
static void a_job_resumes_itself(void)
{
    glob_t files;
    int n = 0;

    CHECK_INT(glob("examples/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct problems problems = {0};
        AUTO(auto_job) struct job *job = job_load(files.gl_pathv[i], NULL, 0, &problems);
        AUTO(auto_job) struct job *back = NULL;
        AUTO(buf_release) struct buf text, what;

        CHECK(job != NULL);
        if (!job || !job_builtin(job))
            continue;
        buf_init(&text, 0);
        buf_init(&what, 0);
        job_make_absolute(job);
        job_to_text(job, &text);
        back = parse(text.data, NULL, 0);
        job->replicas[ROLE_WORKER].replicas += 3;
        job->replicas[ROLE_PS].replicas += 2;
        job->run_policy.suspend = true;
        job_differs(back, job, true, &what);
        CHECK_STR(what.data, "");
        n++;
    }
    CHECK(n >= 6);
    globfree(&files);
}

int main(void)
{
    rows_name_fields();
    a_record_has_what_decides();
    what_is_not_recorded_may_change_when_asked();
    a_live_job_is_never_refused();
    a_record_is_a_job();
    a_job_resumes_itself();
    return test_result();
}
