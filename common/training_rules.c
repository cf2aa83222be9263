/* Rules on the model, its data and how it is trained. */
#include "common/spec_rules.h"

#include "paceline/losses.h"
#include "paceline/mem.h"

static bool broken_no_network(const struct job *job, struct buf *found)
{
    buf_puts(found, "neither name nor layers");
    return !job->model.name && !job->model.n_layers;
}

static bool broken_two_networks(const struct job *job, struct buf *found)
{
    buf_puts(found, "both name and layers");
    return job->model.name && job->model.n_layers;
}

static bool broken_own_path(const struct job *job, struct buf *found)
{
    const char *name = job->dataset.name;

    buf_puts(found, "no path");
    return (strcmp(name, "idx") == 0 || strcmp(name, "images") == 0 ||
            strcmp(name, "arrays") == 0 || strcmp(name, "text") == 0) &&
           !job->dataset.path;
}

static bool broken_text(const struct job *job, struct buf *found)
{
    buf_puts(found, "what is done to images, with name text");
    return strcmp(job->dataset.name, "text") == 0 &&
           (job->dataset.normalize_by != NORMALIZE_GIVEN || job->dataset.flip ||
            job->dataset.pad > 0 || job->dataset.distribution.kind != DISTRIBUTION_DEALT);
}

static bool broken_arrays(const struct job *job, struct buf *found)
{
    buf_puts(found, "what is done to pixels, with name arrays");
    return strcmp(job->dataset.name, "arrays") == 0 && (job->dataset.flip || job->dataset.pad > 0);
}

/* Whose samples can be read one by one. */
static bool is_streamable(const struct job *job)
{
    static const char *const names[] = {"images",  "idx",      "mnist",
                                        "cifar10", "cifar100", "fashion-mnist"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(job->dataset.name, names[i]) == 0)
            return true;
    return false;
}

/* Else samples would have other numbers than with materialize, or there would be nothing to stream.
 */
static bool broken_stream(const struct job *job, struct buf *found)
{
    buf_puts(found, "stream with something that needs every sample before the first step");
    return job->dataset.staging == STAGING_STREAM &&
           (!is_streamable(job) || job->dataset.max_damaged > 0 || job->dataset.cache_path ||
            job->dataset.normalize_by != NORMALIZE_GIVEN);
}

/* Floats that are made once are those of each batch. */
static bool broken_rows_change(const struct job *job, struct buf *found)
{
    buf_puts(found, "false with samples that are made anew in each batch");
    return !job->dataset.row_convert &&
           (strcmp(job->dataset.name, "text") == 0 || strcmp(job->dataset.name, "arrays") == 0 ||
            job->dataset.normalize_by != NORMALIZE_GIVEN || job->dataset.flip ||
            job->dataset.pad > 0);
}

static bool broken_rows_place(const struct job *job, struct buf *found)
{
    buf_puts(found, "false, and no place for floats");
    return !job->dataset.row_convert &&
           (job->dataset.cache_path ||
            (job->dataset.staging == STAGING_STREAM && !job->dataset.cache));
}

static bool broken_draft(const struct job *job, struct buf *found)
{
    buf_puts(found, "it without");
    return job->dataset.draft && job->dataset.image_size == 0;
}

static bool broken_volume_path(const struct job *job, struct buf *found)
{
    const char *path = job->dataset.path ? job->dataset.path : "";

    buf_puts(found, "no absolute path");
    return job->dataset.volume && (path[0] != '/' || !path[1]);
}

static bool broken_sub_path(const struct job *job, struct buf *found)
{
    buf_puts(found, "one without a volume");
    return job->output.sub_path && !job->output.volume;
}

static bool broken_lanes_power(const struct job *job, struct buf *found)
{
    buf_printf(found, "%lld", (long long)job->training.lanes);
    return (job->training.lanes & (job->training.lanes - 1)) != 0;
}

