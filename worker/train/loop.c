/* The training loop: epochs, evaluation, checkpoints and events; see trainer.h. */
#include <inttypes.h>
#include <math.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/train/durable.h"
#include "worker/train/events.h"
#include "worker/train/handover.h"
#include "worker/train/measure.h"
#include "worker/train/snapshot.h"
#include "worker/train/transfer.h"
#include "worker/train/watchdog.h"

#define PROGRESS_SECONDS 0.25

/* What the loop measures and says; only rank 0 sends. */
struct watch {
    const struct run_options *options;
    bool lead;               /* rank 0 */
    struct durable *durable; /* rank 0, where there is one; else NULL */
    bool own_due;            /* by the job's own clock; the other one is for memory alone */
    double own_saved;
    int64_t saved_step;
    double started, epoch_started, reported, saved;
    int64_t first_step, reported_step, epoch_first_step;
    double transfer_s; /* of all parameters to another rank; 0: it was not measured */
    struct totals reported_totals;
    struct measured begun, epoch_begun;
    char *checkpoint; /* the newest, or NULL */
};

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/* JSON has no NaN: what is not finite is left out. */
static void add_number(cJSON *e, const char *key, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(e, key, value);
}

static void add_totals(cJSON *e, const char *loss, const char *accuracy, struct totals t)
{
    if (!t.samples)
        return;
    add_number(e, loss, t.loss / (double)t.samples);
    add_number(e, accuracy, (double)t.correct / (double)t.samples);
}

static double samples_per_second(const struct trainer *t, int64_t steps, double seconds)
{
    double per_step = (double)t->data.n_train / trainer_updates_per_epoch(t);
    return ratio((double)steps * per_step, seconds);
}

static double epochs(const struct trainer *t)
{
    return ceil((double)t->steps / trainer_updates_per_epoch(t));
}

/* "model name" of /proc/cpuinfo; "" where there is none (arm64). */
static void cpu_name(char name[128])
{
    AUTO(auto_fclose) FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    name[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "model name : %127[^\n]", name) == 1)
            return;
    }
}

/* Times that spec.debug has made longer are to be known as such. */
static void add_simulated(cJSON *e, const struct job *job)
{
    if (job_simulated(job))
        cJSON_AddTrueToObject(e, "simulated");
}

static void send_start(const struct trainer *t, const struct watch *w)
{
    cJSON *e = event_new("start");
    const struct job *job = t->job;
    size_t params = 0;
    for (int i = 0; i < t->model.n_params; i++)
        params += param_elements(&t->model.params[i]);
    cJSON_AddStringToObject(e, "job", job->name);
    cJSON_AddStringToObject(e, "model", job->model.name ? job->model.name : "inline");
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"params", (double)params},
        {"ranks", comm_size(t->comm)},
        {"workers", t->workers},
        {"servers", comm_size(t->comm) - t->workers},
        {"threads", threads_count(t->threads)},
        {"lanes", t->lanes.total},
        {"batchSize", (double)job->training.batch_size},
        {"batchesPerEpoch", trainer_batches_per_epoch(t)},
        {"batchesPerUpdate", (double)job->training.accumulate},
        {"epochs", epochs(t)},
        {"steps", (double)t->steps},
        {"trainSamples", t->data.n_train},
        {"validationSamples", t->data.n_validation},
        {"testSamples", t->data.test.n},
        {"memoryBytes", (double)(trainer_bytes(t) + t->data.mapping_bytes)},
        {"resumedStep", (double)w->first_step},
        {"readSeconds", t->data.read_seconds},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        cJSON_AddNumberToObject(e, numbers[i].key, numbers[i].value);
    if (t->mirror >= 0)
        cJSON_AddNumberToObject(e, "mirrorRank", t->mirror);
    if (w->transfer_s > 0)
        cJSON_AddNumberToObject(e, "transferSeconds", w->transfer_s);
    add_simulated(e, job);
    char cpu[128];
    cpu_name(cpu);
    cJSON_AddStringToObject(e, "isa", t->kernels->isa);
    cJSON_AddStringToObject(e, "cpu", cpu);
    handover_report(t, e);
    event_send(e);
}

