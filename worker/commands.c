/* run, evaluate and predict; bench and calibrate are in files of their own. */
#include "worker/commands.h"

#include "paceline/buf.h"
#include "paceline/mem.h"
#include "worker/data/idx.h"
#include "worker/model/loss.h"
#include "worker/train/events.h"
#include "worker/train/metrics.h"
#include "worker/train/snapshot.h"

#define INPUT_MAX ((size_t)4 << 30)

void worker_adjust_job(struct job *job, const struct worker_options *o, const char *command)
{
    if (strcmp(command, "bench") == 0) {
        job->checkpoint.every_epochs = job->checkpoint.every_steps = 0;
        if (o->batch > 0)
            job->training.batch_size = o->batch;
        job->training.lanes = 0;
    }
    if (strcmp(command, "calibrate") == 0) {
        job->training.accumulate = 1;
        job->strategy.batch = BATCH_SPLIT;
        job->training.lanes = job_lanes(job) > 1 ? job->training.lanes : 2; /* for two ranks */
    }
    if (strcmp(command, "run") != 0) { /* nobody to share with */
        job->strategy.type = STRATEGY_ALL_REDUCE;
        job->dataset.distribution.kind = DISTRIBUTION_DEALT;
        job->replicas[ROLE_PS].replicas = 0;
    }
    if (job->checkpoint.every_seconds == 0 && !o->durable)
        job->checkpoint.every_seconds = o->checkpoint_seconds;
}

int worker_run(struct trainer *t, const struct worker_options *o, struct err *err)
{
    const struct run_options run = {
        .dir = o->out,
        .durable = o->out ? o->durable : NULL,
        .memory_seconds = o->durable ? o->checkpoint_seconds : 0,
        .resume = o->resume_if_any ? RESUME_IF_ANY
                  : o->resume      ? RESUME_NEWEST
                                   : RESUME_NO,
        .mirror = o->mirror,
        .time_transfer = o->time_transfer,
        .step_timeout = o->step_timeout,
        .stop_file = getenv("PACELINE_STOP_FILE"),
        .idle = o->idle,
    };
    return trainer_run(t, &run, err);
}

static int need_checkpoint(struct trainer *t, const struct worker_options *o, struct err *err)
{
    if (!o->checkpoint)
        return err_set(err, ERR_INVALID, "--checkpoint FILE is missing");
    return snapshot_load_model(t, o->checkpoint, err);
}

int worker_evaluate(struct trainer *t, const struct worker_options *o, struct err *err)
{
    if (need_checkpoint(t, o, err) != 0)
        return -1;
    const struct evaluation test = trainer_test(t);
    const enum label_kind kind = job_labels(t->job);
    if (comm_rank(t->comm) != 0)
        return 0;
    cJSON *e = event_new("evaluation");
    cJSON_AddNumberToObject(e, "samples", (double)test.totals.samples);
    metrics_add(e, "", kind, &test);
    if (labels_are_classes(kind))
        event_add_top5(e, test.totals.scores[1] / (double)test.totals.samples, t->model.classes);
    event_add_confusion(e, t->tested.confusion, t->model.classes);
    event_send(e);
    return 0;
}

static void send_prediction(const struct trainer *t, uint32_t index, const float *y)
{
    AUTO(auto_free) float *p = xmalloc((size_t)t->model.classes * sizeof *p);
    struct loss_result r =
        loss_sample(t->job->model.loss, t->kernels, y, 0, t->model.classes, 0, 1, NULL, p);
    cJSON *e = event_new("prediction");
    cJSON_AddNumberToObject(e, "index", index);
    cJSON_AddNumberToObject(e, "class", r.predicted);
    cJSON_AddNumberToObject(e, "probability", (double)p[r.predicted]);
    cJSON *all = cJSON_AddArrayToObject(e, "probabilities");
    for (int i = 0; i < t->model.classes; i++)
        cJSON_AddItemToArray(all, cJSON_CreateNumber((double)p[i]));
    event_send(e);
}

/* The whole file, header and pixels, in *file; *pixels points behind the header. */
static int read_images(struct trainer *t, const char *path, uint32_t *n, uint8_t **file,
                       const uint8_t **pixels, struct err *err)
{
    struct buf raw;
    struct idx_file idx;
    struct shape s = t->data.train.shape;

    if (buf_read_file(&raw, path, INPUT_MAX, err) != 0)
        return -1;
    int rc = idx_open(&idx, (const uint8_t *)raw.data, raw.len, path, 3, err);
    if (rc == 0 && ((int)idx.dims[1] != s.h || (int)idx.dims[2] != s.w || s.c != 1))
        rc = err_set(err, ERR_INVALID,
                     "%s: images of %ux%u; the model was trained on images of %dx%d", path,
                     idx.dims[1], idx.dims[2], s.h, s.w);
    if (rc == 0) {
        *file = xmalloc(idx.header + idx.payload);
        rc = idx_unpack(&idx, *file, err);
        *pixels = *file + idx.header;
        *n = idx.dims[0];
    }
    buf_release(&raw);
    return rc;
}

int worker_predict(struct trainer *t, const struct worker_options *o, struct err *err)
{
    AUTO(auto_free) uint8_t *file = NULL;
    const uint8_t *bytes = NULL;
    uint32_t n = 0;
    size_t pixels = (size_t)(t->data.train.shape.h * t->data.train.shape.w);

    if (need_checkpoint(t, o, err) != 0)
        return -1;
    if (!o->input)
        return err_set(err, ERR_INVALID, "--input IDX is missing");
    if (t->data.train.tokens || t->data.train.arrays)
        return err_set(
            err, ERR_INVALID,
            "spec.dataset.name: found %s, but only images can be given to predict; allowed: a "
            "set of images",
            t->job->dataset.name);
    if (read_images(t, o->input, &n, &file, &bytes, err) != 0)
        return -1;
    if (o->limit >= 0 && (uint32_t)o->limit < n)
        n = (uint32_t)o->limit;
    AUTO(auto_free) float *x = xaligned(pixels * sizeof *x);
    t->pass.n = 1;
    t->pass.training = false;
    for (uint32_t i = 0; i < n && comm_rank(t->comm) == 0; i++) {
        normalizer_apply(&t->normalizer, x, bytes + i * pixels);
        send_prediction(t, i, model_forward(&t->model, &t->pass, x));
    }
    return 0;
}
