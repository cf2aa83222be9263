/* The training loop: epochs, evaluation, checkpoints and events; see trainer.h. */
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "paceline/log.h"
#include "paceline/mem.h"
#include "worker/checkpoint/checkpoints.h"
#include "worker/train/checkpoint/checkpoint.h"
#include "worker/train/loop/reporter.h"
#include "worker/train/loop/strategy_switch.h"
#include "worker/train/loop/transfer.h"
#include "worker/train/metrics.h"
#include "worker/train/telemetry/events.h"
#include "worker/train/telemetry/watchdog.h"

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

/* Tells how the newest copy for the durable folder ended, if it has; -1: badly. */
static int tell_copy(const struct reporter *w, bool wait, struct err *err)
{
    struct checkpoint_copier_result r;
    cJSON *e;

    if (!w->copier || !checkpoint_copier_ended(w->copier, wait, &r))
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
static void look_after_copy(const struct reporter *w, bool wait)
{
    struct err err;

    (void)tell_copy(w, wait, &err);
}

static void train_copy(const struct trainer *t, struct reporter *w, const char *path, bool best)
{
    if (!w->copier)
        return;
    look_after_copy(w, true);
    checkpoint_copier_copy(w->copier, path, t->at.step, t->job->checkpoint.keep, best,
                           t->at.step >= t->steps);
}

/* Why a checkpoint is saved; only the job's own go to the durable folder. */
enum { SAVE_NOT, SAVE_MEMORY = 1, SAVE_OWN = 2, SAVE_BEST = 4 };

/* All ranks at the same step: rank 0 writes, and the mirror, which has the same bytes. A mirror
 * that cannot costs the copy, not the training. */
static int write_checkpoint(struct trainer *t, struct reporter *w, int why, struct err *err)
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
        checkpoint_supply(t);
        return 0;
    }
    if (checkpoint_write(t, w->options->dir, why & SAVE_BEST, &path, err) != 0) {
        if (w->lead)
            return -1;
        log_warn("no second copy of the checkpoint: %s rank=%d", err->msg, t->mirror);
        *err = (struct err){0};
        return 0;
    }
    if (w->lead)
        reporter_checkpoint(t, path, trainer_seconds() - start);
    if (why & SAVE_OWN)
        train_copy(t, w, path, why & SAVE_BEST);
    free(w->checkpoint);
    w->checkpoint = path;
    w->saved = trainer_seconds();
    if (why & SAVE_OWN)
        w->own_saved = w->saved;
    return 0;
}

static int save(struct trainer *t, struct reporter *w, int why, struct err *err)
{
    const enum phase was = phases_enter(&t->phases, PHASE_CHECKPOINT);
    const int rc = write_checkpoint(t, w, why, err);

    phases_leave(&t->phases, was);
    return rc;
}

static volatile sig_atomic_t terminated;

static pid_t mpi_launcher; /* mpirun or its daemon; 0: none started this rank */

static void take_sigterm(int signal, siginfo_t *info, void *context)
{
    (void)context;
    terminated = 1;
    if (mpi_launcher && info->si_pid == mpi_launcher)
        raise(signal); /* the default action, after the handler */
}

static void take_sighup(int signal)
{
    (void)signal;
    terminated = 1;
}

/* A service manager may send SIGTERM to the command and to all workers: rank 0 takes the first one
 * as the stop file, the others ignore it, and the second one ends a rank. From mpirun it means that
 * another rank has failed, or that the command ends the ranks: then it ends this one. SIGHUP, which
 * comes with it when a session ends, ends no rank. */
static void catch_sigterm(const struct trainer *t, const struct reporter *w)
{
    const struct sigaction action = {.sa_sigaction = take_sigterm,
                                     .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_RESTART)};

    const struct sigaction hangup = {.sa_handler = take_sighup, .sa_flags = SA_RESTART};
    struct sigaction before;

    mpi_launcher = comm_size(t->comm) > 1 ? getppid() : 0;
    if (!w->options->stop_file)
        return;
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &hangup, NULL);
}