static void send_first_step(void)
{
    const char *start = getenv("PACELINE_START_NS");
    struct timespec now;
    if (!start)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    cJSON *e = event_new("firstStep");
    cJSON_AddNumberToObject(e, "seconds",
                            (double)now.tv_sec + 1e-9 * (double)now.tv_nsec -
                                1e-9 * (double)strtoll(start, NULL, 10));
    event_send(e);
}

static void send_progress(const struct trainer *t, struct watch *w)
{
    double now = trainer_seconds();
    if (!w->lead || now - w->reported < PROGRESS_SECONDS)
        return;
    struct totals sum = t->at.epoch_totals;
    const struct totals *last = &w->reported_totals;
    if (sum.samples > last->samples) {
        sum.loss -= last->loss;
        sum.correct -= last->correct;
        sum.samples -= last->samples;
    }
    double speed = samples_per_second(t, t->at.step - w->reported_step, now - w->reported);
    double mean = ratio(now - w->started, (double)(t->at.step - w->first_step));
    cJSON *e = event_new("progress");
    cJSON_AddNumberToObject(e, "epoch", (double)t->at.epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "steps", (double)t->steps);
    cJSON_AddNumberToObject(e, "epochs", epochs(t));
    add_totals(e, "loss", "accuracy", sum);
    cJSON_AddNumberToObject(e, "samplesPerSecond", speed);
    cJSON_AddNumberToObject(e, "etaSeconds", mean * (double)(t->steps - t->at.step));
    event_send(e);
    w->reported = now;
    w->reported_step = t->at.step;
    w->reported_totals = t->at.epoch_totals;
}

/* The loss of a step is known before its update: weights that the update broke are not kept. */
static int check_weights(struct trainer *t, struct err *err)
{
    trainer_gather(t);
    bool finite = t->kernels->reduce->all_finite(t->model.weights, t->model.n_floats);
    if (comm_max(t->comm, !finite) == 0)
        return 0;
    return err_set(err, ERR_DIVERGED,
                   "step %lld: the update made a weight NaN or infinite; try a smaller "
                   "spec.training.optimizer.learningRate or set spec.training.clipNorm",
                   (long long)t->at.step);
}

static void send_checkpoint(const struct trainer *t, const char *path, double seconds)
{
    cJSON *e = event_new("checkpoint");
    cJSON_AddStringToObject(e, "path", path);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "seconds", seconds);
    event_send(e);
}

/* Tells how the newest copy for the durable folder ended, if it has; -1: badly. */
static int tell_copy(const struct watch *w, bool wait, struct err *err)
{
    struct durable_result r;
    cJSON *e;

    if (!w->durable || !durable_ended(w->durable, wait, &r))
        return 0;
    e = event_new("durable");
    cJSON_AddNumberToObject(e, "step", (double)r.step);
    cJSON_AddNumberToObject(e, "seconds", r.seconds);
    if (r.failed) {
        log_warn("the checkpoint of step %lld is in memory only: %s", (long long)r.step, r.err.msg);
        cJSON_AddStringToObject(e, "message", r.err.msg);
        *err = r.err;
    }
    event_send(e);
    return r.failed ? -1 : 0;
}

/* Storage that fails while it trains costs its copies, not the training. */
static void look_after_copy(const struct watch *w, bool wait)
{
    struct err err;

    (void)tell_copy(w, wait, &err);
}

static void copy(const struct trainer *t, struct watch *w, const char *path, bool best)
{
    if (!w->durable)
        return;
    look_after_copy(w, true);
    durable_copy(w->durable, path, t->at.step, t->job->checkpoint.keep, best,
                 t->at.step >= t->steps);
}

/* Why a checkpoint is saved; only the job's own go to the durable folder. */
enum { SAVE_NOT, SAVE_MEMORY = 1, SAVE_OWN = 2, SAVE_BEST = 4 };

/* All ranks at the same step: rank 0 writes, and the mirror, which has the same bytes. A mirror
 * that cannot costs the copy, not the training. */
