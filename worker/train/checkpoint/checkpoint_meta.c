#include "worker/train/checkpoint/checkpoint_meta.h"

#include <inttypes.h>
#include <stdarg.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/checkpoint/config.h"

static void checkpoint_meta_add(struct checkpoint_meta *m, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void checkpoint_meta_add(struct checkpoint_meta *m, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->text[m->n], sizeof m->text[0], fmt, args);
    va_end(args);
    m->items[m->n] = (struct st_meta){key, m->text[m->n]};
    m->n++;
}

/* StrategySwitch: which of the two it is in, and by what losses it may leave the first. */
static void describe_switch(const struct position *at, struct checkpoint_meta *m)
{
    char losses[CHECKPOINT_META_TEXT] = "";

    for (int i = 0, len = 0; i < at->losses.n; i++)
        len +=
            snprintf(losses + len, sizeof losses - (size_t)len, "%.17g ", at->losses.of_epoch[i]);
    checkpoint_meta_add(m, "switchStep", "%" PRId64, at->switched.step);
    checkpoint_meta_add(m, "switchEpoch", "%" PRId64, at->switched.epoch);
    checkpoint_meta_add(m, "switchReason", "%d", (int)at->switched.reason);
    checkpoint_meta_add(m, "losses", "%s", losses);
}

/* For classes, only the hits are recorded. */
static void describe_scores(const struct trainer *t, struct checkpoint_meta *m)
{
    const double *scores = t->at.epoch_totals.scores;

    if (labels_are_classes(job_labels(t->job))) {
        checkpoint_meta_add(m, "epochCorrect", "%" PRId64, (int64_t)scores[0]);
        return;
    }
    checkpoint_meta_add(m, "epochScores", "%.17g %.17g", scores[0], scores[1]);
}

static void describe_early_stop(const struct trainer *t, struct checkpoint_meta *m)
{
    const struct early_stop *e = &t->at.early;

    checkpoint_meta_add(m, "earlyMonitor", "%s",
                        metric_defs[t->job->training.early_stop.monitor].name);
    checkpoint_meta_add(m, "earlyBest", "%.17g", e->best);
    checkpoint_meta_add(m, "earlyEpoch", "%" PRId64, e->epoch);
    checkpoint_meta_add(m, "earlyWait", "%" PRId64, e->wait);
}

static const char *checkpoint_meta_best_of(const struct trainer *t)
{
    return metric_of_best(job_labels(t->job)) == METRIC_LOSS ? "bestLoss" : "bestAccuracy";
}

void checkpoint_meta_init(struct checkpoint_meta *m, const struct trainer *t)
{
    const struct position *at = &t->at;
    m->n = 0;
    checkpoint_meta_add(m, "format", "pt");
    checkpoint_meta_add(m, "job", "%.60s", t->job->name);
    checkpoint_meta_add(m, "step", "%" PRId64, at->step);
    checkpoint_meta_add(m, "epoch", "%" PRId64, at->epoch);
    checkpoint_meta_add(m, "batch", "%" PRIu32, at->batch);
    checkpoint_meta_add(m, "batchSize", "%" PRId64, t->job->training.batch_size);
    checkpoint_meta_add(m, "trainSamples", "%" PRIu32, t->data.n_train);
    checkpoint_meta_add(m, "batchesPerEpoch", "%" PRIu32, trainer_batches_per_epoch(t));
    checkpoint_meta_add(m, "batchesPerUpdate", "%" PRId64, t->job->training.accumulate);
    checkpoint_meta_add(m, "seed", "%" PRIu64, t->job->training.seed);
    checkpoint_meta_add(m, "lanes", "%d", t->lanes.total);
    checkpoint_meta_add(m, "optimizer", "%d", (int)t->job->training.optimizer.type);
    checkpoint_meta_add(m, "sumOrder", "%d", SUM_ORDER_VERSION);
    checkpoint_meta_add(m, "precision", "%s", precision_name(t->job->training.precision));
    checkpoint_meta_add(m, "epochLoss", "%.17g", at->epoch_totals.loss);
    checkpoint_meta_add(m, "epochSamples", "%" PRId64, at->epoch_totals.samples);
    describe_scores(t, m);
    checkpoint_meta_add(m, checkpoint_meta_best_of(t), "%.17g", at->best);
    checkpoint_meta_add(m, "bestStep", "%" PRId64, at->best_step);
    if (t->strategies[1])
        describe_switch(at, m);
    if (t->job->training.early_stop.patience > 0)
        describe_early_stop(t, m);
}

static int64_t meta_int(const struct st_file *f, const char *key)
{
    const char *v = st_meta_get(f, key);
    return v ? strtoll(v, NULL, 10) : -1;
}

static double meta_double(const struct st_file *f, const char *key)
{
    const char *v = st_meta_get(f, key);
    return v ? strtod(v, NULL) : 0;
}

/* Checkpoints of early releases do not record their job. job.json of their folder does: it is
 * replaced only after the engine has taken the new job. */
static struct job *job_beside(const char *path)
{
    AUTO(problems_release) struct problems problems = {0};
    const char *slash = strrchr(path, '/');
    AUTO(auto_free)
    char *file = xasprintf("%.*sjob.json", slash ? (int)(slash + 1 - path) : 0, path);

    return job_load(file, NULL, 0, &problems);
}