/* Rank 0 decides before a step what all ranks do after it. */
static int wish(const struct trainer *t, struct reporter *w)
{
    const char *stop = w->options->stop_file;
    int64_t own = t->job->checkpoint.every_seconds;
    int64_t seconds = w->options->durable ? w->options->memory_seconds : own;
    int orders = 0;

    if (!w->lead)
        return 0;
    if (terminated || (stop && access(stop, F_OK) == 0))
        orders |= ORDER_STOP;
    w->own_due = own && trainer_seconds() - w->own_saved >= (double)own;
    if (w->own_due || (seconds && trainer_seconds() - w->saved >= (double)seconds))
        orders |= ORDER_SAVE;
    return orders;
}

static int due(const struct trainer *t, const struct reporter *w)
{
    int64_t steps = t->job->checkpoint.every_steps;

    if (steps && t->at.step % steps == 0)
        return SAVE_OWN;
    if (!(t->orders & ORDER_SAVE))
        return SAVE_NOT;
    return w->own_due ? SAVE_OWN : SAVE_MEMORY;
}

/* Whether this is the best evaluation so far; if so, remembers it. */
static bool is_best(struct trainer *t, const struct evaluation *judge)
{
    const enum metric metric = metric_of_best(job_labels(t->job));
    const double value = judge->totals.samples ? metric_value(metric, judge) : 0;
    const bool better = metric_defs[metric].larger ? value > t->at.best : value < t->at.best;
    const bool best = t->at.best < 0 || better;

    if (best)
        t->at.best = value;
    return best;
}

/* At the end of an epoch: what was planned after it is left out when it is due. */
static void stop_early(struct trainer *t)
{
    if (t->at.batch == 0 && t->at.step < t->steps &&
        early_stop_due(&t->at.early, &t->job->training.early_stop))
        t->steps = t->at.step;
}

/* After the last batch of an epoch, or the last step of all: evaluate, report, save. */
static int end_epoch(struct trainer *t, struct reporter *w, struct evaluation *test,
                     struct err *err)
{
    double train_seconds = trainer_seconds() - w->epoch_started;
    const struct evaluation train = evaluation_of(t->at.epoch_totals);
    struct evaluation validation = {0};

    if (check_weights(t, err) != 0)
        return -1;
    if (t->validation)
        validation = trainer_validate(t);
    *test = trainer_test(t);
    if (trainer_check_replicas(t, err) != 0)
        return -1;
    if (t->at.batch == trainer_batches_per_epoch(t)) {
        t->at.epoch++;
        t->at.batch = 0;
        t->at.epoch_totals = (struct totals){0};
    }
    const bool validated = validation.totals.samples > 0;
    bool best = t->job->checkpoint.best && is_best(t, validated ? &validation : test);
    if (best)
        t->at.best_step = t->at.step;
    reporter_epoch(w, t, train.totals, &validation, test, train_seconds);
    if (t->at.batch == 0) {
        early_stop_add(
            &t->at.early, &t->job->training.early_stop, t->at.epoch,
            metric_value(t->job->training.early_stop.monitor, validated ? &validation : &train));
        stop_early(t);
        strategy_switch_end_epoch(t, metric_value(METRIC_LOSS, &train));
    }
    int64_t every = t->job->checkpoint.every_epochs;
    int why = due(t, w) | (best ? SAVE_BEST : 0);
    if (t->at.step >= t->steps || best || (every && t->at.epoch % every == 0))
        why |= SAVE_OWN;
    if (why && save(t, w, why, err) != 0)
        return -1;
    reporter_begin_epoch(w, t);
    w->epoch_first_step = w->reported_step = t->at.step;
    w->reported_totals = (struct totals){0};
    return 0;
}