static int write_checkpoint(struct trainer *t, struct watch *w, int why, struct err *err)
{
    double start = trainer_seconds();
    char *path = NULL;

    w->saved = start;
    w->own_due = false;
    w->saved_step = t->at.step;
    if (!w->options->dir)
        return 0;
    if (check_weights(t, err) != 0)
        return -1;
    if (!w->lead && comm_rank(t->comm) != t->mirror) {
        snapshot_supply(t);
        return 0;
    }
    if (snapshot_write(t, w->options->dir, why & SAVE_BEST, &path, err) != 0) {
        if (w->lead)
            return -1;
        log_warn("no second copy of the checkpoint: %s rank=%d", err->msg, t->mirror);
        *err = (struct err){0};
        return 0;
    }
    if (w->lead)
        send_checkpoint(t, path, trainer_seconds() - start);
    if (why & SAVE_OWN)
        copy(t, w, path, why & SAVE_BEST);
    free(w->checkpoint);
    w->checkpoint = path;
    w->saved = trainer_seconds();
    if (why & SAVE_OWN)
        w->own_saved = w->saved;
    return 0;
}

static int save(struct trainer *t, struct watch *w, int why, struct err *err)
{
    const enum phase was = phases_enter(&t->phases, PHASE_CHECKPOINT);
    const int rc = write_checkpoint(t, w, why, err);

    phases_leave(&t->phases, was);
    return rc;
}

/* What rank 0 sees before a step, for all ranks to do behind it. */
static int wish(const struct trainer *t, struct watch *w)
{
    const char *stop = w->options->stop_file;
    int64_t own = t->job->checkpoint.every_seconds;
    int64_t seconds = w->options->durable ? w->options->memory_seconds : own;
    int orders = 0;

    if (!w->lead)
        return 0;
    if (stop && access(stop, F_OK) == 0)
        orders |= ORDER_STOP;
    w->own_due = own && trainer_seconds() - w->own_saved >= (double)own;
    if (w->own_due || (seconds && trainer_seconds() - w->saved >= (double)seconds))
        orders |= ORDER_SAVE;
    return orders;
}

static int due(const struct trainer *t, const struct watch *w)
{
    int64_t steps = t->job->checkpoint.every_steps;

    if (steps && t->at.step % steps == 0)
        return SAVE_OWN;
    if (!(t->orders & ORDER_SAVE))
        return SAVE_NOT;
    return w->own_due ? SAVE_OWN : SAVE_MEMORY;
}

static void begin_epoch(struct trainer *t, struct watch *w)
{
    w->epoch_started = w->reported = trainer_seconds();
    measure_now(t, &w->epoch_begun);
}

static void send_epoch(struct trainer *t, const struct watch *w, struct totals train,
                       struct totals validation, struct totals test, double train_seconds)
{
    double l2 = trainer_l2(t), seconds = trainer_seconds() - w->epoch_started;
    struct measured now;
    cJSON *e = w->lead ? event_new("epoch") : NULL;