/* Compares the job that wrote the checkpoint with the job of t. */
static int check_job(const struct trainer *t, const struct st_file *f, const char *path,
                     struct err *err)
{
    AUTO(config_release) struct config config;
    AUTO(auto_job) struct job *beside = NULL;
    AUTO(buf_release) struct buf what;

    buf_init(&what, 0);
    if (config_read(&config, f, path, err) != 0)
        return -1;
    if (!config.job)
        beside = job_beside(path);
    if (!config.job && !beside) {
        log_warn("%s: it does not record its job, and no readable job.json is beside it; whether "
                 "spec.dataset and spec.training are the same could not be checked",
                 path);
        return 0;
    }
    if (!job_differs(config.job ? config.job : beside, t->job, false, &what))
        return 0;
    return err_set(err, ERR_INVALID, "%s: written with %s; a run is resumed with the same value",
                   path, what.data);
}

/* What must not change between a checkpoint and the job that continues it. */
int checkpoint_meta_check(const struct trainer *t, const struct st_file *f, const char *path,
                          struct err *err)
{
    struct checkpoint_meta mine;
    static const char *const fixed[] = {"batchSize",        "trainSamples", "batchesPerEpoch",
                                        "batchesPerUpdate", "seed",         "lanes",
                                        "optimizer",        "sumOrder",     "precision"};

    if (check_job(t, f, path, err) != 0)
        return -1;
    checkpoint_meta_init(&mine, t);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        const char *there = st_meta_get(f, fixed[i]), *here = NULL;
        if (!there && strcmp(fixed[i], "precision") == 0)
            there = precision_name(PRECISION_FP32); /* of before there was another */
        for (size_t k = 0; k < mine.n; k++)
            here = strcmp(mine.items[k].key, fixed[i]) == 0 ? mine.items[k].value : here;
        if (!there || !here || strcmp(there, here) != 0)
            return err_set(err, ERR_INVALID,
                           "%s: written with %s %s, but the job has %s; a run is resumed with the "
                           "same value",
                           path, fixed[i], there ? there : "unknown", here ? here : "none");
    }
    return 0;
}

static void read_switch(const struct st_file *f, struct position *at)
{
    const char *losses = st_meta_get(f, "losses");
    const int64_t reason = meta_int(f, "switchReason"), step = meta_int(f, "switchStep");
    char *end;

    if (!losses) /* no StrategySwitch wrote it */
        return;
    if (step > 0 && reason > SWITCH_NOT && reason <= SWITCH_FALLBACK)
        at->switched = (struct switched){.step = step,
                                         .epoch = meta_int(f, "switchEpoch"),
                                         .reason = (enum switch_reason)reason};
    for (double loss = strtod(losses, &end); end != losses; loss = strtod(losses = end, &end))
        losses_add(&at->losses, LOSSES_MAX, loss);
}

static void checkpoint_meta_read_scores(const struct st_file *f, struct totals *sum)
{
    const char *scores = st_meta_get(f, "epochScores");
    char *end;

    if (!scores) /* labels are classes */
        return;
    sum->scores[0] = strtod(scores, &end);
    sum->scores[1] = strtod(end, NULL);
}

/* Of another job's rule, or of none: it begins anew. */
static void read_early_stop(const struct trainer *t, const struct st_file *f, struct position *at)
{
    const struct job_early_stop *rule = &t->job->training.early_stop;
    const char *monitor = st_meta_get(f, "earlyMonitor");
    const int64_t epoch = meta_int(f, "earlyEpoch"), wait = meta_int(f, "earlyWait");

    if (rule->patience == 0 || !monitor || strcmp(monitor, metric_defs[rule->monitor].name) != 0)
        return;
    if (epoch >= 0 && wait >= 0 && wait <= at->epoch - epoch)
        at->early = (struct early_stop){meta_double(f, "earlyBest"), epoch, wait};
}

int checkpoint_meta_read(const struct trainer *t, const struct st_file *f, const char *path,
                         struct position *at, struct err *err)
{
    const int64_t batches = trainer_batches_per_epoch(t), batch = meta_int(f, "batch");
    const int64_t step = meta_int(f, "step"), epoch = meta_int(f, "epoch");
    const int64_t each = t->job->training.accumulate, updates = trainer_updates_per_epoch(t);
    const int64_t whole = step - batch / each; /* steps of the epochs that are done */

    if (batch < 0 || batch >= batches || batch % each || whole < 0 || whole % updates ||
        whole / updates != epoch)
        return err_set(err, ERR_DAMAGED,
                       "%s: step %" PRId64 " cannot be batch %" PRId64 " of epoch %" PRId64
                       " with %" PRId64 " batches in an epoch",
                       path, step, batch, epoch, batches);
    *at = (struct position){
        .step = step,
        .epoch = epoch,
        .batch = (uint32_t)batch,
        .epoch_totals = {.loss = meta_double(f, "epochLoss"),
                         .samples = meta_int(f, "epochSamples"),
                         .scores = {(double)meta_int(f, "epochCorrect")}},
        .best = st_meta_get(f, checkpoint_meta_best_of(t))
                    ? meta_double(f, checkpoint_meta_best_of(t))
                    : -1,
        .best_step = meta_int(f, "bestStep"),
    };
    checkpoint_meta_read_scores(f, &at->epoch_totals);
    read_switch(f, at);
    read_early_stop(t, f, at);
    return 0;
}