static bool broken_drop_all(const struct job *job, struct buf *found)
{
    double left = (double)job->dataset.limit * (1 - job->dataset.validation_split);

    buf_puts(found, "a limit below a batch");
    return job->training.last_batch == LAST_DROP && job->dataset.limit > 0 &&
           left < (double)job->training.batch_size;
}

static bool broken_nesterov(const struct job *job, struct buf *found)
{
    const struct job_optimizer *o = &job->training.optimizer;

    buf_puts(found, "nesterov without them");
    return o->nesterov && (o->momentum <= 0 || o->dampening > 0);
}

static bool broken_values(const struct job *job, struct buf *found)
{
    const struct job_schedule *s = &job->training.schedule;

    buf_printf(found, "%zu values for %zu boundaries", s->n_values, s->n_boundaries);
    return s->type == SCHED_PIECEWISE && s->n_values != s->n_boundaries + 1;
}

static bool broken_boundaries(const struct job *job, struct buf *found)
{
    const struct job_schedule *s = &job->training.schedule;

    for (size_t i = 1; i < s->n_boundaries; i++) {
        if (s->boundaries[i] > s->boundaries[i - 1])
            continue;
        buf_printf(found, "%g after %g", s->boundaries[i], s->boundaries[i - 1]);
        return true;
    }
    return false;
}

/* A text may have a file of its own to validate with; this rule does not look at files. */
static bool broken_best(const struct job *job, struct buf *found)
{
    buf_puts(found, "true without a validation set");
    return job->checkpoint.best && !(job->dataset.validation_split > 0) &&
           strcmp(job->dataset.name, "text") != 0;
}

static bool broken_warmup(const struct job *job, struct buf *found)
{
    buf_puts(found, "a longer warm-up");
    return job->training.steps == 0 &&
           job->training.schedule.warmup_epochs > (double)job->training.epochs;
}

static bool broken_patience(const struct job *job, struct buf *found)
{
    const struct job_early_stop *s = &job->training.early_stop;

    buf_puts(found, "0");
    return s->patience == 0 && (s->monitor != METRIC_LOSS || s->min_delta > 0);
}

static bool broken_perplexity(const struct job *job, struct buf *found)
{
    buf_puts(found, "perplexity, but dataset.name is not text");
    return job->training.early_stop.monitor == METRIC_PERPLEXITY &&
           strcmp(job->dataset.name, "text") != 0;
}

static bool broken_loss_data(const struct job *job, struct buf *found)
{
    buf_puts(found, "a loss that takes numbers as labels, but the labels of this data are classes");
    return loss_defs[job->model.loss].labels != LABELS_CLASS &&
           strcmp(job->dataset.name, "arrays") != 0;
}

static bool broken_label_shares(const struct job *job, struct buf *found)
{
    buf_puts(found, "shares by label, but the labels are not classes");
    return loss_defs[job->model.loss].labels != LABELS_CLASS &&
           (job->dataset.distribution.kind == DISTRIBUTION_BY_LABEL ||
            job->dataset.distribution.kind == DISTRIBUTION_DIRICHLET);
}

static bool broken_monitor_loss(const struct job *job, struct buf *found)
{
    const enum metric monitor = job->training.early_stop.monitor;

    buf_puts(found, "a metric that does not fit the loss");
    return monitor != METRIC_PERPLEXITY && !metric_fits(monitor, job_labels(job));
}

static bool broken_monitor_set(const struct job *job, struct buf *found)
{
    buf_puts(found, "no validation samples, which the metric needs");
    return metric_defs[job->training.early_stop.monitor].of_set &&
           job_labels(job) != LABELS_WORDS && job->dataset.validation_split <= 0;
}

/* What the rules read, in CEL (spec_table.h). */
#define CEL_OF_CLASSES "{spec.model.loss} in ['softmaxCrossEntropy', 'squaredError']"
#define CEL_OF_NUMBERS "{spec.model.loss} in ['mse', 'mae', 'huber']"
#define CEL_MONITOR "{" CEL_EARLY "monitor}"
#define CEL_EARLY "spec.training.earlyStopping."