    measure_now(t, &now);
    measure_add(t, &w->epoch_begun, &now, e);
    if (!e)
        return;
    cJSON_AddNumberToObject(e, "epoch", (double)t->at.epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    add_totals(e, "loss", "accuracy", train);
    add_number(e, "l2", l2);
    add_totals(e, "validationLoss", "validationAccuracy", validation);
    add_totals(e, "testLoss", "testAccuracy", test);
    add_number(e, "learningRate", trainer_learning_rate(t));
    add_number(e, "seconds", train_seconds);
    add_number(e, "evaluateSeconds", seconds - train_seconds);
    add_number(e, "samplesPerSecond",
               samples_per_second(t, t->at.step - w->epoch_first_step, train_seconds));
    event_send(e);
}

/* Behind the last batch of an epoch, or the last step of all: evaluate, report, save. */
static int end_epoch(struct trainer *t, struct watch *w, struct totals *test, struct err *err)
{
    double train_seconds = trainer_seconds() - w->epoch_started;
    struct totals train = t->at.epoch_totals, validation = {0};
    bool last = t->at.step >= t->steps;

    if (check_weights(t, err) != 0)
        return -1;
    if (t->validation)
        validation = trainer_evaluate(t, t->validation, NULL);
    *test = trainer_evaluate(t, t->test, t->confusion);
    if (trainer_check_replicas(t, err) != 0)
        return -1;
    if (t->at.batch == trainer_batches_per_epoch(t)) {
        t->at.epoch++;
        t->at.batch = 0;
        t->at.epoch_totals = (struct totals){0};
    }
    struct totals judge = validation.samples ? validation : *test;
    double accuracy = ratio((double)judge.correct, (double)judge.samples);
    bool best = t->job->checkpoint.best && accuracy > t->at.best_accuracy;
    if (best) {
        t->at.best_accuracy = accuracy;
        t->at.best_step = t->at.step;
    }
    send_epoch(t, w, train, validation, *test, train_seconds);
    if (t->at.batch == 0)
        handover_end_epoch(t, train.loss / (double)train.samples);
    int64_t every = t->job->checkpoint.every_epochs;
    int why = due(t, w) | (best ? SAVE_BEST : 0);
    if (last || best || (every && t->at.epoch % every == 0))
        why |= SAVE_OWN;
    if (why && save(t, w, why, err) != 0)
        return -1;
    begin_epoch(t, w);
    w->epoch_first_step = w->reported_step = t->at.step;
    w->reported_totals = (struct totals){0};
    return 0;
}

static int64_t peak_memory(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_maxrss * 1024;
}

static void send_done(struct trainer *t, const struct watch *w, struct totals test)
{
    int64_t mine[2] = {peak_memory(), (int64_t)trainer_bytes_sent(t)};
    AUTO(auto_free) int64_t *all = xcalloc((size_t)comm_size(t->comm) * 2, sizeof *all);
    comm_gather(t->comm, mine, sizeof mine, all, 0);
    uint64_t weights = w->lead || trainer_is_apart(t) ? snapshot_digest(t) : 0;
    struct measured now;
    measure_now(t, &now);
    double seconds = trainer_seconds() - w->started;
    double train = seconds - (now.values[PHASE_EVALUATE] - w->begun.values[PHASE_EVALUATE]);
    cJSON *e = w->lead ? event_new("done") : NULL;
    measure_add(t, &w->begun, &now, e);
    if (!e)
        return;
    add_simulated(e, t->job);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "seconds", seconds);
    cJSON_AddNumberToObject(e, "trainSeconds", train);
    add_number(e, "samplesPerSecond", samples_per_second(t, t->at.step - w->first_step, train));
    add_totals(e, "testLoss", "testAccuracy", test);
    if (test.samples)
        add_number(e, "top5", (double)test.top5 / (double)test.samples);
    if (t->at.best_accuracy >= 0) {
        add_number(e, "bestAccuracy", t->at.best_accuracy);
        add_number(e, "bestStep", (double)t->at.best_step);
    }
    event_add_confusion(e, t->confusion, t->model.classes);
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, weights);
    cJSON_AddStringToObject(e, "digest", digest);
    if (w->checkpoint)
        cJSON_AddStringToObject(e, "checkpoint", w->checkpoint);
    cJSON *memory = cJSON_AddArrayToObject(e, "vmHwmBytes");
    double sent = 0;
    for (int r = 0; r < comm_size(t->comm); r++) {
        cJSON_AddItemToArray(memory, cJSON_CreateNumber((double)all[2 * r]));
        sent += (double)all[2 * r + 1];
    }
    cJSON_AddNumberToObject(e, "bytesSent", sent);
    if (t->strategy->report)
        t->strategy->report(t, e);
    handover_report(t, e);
    event_send(e);
}