static int train_prepare(struct trainer *t, struct reporter *w, struct err *err)
{
    const struct run_options *o = w->options;
    const char *initial = t->job->model.initial_weights;

    if (o->dir)
        checkpoints_prepare(o->dir);
    if (w->lead && o->durable && checkpoint_copier_open(&w->copier, o->durable, t->job, err) != 0)
        return -1;
    if (o->dir && o->resume != RESUME_NO &&
        checkpoint_resume(t, o->dir, o->durable, o->resume == RESUME_IF_ANY, err) != 0)
        return -1;
    if (t->at.step == 0 && initial && checkpoint_load_weights(t, initial, err) != 0)
        return -1;
    if (w->copier && checkpoint_copier_begin(w->copier, t->job, err) != 0)
        return -1;
    strategy_switch_resume(t);
    t->mirror = o->mirror ? comm_rank_elsewhere(t->comm) : -1;
    batcher_seek(t->batches, t->at.epoch, t->at.batch);
    w->first_step = w->reported_step = w->epoch_first_step = t->at.step;
    w->saved_step = -1;
    w->reported_totals = t->at.epoch_totals;
    w->transfer_s = o->time_transfer ? transfer_estimate(t) : 0;
    reporter_start(w, t);
    stop_early(t);
    strategy_switch_begin(t);
    reporter_begin_epoch(w, t);
    w->begun = w->epoch_begun;
    w->sent_before = xcalloc((size_t)comm_size(t->comm), sizeof(uint64_t));
    memcpy(w->sent_before, comm_sent(t->comm), (size_t)comm_size(t->comm) * sizeof(uint64_t));
    w->started = w->saved = w->own_saved = w->epoch_started;
    return 0;
}

static int train_stop(struct trainer *t, struct reporter *w, struct err *err)
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

static int64_t train_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The next step after which something has to be done by all ranks together. */
static int64_t next_meeting(const struct trainer *t)
{
    const int64_t every[] = {t->job->checkpoint.every_steps, t->job->debug.check_replicas};
    const int64_t each = t->job->training.accumulate;
    int64_t left = trainer_batches_per_epoch(t) - t->at.batch;
    int64_t step = train_least(t->steps, t->at.step + (left + each - 1) / each);

    for (size_t i = 0; i < ARRAY_LEN(every); i++)
        if (every[i])
            step = train_least(step, (t->at.step / every[i] + 1) * every[i]);
    return step;
}

static int train_steps(struct trainer *t, struct reporter *w, struct evaluation *test,
                       struct err *err)
{
    const uint32_t batches = trainer_batches_per_epoch(t);
    const int64_t check = t->job->debug.check_replicas;

    catch_sigterm(t, w);
    while (t->at.step < t->steps && !(t->orders & ORDER_STOP)) {
        if (w->lead && t->together && t->at.step == w->first_step)
            reporter_first_step();
        t->wish = wish(t, w);
        if (t->together)
            t->until = next_meeting(t);
        if (trainer_step(t, err) != 0)
            return -1;
        watchdog_feed(t->at.step + 1);
        reporter_progress(w, t);
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

static int train_run(struct trainer *t, struct reporter *w, struct err *err)
{
    struct evaluation test = {0};

    if (train_prepare(t, w, err) != 0)
        return -1;
    if (t->at.step >= t->steps) { /* resumed after its end: only the result is missing */
        test = trainer_test(t);
        if (save(t, w, SAVE_OWN, err) != 0) /* another rank may have had it */
            return -1;
    }
    if (train_steps(t, w, &test, err) != 0)
        return -1;
    if (t->at.step < t->steps)
        return train_stop(t, w, err);
    if (tell_copy(w, true, err) != 0)
        return err_wrap(err, "the model is not where it should be");
    reporter_done(w, t, &test);
    return 0;
}

int trainer_run(struct trainer *t, const struct run_options *o, struct err *err)
{
    struct reporter w = {.options = o, .lead = comm_rank(t->comm) == 0};

    watchdog_start(o->step_timeout, comm_rank(t->comm));
    watchdog_feed(t->at.step + 1);
    int rc = train_run(t, &w, err);
    checkpoint_copier_free(w.copier);
    free(w.checkpoint);
    free(w.sent_before);
    return rc;
}
