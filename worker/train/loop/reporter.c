#include "worker/train/loop/reporter.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "paceline/mem.h"
#include "paceline/version.h"
#include "worker/kernels/math.h"
#include "worker/train/checkpoint/checkpoint.h"
#include "worker/train/loop/profile_event.h"
#include "worker/train/loop/strategy_switch.h"
#include "worker/train/metrics.h"
#include "worker/train/telemetry/events.h"

#define PROGRESS_SECONDS 0.25
#define SENT_RANKS_MAX 32 /* a line is bounded */

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/* JSON has no NaN: what is not finite is left out. */
static void add_number(cJSON *e, const char *key, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(e, key, value);
}

/* Of a text the samples are words. */
static bool of_text(const struct trainer *t) { return t->net.rows; }

/* The loss of a training with side outputs is a sum with theirs, and no measure of words. */
static void reporter_add_training(cJSON *e, const struct trainer *t, struct totals sum)
{
    const struct evaluation training = evaluation_of(sum);

    metrics_add(e, "", job_labels(t->job), &training);
    if (t->net.n_sides)
        cJSON_DeleteItemFromObjectCaseSensitive(e, metric_defs[METRIC_PERPLEXITY].name);
}

static void add_rate(cJSON *e, const struct trainer *t, int64_t steps, double seconds)
{
    double per_step = (double)trainer_samples_per_epoch(t) / trainer_updates_per_epoch(t);
    double rate = ratio((double)steps * per_step, seconds);

    add_number(e, "samplesPerSecond", rate);
    if (of_text(t))
        add_number(e, "wordsPerSecond", rate * (double)t->job->dataset.steps);
}

static double epochs(const struct trainer *t)
{
    return ceil((double)trainer_planned_steps(t) / trainer_updates_per_epoch(t));
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

/* The parts of memoryBytes, in bytes. */
static cJSON *memory_json(const struct trainer *t)
{
    const struct model_bytes m = model_bytes(&t->model);
    const struct {
        const char *key;
        size_t bytes;
    } parts[] = {
        {"parameters", m.parameters},
        {"optimizerState", (size_t)t->optimizer.n_slots * t->optimizer.n_floats * sizeof(float)},
        {"gradients", t->gradient_floats * sizeof(float)},
        {"savedActivations", m.saved},
        {"activationGradients", m.way_back},
        {"scratch", m.scratch},
        {"batches", trainer_batch_bytes(t)},
        {"data", t->data.memory.bytes},
    };
    cJSON *o = cJSON_CreateObject();

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        cJSON_AddNumberToObject(o, parts[i].key, (double)parts[i].bytes);
    return o;
}

void reporter_start(const struct reporter *w, const struct trainer *t)
{
    cJSON *ranks = w->options->idle ? measure_idle(t, w->options->idle) : NULL;
    const struct job *job = t->job;

    if (!w->lead)
        return;
    cJSON *e = event_new("start");
    size_t params = 0;
    for (int i = 0; i < t->model.n_params; i++)
        params += param_elements(&t->model.params[i]);
    cJSON_AddStringToObject(e, "version", PACELINE_VERSION);
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
        {"memoryBytes", (double)(trainer_bytes(t) + t->data.memory.bytes)},
        {"resumedStep", (double)w->first_step},
        {"readSeconds", t->data.read_seconds},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        cJSON_AddNumberToObject(e, numbers[i].key, numbers[i].value);
    if (t->mirror >= 0)
        cJSON_AddNumberToObject(e, "mirrorRank", t->mirror);
    if (w->transfer_s > 0)
        cJSON_AddNumberToObject(e, "transferSeconds", w->transfer_s);
    cJSON_AddItemToObject(e, "memory", memory_json(t));
    add_simulated(e, job);
    char cpu[128];
    cpu_name(cpu);
    cJSON_AddStringToObject(e, "isa",
                            job->training.precision == PRECISION_BF16 ? t->kernels->isa_bf16
                                                                      : t->kernels->isa);
    cJSON_AddStringToObject(e, "precision", precision_name(job->training.precision));
    cJSON_AddStringToObject(e, "cpu", cpu);
    strategy_switch_report(t, e);
    if (ranks)
        cJSON_AddItemToObject(e, "perRank", ranks);
    event_send(e);
}

void reporter_first_step(void)
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

void reporter_progress(struct reporter *w, const struct trainer *t)
{
    double now = trainer_seconds();
    if (!w->lead || now - w->reported < PROGRESS_SECONDS)
        return;
    struct totals sum = t->at.epoch_totals;
    const struct totals *last = &w->reported_totals;
    if (sum.samples > last->samples) {
        sum.loss -= last->loss;
        sum.samples -= last->samples;
        for (size_t i = 0; i < ARRAY_LEN(sum.scores); i++)
            sum.scores[i] -= last->scores[i];
    }
    double mean = ratio(now - w->started, (double)(t->at.step - w->first_step));
    cJSON *e = event_new("progress");
    cJSON_AddNumberToObject(e, "epoch", (double)t->at.epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "steps", (double)t->steps);
    cJSON_AddNumberToObject(e, "epochs", epochs(t));
    reporter_add_training(e, t, sum);
    add_number(e, "learningRate", trainer_learning_rate(t));
    add_rate(e, t, t->at.step - w->reported_step, now - w->reported);
    cJSON_AddNumberToObject(e, "etaSeconds", mean * (double)(t->steps - t->at.step));
    event_send(e);
    w->reported = now;
    w->reported_step = t->at.step;
    w->reported_totals = t->at.epoch_totals;
}

void reporter_checkpoint(const struct trainer *t, const char *path, double seconds)
{
    cJSON *e = event_new("checkpoint");
    cJSON_AddStringToObject(e, "path", path);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "seconds", seconds);
    event_send(e);
}