static int prepare(struct trainer *t, struct watch *w, struct err *err)
{
    const struct run_options *o = w->options;
    const char *initial = t->job->model.initial_weights;

    if (o->dir)
        snapshot_prepare(o->dir);
    if (w->lead && o->durable && durable_open(&w->durable, o->durable, t->job, err) != 0)
        return -1;
    if (o->dir && o->resume != RESUME_NO &&
        snapshot_resume(t, o->dir, o->durable, o->resume == RESUME_IF_ANY, err) != 0)
        return -1;
    if (t->at.step == 0 && initial && snapshot_load_weights(t, initial, err) != 0)
        return -1;
    handover_resume(t);
    t->mirror = o->mirror ? comm_rank_elsewhere(t->comm) : -1;
    batcher_seek(t->batches, t->at.epoch, t->at.batch);
    w->first_step = w->reported_step = w->epoch_first_step = t->at.step;
    w->saved_step = -1;
    w->reported_totals = t->at.epoch_totals;
    w->transfer_s = o->time_transfer ? transfer_estimate(t) : 0;
    if (w->lead)
        send_start(t, w);
    handover_begin(t);
    begin_epoch(t, w);
    w->begun = w->epoch_begun;
    w->started = w->saved = w->own_saved = w->epoch_started;
    return 0;
}

static int stop(struct trainer *t, struct watch *w, struct err *err)
{
    if (w->saved_step != t->at.step || w->options->durable)
        if (save(t, w, SAVE_OWN, err) != 0)
            return -1;
    if (!w->lead)
        return 0;
    look_after_copy(w, true); /* memory has it */
    cJSON *e = event_new("stopped");
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    if (w->checkpoint)
        cJSON_AddStringToObject(e, "checkpoint", w->checkpoint);
    event_send(e);
    return 0;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The next step behind which something has to be done by all ranks together. */
static int64_t next_meeting(const struct trainer *t)
{
    const int64_t every[] = {t->job->checkpoint.every_steps, t->job->debug.check_replicas};
    const int64_t each = t->job->training.accumulate;
    int64_t left = trainer_batches_per_epoch(t) - t->at.batch;
    int64_t step = least(t->steps, t->at.step + (left + each - 1) / each);

    for (size_t i = 0; i < ARRAY_LEN(every); i++)
        if (every[i])
            step = least(step, (t->at.step / every[i] + 1) * every[i]);
    return step;
}

static int loop(struct trainer *t, struct watch *w, struct totals *test, struct err *err)
{
    const uint32_t batches = trainer_batches_per_epoch(t);
    const int64_t check = t->job->debug.check_replicas;

    while (t->at.step < t->steps && !(t->orders & ORDER_STOP)) {
        if (w->lead && t->together && t->at.step == w->first_step)
            send_first_step();
        t->wish = wish(t, w);
        if (t->together)
            t->until = next_meeting(t);
        if (trainer_step(t, err) != 0)
            return -1;
        watchdog_feed(t->at.step + 1);
        send_progress(t, w);
        look_after_copy(w, false);
        if (!t->together)
            continue;
        if (check && t->at.step % check == 0 && trainer_check_replicas(t, err) != 0)
            return -1;
        if (t->at.batch == batches || t->at.step == t->steps) {
            if (end_epoch(t, w, test, err) != 0)
                return -1;
        } else if (due(t, w) && save(t, w, due(t, w), err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int train(struct trainer *t, struct watch *w, struct err *err)
{
    struct totals test = {0};

    if (prepare(t, w, err) != 0)
        return -1;
    if (t->at.step >= t->steps) { /* resumed behind its end: only the result is missing */
        test = trainer_evaluate(t, t->test, t->confusion);
        if (save(t, w, SAVE_OWN, err) != 0) /* another rank may have had it */
            return -1;
    }
    if (loop(t, w, &test, err) != 0)
        return -1;
    if (t->at.step < t->steps)
        return stop(t, w, err);
    if (tell_copy(w, true, err) != 0)
        return err_wrap(err, "the model is not where it should be");
    send_done(t, w, test);
    return 0;
}

int trainer_run(struct trainer *t, const struct run_options *o, struct err *err)
{
    struct watch w = {.options = o, .lead = comm_rank(t->comm) == 0};

    watchdog_start(o->step_timeout, comm_rank(t->comm));
    watchdog_feed(t->at.step + 1);
    int rc = train(t, &w, err);
    durable_free(w.durable);
    free(w.checkpoint);
    return rc;
}