#define CEL_DAMPENING "{spec.training.optimizer.dampening|0.0}"
#define CEL_SCHEDULE "spec.training.learningRateSchedule."
#define CEL_VALUES CEL_SCHEDULE "values"
#define CEL_BOUNDARIES CEL_SCHEDULE "boundaries"

static const struct rule rules[] = {
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .broken = broken_no_network,
     .cel = "has(self.model.name) || has(self.model.layers)",
     .cel_found = "neither name nor layers"},
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .broken = broken_two_networks,
     .cel = "!(has(self.model.name) && has(self.model.layers))",
     .cel_found = "both name and layers"},
    {{"spec.dataset.path", "spec.dataset.name"},
     .allowed = "needed with dataset.name idx, images, arrays and text: the folder of the files",
     .job = RULE_BUILTIN,
     .broken = broken_own_path,
     .cel = "!({spec.dataset.name} in ['idx', 'images', 'arrays', 'text']) || "
            "{?spec.dataset.path}",
     .cel_found = "no path"},
    {{"spec.dataset.normalizeBy", "spec.dataset.augment.flip", "spec.dataset.augment.pad",
      "spec.dataset.distribution.kind", "spec.dataset.name"},
     .allowed = "allowed there: none of it",
     .job = RULE_BUILTIN,
     .broken = broken_text,
     .cel = "{spec.dataset.name} != 'text' || ({spec.dataset.normalizeBy} == 'given' && "
            "!{spec.dataset.augment.flip} && {spec.dataset.augment.pad} == 0 && "
            "{spec.dataset.distribution.kind} == 'dealt')",
     .cel_found = "what is done to images, with name text"},
    {{"spec.dataset.augment.flip", "spec.dataset.augment.pad", "spec.dataset.name"},
     .allowed = "allowed there: none of it",
     .job = RULE_BUILTIN,
     .broken = broken_arrays,
     .cel = "{spec.dataset.name} != 'arrays' || (!{spec.dataset.augment.flip} && "
            "{spec.dataset.augment.pad} == 0)",
     .cel_found = "what is done to pixels, with name arrays"},
    {{"spec.dataset.staging", "spec.dataset.name", "spec.dataset.maxDamaged",
      "spec.dataset.cachePath", "spec.dataset.normalizeBy"},
     .allowed =
         "allowed with stream: name images, idx, mnist, fashion-mnist, cifar10, cifar100, without "
         "maxDamaged, cachePath and a normalizeBy that is not given",
     .job = RULE_BUILTIN,
     .broken = broken_stream,
     .cel = "{spec.dataset.staging} != 'stream' || ({spec.dataset.name} in ['images', 'idx', "
            "'mnist', 'fashion-mnist', 'cifar10', 'cifar100'] && "
            "{spec.dataset.maxDamaged|0.0} == 0.0 && !{?spec.dataset.cachePath} && "
            "{spec.dataset.normalizeBy} == 'given')",
     .cel_found = "stream with something that needs every sample before the first step"},
    {{"spec.dataset.rowConvert", "spec.dataset.normalizeBy", "spec.dataset.augment.flip",
      "spec.dataset.augment.pad", "spec.dataset.name"},
     .allowed = "allowed with false: normalizeBy given, no augment and no name text or arrays",
     .job = RULE_BUILTIN,
     .broken = broken_rows_change,
     .cel = "{spec.dataset.rowConvert} || (!({spec.dataset.name} in ['text', 'arrays']) && "
            "{spec.dataset.normalizeBy} == 'given' && !{spec.dataset.augment.flip} && "
            "{spec.dataset.augment.pad} == 0)",
     .cel_found = "false with samples that are made anew in each batch"},
    {{"spec.dataset.rowConvert", "spec.dataset.cachePath", "spec.dataset.staging",
      "spec.dataset.cache"},
     .allowed = "allowed with false: no cachePath, and no cache false",
     .job = RULE_BUILTIN,
     .broken = broken_rows_place,
     .cel = "{spec.dataset.rowConvert} || (!{?spec.dataset.cachePath} && "
            "({spec.dataset.staging} != 'stream' || {spec.dataset.cache|true}))",
     .cel_found = "false, and no place for floats"},
    {{"spec.dataset.draft", "spec.dataset.imageSize"},
     .allowed = "needed with it: an imageSize above 0",
     .job = RULE_BUILTIN,
     .broken = broken_draft,
     .cel = "!{spec.dataset.draft|false} || {spec.dataset.imageSize|0} > 0",
     .cel_found = "it without"},
    {{"spec.dataset.path", "spec.dataset.volume"},
     .allowed = "needed with dataset.volume: an absolute path, where the volume is mounted",
     .job = RULE_BUILTIN,
     .broken = broken_volume_path,
     .cel = "!{?spec.dataset.volume} || ({?spec.dataset.path} && "
            "self.dataset.path.matches('^/.'))",
     .cel_found = "no absolute path"},
    {{"spec.output.subPath"},
     .allowed = "needed with it: spec.output.volume",
     .job = RULE_BUILTIN,
     .broken = broken_sub_path,
     .cel = "!{?spec.output.subPath} || {?spec.output.volume}",
     .cel_found = "one without a volume"},
    {{"spec.training.lanes"},
     .allowed = "allowed: a power of two, or 0",
     .job = RULE_BUILTIN,
     .broken = broken_lanes_power,
     .cel = "{spec.training.lanes} in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]",
     .cel_found = "[[{spec.training.lanes}]]"},
    {{"spec.training.lastBatch", "spec.dataset.limit", "spec.training.batchSize"},
     .allowed = "allowed with drop: samples for at least one batch",
     .job = RULE_BUILTIN,
     .broken = broken_drop_all,
     .cel = "{spec.training.lastBatch} != 'drop' || {spec.dataset.limit} == 0 || "
            "double({spec.dataset.limit}"
            ") * (1.0 - {spec.dataset.validationSplit|0.0}) >= double(" CEL_BATCH ")",
     .cel_found = "a limit below a batch"},
    {{"spec.training.optimizer.nesterov", "spec.training.optimizer.momentum",
      "spec.training.optimizer.dampening"},
     .allowed = "needed with nesterov: momentum above 0 and dampening 0",
     .job = RULE_BUILTIN,
     .broken = broken_nesterov,
     .cel = "!{" CEL_OPTIMIZER "nesterov|false} || (" CEL_MOMENTUM " > 0.0 && " CEL_DAMPENING
            " == 0.0)",
     .cel_found = "nesterov without them"},
    {{"spec.training.learningRateSchedule.values", "spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: one value more than there are boundaries",
     .job = RULE_BUILTIN,
     .broken = broken_values,
     .cel = "!{?" CEL_VALUES "} || !{?" CEL_BOUNDARIES "} || size({" CEL_VALUES
            "}) == size({" CEL_BOUNDARIES "}) + 1",
     .cel_found =
         "[[size({" CEL_VALUES "})]] values for [[size({" CEL_BOUNDARIES "})]] boundaries"},
    {{"spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: each boundary above the one before it",
     .job = RULE_BUILTIN,
     .broken = broken_boundaries,
     .cel = "!{?" CEL_BOUNDARIES "} || {" CEL_BOUNDARIES "}.isSorted() && {" CEL_BOUNDARIES
            "}.all(x, {" CEL_BOUNDARIES "}.exists_one(y, y == x))",
     .cel_found = "one that is not"},
    {{"spec.training.learningRateSchedule.warmupEpochs", "spec.training.epochs",
      "spec.training.steps"},
     .allowed = "allowed: at most training.epochs",
     .job = RULE_BUILTIN,
     .broken = broken_warmup,
     .cel = "{spec.training.steps} > 0 || {" CEL_SCHEDULE
            "warmupEpochs} <= double({spec.training.epochs})",
     .cel_found = "a longer warm-up"},
    {{"spec.checkpoint.best", "spec.dataset.validationSplit"},
     .allowed = "the test set chooses the best checkpoint, so the test result is too good; "
                "dataset.validationSplit sets samples apart for this choice",
     .warning = true,
     .job = RULE_BUILTIN,
     .broken = broken_best},
    {{"spec.training.earlyStopping.patience", "spec.training.earlyStopping",
      "spec.training.earlyStopping.monitor", "spec.training.earlyStopping.minDelta"},
     .allowed = "needed with monitor or minDelta: at least 1",
     .job = RULE_BUILTIN,
     .broken = broken_patience,
     .cel = "{" CEL_EARLY "patience} > 0 || ({" CEL_EARLY "monitor} == 'loss' && {" CEL_EARLY
            "minDelta} == 0.0)",
     .cel_found = "0"},
    {{"spec.training.earlyStopping.monitor", "spec.dataset.name"},
     .allowed = "allowed with other data: loss, accuracy",
     .job = RULE_BUILTIN,
     .broken = broken_perplexity,
     .cel = "{" CEL_EARLY "monitor} != 'perplexity' || {spec.dataset.name} == 'text'",
     .cel_found = "perplexity, but dataset.name is not text"},
    {{"spec.model.loss", "spec.dataset.name"},
     .allowed = "needed with mse, mae, huber and sigmoidCrossEntropy: dataset.name arrays",
     .job = RULE_BUILTIN,
     .broken = broken_loss_data,
     .cel = CEL_OF_CLASSES " || {spec.dataset.name} == 'arrays'",
     .cel_found = "a loss that takes numbers as labels, but the labels of this data are classes"},
    {{"spec.dataset.distribution.kind", "spec.model.loss"},
     .allowed = "allowed there: dealt, iid, contiguous, replicated",
     .job = RULE_BUILTIN,
     .broken = broken_label_shares,
     .cel = CEL_OF_CLASSES " || !({spec.dataset.distribution.kind} in ['byLabel', 'dirichlet'])",
     .cel_found = "shares by label, but the labels are not classes"},
    {{"spec.training.earlyStopping.monitor", "spec.model.loss"},
     .allowed = "allowed with mse, mae and huber: loss, mae, rmse, r2; with sigmoidCrossEntropy: "
                "loss, accuracy, binaryAccuracy, precision, recall, f1; else loss, accuracy, "
                "precision, recall, f1",
     .job = RULE_BUILTIN,
     .broken = broken_monitor_loss,
     .cel = CEL_MONITOR " in ['loss', 'perplexity'] || (" CEL_OF_NUMBERS " ? " CEL_MONITOR
                        " in ['mae', 'rmse', 'r2'] : " CEL_MONITOR
                        " in ['accuracy', 'precision', 'recall', 'f1'] || (" CEL_MONITOR
                        " == 'binaryAccuracy' && {spec.model.loss} == 'sigmoidCrossEntropy'))",
     .cel_found = "a metric that does not fit the loss"},
    {{"spec.training.earlyStopping.monitor", "spec.dataset.validationSplit", "spec.dataset.name"},
     .allowed = "needed with r2, precision, recall and f1: dataset.validationSplit above 0",
     .job = RULE_BUILTIN,
     .broken = broken_monitor_set,
     .cel = "!(" CEL_MONITOR " in ['r2', 'precision', 'recall', 'f1']) || {spec.dataset.name} == "
            "'text' || {spec.dataset.validationSplit|0.0} > 0.0",
     .cel_found = "no validation samples, which the metric needs"},
};
const struct rule_list training_rules = {rules, ARRAY_LEN(rules)};