void reporter_begin_epoch(struct reporter *w, struct trainer *t)
{
    w->epoch_started = w->reported = trainer_seconds();
    measure_now(t, &w->epoch_begun);
    t->pass.profile = profile_event_wanted(t) ? t->profile : NULL;
    if (t->pass.profile)
        profile_clear(t->pass.profile);
}

void reporter_epoch(const struct reporter *w, struct trainer *t, struct totals train,
                    const struct evaluation *validation, const struct evaluation *test,
                    double train_seconds)
{
    double l2 = trainer_l2(t), seconds = trainer_seconds() - w->epoch_started;
    struct measured now;
    cJSON *e, *ranks;

    measure_now(t, &now);
    ranks = measure_ranks(t, &w->epoch_begun, &now);
    if (!w->lead)
        return;
    e = event_new("epoch");
    cJSON_AddNumberToObject(e, "epoch", (double)t->at.epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    reporter_add_training(e, t, train);
    add_number(e, "l2", l2);
    metrics_add(e, "validation", job_labels(t->job), validation);
    metrics_add(e, "test", job_labels(t->job), test);
    add_number(e, "learningRate", trainer_learning_rate(t));
    add_number(e, "seconds", train_seconds);
    add_number(e, "evaluateSeconds", seconds - train_seconds);
    add_rate(e, t, t->at.step - w->epoch_first_step, train_seconds);
    cJSON_AddItemToObject(e, "perRank", ranks);
    event_send(e);
    if (t->pass.profile)
        profile_event_send(t, t->at.epoch, &w->epoch_begun, &now);
}

/* Collective: on rank 0 who has sent how many bytes to whom while it trained, row by row. */
static uint64_t *gather_sent(const struct reporter *w, const struct trainer *t)
{
    const size_t size = (size_t)comm_size(t->comm), row = size * sizeof(uint64_t);
    AUTO(auto_free) uint64_t *mine = xcalloc(size, sizeof *mine);
    uint64_t *all = xcalloc(size, row);

    for (size_t r = 0; r < size; r++)
        mine[r] = comm_sent(t->comm)[r] - w->sent_before[r];
    comm_gather(t->comm, mine, row, all, 0);
    return all;
}

static void add_sent(cJSON *e, const uint64_t *all, size_t size)
{
    double sum = 0;

    for (size_t i = 0; i < size * size; i++)
        sum += (double)all[i];
    cJSON_AddNumberToObject(e, "bytesSent", sum);
    if (size == 1 || size > SENT_RANKS_MAX)
        return;
    cJSON *rows = cJSON_AddArrayToObject(e, "bytesTo");
    for (size_t i = 0; i < size; i++) {
        cJSON *to = cJSON_CreateArray();
        for (size_t k = 0; k < size; k++)
            cJSON_AddItemToArray(to, cJSON_CreateNumber((double)all[i * size + k]));
        cJSON_AddItemToArray(rows, to);
    }
}

static void add_best(cJSON *e, const struct trainer *t)
{
    const bool by_loss = metric_of_best(job_labels(t->job)) == METRIC_LOSS;

    if (t->at.best < 0)
        return;
    add_number(e, by_loss ? "bestLoss" : "bestAccuracy", t->at.best);
    if (of_text(t))
        add_number(e, "bestPerplexity", math_exp(t->at.best));
    add_number(e, "bestStep", (double)t->at.best_step);
}

static void add_early_stop(cJSON *e, const struct trainer *t)
{
    const struct job_early_stop *rule = &t->job->training.early_stop;
    cJSON *s;

    if (t->steps == trainer_planned_steps(t))
        return;
    s = cJSON_AddObjectToObject(e, "stoppedEarly");
    cJSON_AddNumberToObject(s, "epoch", (double)t->at.epoch);
    cJSON_AddNumberToObject(s, "patience", (double)rule->patience);
    cJSON_AddStringToObject(s, "monitor", metric_defs[rule->monitor].name);
    if (t->at.early.epoch) {
        cJSON_AddNumberToObject(s, "bestEpoch", (double)t->at.early.epoch);
        add_number(s, "best", t->at.early.best);
    }
}

void reporter_done(const struct reporter *w, struct trainer *t, const struct evaluation *test)
{
    struct measured now;
    measure_now(t, &now);
    double seconds = trainer_seconds() - w->started;
    double train = seconds - (now.values[PHASE_EVALUATE] - w->begun.values[PHASE_EVALUATE]);
    cJSON *ranks = measure_ranks(t, &w->begun, &now);
    AUTO(auto_free) uint64_t *sent = gather_sent(w, t);
    /* After all that is measured: where tensors have owners, it sends them. */
    uint64_t weights = w->lead || trainer_is_apart(t) ? checkpoint_digest(t) : 0;
    if (!w->lead)
        return;
    cJSON *e = event_new("done");
    add_simulated(e, t->job);
    cJSON_AddNumberToObject(e, "step", (double)t->at.step);
    cJSON_AddNumberToObject(e, "seconds", seconds);
    cJSON_AddNumberToObject(e, "trainSeconds", train);
    add_rate(e, t, t->at.step - w->first_step, train);
    metrics_add(e, "test", job_labels(t->job), test);
    if (test->totals.samples && labels_are_classes(job_labels(t->job)))
        event_add_top5(e, test->totals.scores[1] / (double)test->totals.samples, t->model.classes);
    add_best(e, t);
    add_early_stop(e, t);
    event_add_confusion(e, t->tested.confusion, t->model.classes, trainer_class_names(t));
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, weights);
    cJSON_AddStringToObject(e, "digest", digest);
    if (w->checkpoint)
        cJSON_AddStringToObject(e, "checkpoint", w->checkpoint);
    add_sent(e, sent, (size_t)comm_size(t->comm));
    if (t->strategy->report)
        t->strategy->report(t, e);
    strategy_switch_report(t, e);
    cJSON_AddItemToObject(e, "perRank", ranks);
    event_send(e);
}
