/* run and evaluate; the other commands are in files of their own. */
#include "worker/commands.h"

#include "paceline/buf.h"
#include "paceline/mem.h"
#include "worker/model/loss.h"
#include "worker/train/checkpoint/checkpoint.h"
#include "worker/train/metrics.h"
#include "worker/train/telemetry/events.h"

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
    return checkpoint_load_model(t, o->checkpoint, err);
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
    event_add_confusion(e, t->tested.confusion, t->model.classes, trainer_class_names(t));
    event_send(e);
    return 0;
}
