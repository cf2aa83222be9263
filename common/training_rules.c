/* Rules on the model, its data and how it is trained. */
#include "common/spec_rules.h"

#include "paceline/mem.h"
#include "paceline/named_sets.h"

/* What the rules read (rule_expr.h). */
#define OF_CLASSES "{spec.model.loss} in ['softmaxCrossEntropy', 'squaredError']"
#define OF_NUMBERS "{spec.model.loss} in ['mse', 'mae', 'huber']"
#define MONITOR "{" EARLY "monitor}"
#define EARLY "spec.training.earlyStopping."

#define DAMPENING "{spec.training.optimizer.dampening|0.0}"
#define SCHEDULE "spec.training.learningRateSchedule."
#define VALUES SCHEDULE "values"
#define BOUNDARIES SCHEDULE "boundaries"

/* The first boundary that is not above the one before it. */
static void describe_boundaries(const struct job *job, struct buf *found)
{
    const double *boundaries = job->training.schedule.boundaries;
    size_t i = 1;

    while (boundaries[i] > boundaries[i - 1])
        i++;
    buf_printf(found, "%g after %g", boundaries[i], boundaries[i - 1]);
}

static const struct rule rules[] = {
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .holds = "{?spec.model.name} || {?spec.model.layers}",
     .found = "neither name nor layers"},
    {{"spec.model", "spec.model.name", "spec.model.layers"},
     .allowed = "needed: exactly one of name and layers",
     .job = RULE_BUILTIN,
     .holds = "!({?spec.model.name} && {?spec.model.layers})",
     .found = "both name and layers"},
    {{"spec.dataset.path", "spec.dataset.name"},
     .allowed = "needed with dataset.name " SETS_IN_FOLDERS_TOLD ": the folder of the files",
     .job = RULE_BUILTIN,
     .holds = "!({spec.dataset.name} in " SETS_IN_FOLDERS ") || {?spec.dataset.path}",
     .found = "no path"},
    {{"spec.dataset.normalizeBy", "spec.dataset.augment.flip", "spec.dataset.augment.pad",
      "spec.dataset.distribution.kind", "spec.dataset.name"},
     .allowed = "allowed there: none of it",
     .job = RULE_BUILTIN,
     .holds = "{spec.dataset.name} != 'text' || ({spec.dataset.normalizeBy} == 'given' && "
              "!{spec.dataset.augment.flip} && {spec.dataset.augment.pad} == 0 && "
              "{spec.dataset.distribution.kind} == 'dealt')",
     .found = "what is done to images, with name text"},
    {{"spec.dataset.augment.flip", "spec.dataset.augment.pad", "spec.dataset.name"},
     .allowed = "allowed there: none of it",
     .job = RULE_BUILTIN,
     .holds = "!({spec.dataset.name} in " SETS_OF_NUMBERS ") || (!{spec.dataset.augment.flip} && "
              "{spec.dataset.augment.pad} == 0)",
     .found = "what is done to pixels, with name " SETS_OF_NUMBERS_TOLD},
    {{"spec.dataset.staging", "spec.dataset.name", "spec.dataset.maxDamaged",
      "spec.dataset.cachePath", "spec.dataset.normalizeBy"},
     .allowed = "allowed with stream: name " SETS_STREAMED_TOLD ", without "
                "maxDamaged, cachePath and a normalizeBy that is not given",
     .job = RULE_BUILTIN,
     .holds = "{spec.dataset.staging} != 'stream' || ({spec.dataset.name} in " SETS_STREAMED " && "
              "{spec.dataset.maxDamaged|0.0} == 0.0 && !{?spec.dataset.cachePath} && "
              "{spec.dataset.normalizeBy} == 'given')",
     .found = "stream with something that needs every sample before the first step"},
    {{"spec.dataset.rowConvert", "spec.dataset.normalizeBy", "spec.dataset.augment.flip",
      "spec.dataset.augment.pad", "spec.dataset.name"},
     .allowed = "allowed with false: normalizeBy given, no augment and no name text "
                "or " SETS_OF_NUMBERS_TOLD,
     .job = RULE_BUILTIN,
     .holds = "{spec.dataset.rowConvert} || ({spec.dataset.name} != 'text' && "
              "!({spec.dataset.name} in " SETS_OF_NUMBERS ") && "
              "{spec.dataset.normalizeBy} == 'given' && !{spec.dataset.augment.flip} && "
              "{spec.dataset.augment.pad} == 0)",
     .found = "false with samples that are made anew in each batch"},
    {{"spec.dataset.rowConvert", "spec.dataset.cachePath", "spec.dataset.staging",
      "spec.dataset.cache"},
     .allowed = "allowed with false: no cachePath, and no cache false",
     .job = RULE_BUILTIN,
     .holds = "{spec.dataset.rowConvert} || (!{?spec.dataset.cachePath} && "
              "({spec.dataset.staging} != 'stream' || {spec.dataset.cache|true}))",
     .found = "false, and no place for floats"},
    {{"spec.dataset.draft", "spec.dataset.imageSize"},
     .allowed = "needed with it: an imageSize above 0",
     .job = RULE_BUILTIN,
     .holds = "!{spec.dataset.draft|false} || {spec.dataset.imageSize|0} > 0",
     .found = "it without"},
    {{"spec.dataset.path", "spec.dataset.volume"},
     .allowed = "needed with dataset.volume: an absolute path, where the volume is mounted",
     .job = RULE_BUILTIN,
     .holds = "!{?spec.dataset.volume} || ({?spec.dataset.path} && "
              "{spec.dataset.path}.startsWith('/') && size({spec.dataset.path}) > 1)",
     .found = "no absolute path"},
    {{"spec.output.subPath"},
     .allowed = "needed with it: spec.output.volume",
     .job = RULE_BUILTIN,
     .holds = "!{?spec.output.subPath} || {?spec.output.volume}",
     .found = "one without a volume"},
    {{"spec.training.lanes"},
     .allowed = "allowed: a power of two, or 0",
     .job = RULE_BUILTIN,
     .holds = "{spec.training.lanes} in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]",
     .found = "[[{spec.training.lanes}]]"},
    {{"spec.training.lastBatch", "spec.dataset.limit", "spec.training.batchSize"},
     .allowed = "allowed with drop: samples for at least one batch",
     .job = RULE_BUILTIN,
     .holds = "{spec.training.lastBatch} != 'drop' || {spec.dataset.limit} == 0 || "
              "double({spec.dataset.limit}"
              ") * (1.0 - {spec.dataset.validationSplit|0.0}) >= double(" BATCH ")",
     .found = "a limit below a batch"},
    {{"spec.training.optimizer.nesterov", "spec.training.optimizer.momentum",
      "spec.training.optimizer.dampening"},
     .allowed = "needed with nesterov: momentum above 0 and dampening 0",
     .job = RULE_BUILTIN,
     .holds = "!{" OPTIMIZER "nesterov|false} || (" MOMENTUM " > 0.0 && " DAMPENING " == 0.0)",
     .found = "nesterov without them"},
    {{"spec.training.learningRateSchedule.values", "spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: one value more than there are boundaries",
     .job = RULE_BUILTIN,
     .holds =
         "!{?" VALUES "} || !{?" BOUNDARIES "} || size({" VALUES "}) == size({" BOUNDARIES "}) + 1",
     .found = "[[size({" VALUES "})]] values for [[size({" BOUNDARIES "})]] boundaries"},
    {{"spec.training.learningRateSchedule.boundaries"},
     .allowed = "needed: each boundary above the one before it",
     .job = RULE_BUILTIN,
     .holds = "!{?" BOUNDARIES "} || {" BOUNDARIES "}.isSorted() && {" BOUNDARIES
              "}.all(x, {" BOUNDARIES "}.exists_one(y, y == x))",
     .found = "one that is not",
     .describe = describe_boundaries},
    {{"spec.training.learningRateSchedule.warmupEpochs", "spec.training.epochs",
      "spec.training.steps"},
     .allowed = "allowed: at most training.epochs",
     .job = RULE_BUILTIN,
     .holds = "{spec.training.steps} > 0 || {" SCHEDULE
              "warmupEpochs} <= double({spec.training.epochs})",
     .found = "a longer warm-up"},
    {{"spec.checkpoint.best", "spec.dataset.validationSplit"},
     .allowed = "the test set chooses the best checkpoint, so the test result is too good; "
                "dataset.validationSplit sets samples apart for this choice",
     .warning = true,
     .job = RULE_BUILTIN,
     .holds = "!{spec.checkpoint.best} || {spec.dataset.validationSplit|0.0} > 0.0 || "
              "{spec.dataset.name} == 'text'",
     .found = "true without a validation set"},
    {{"spec.training.earlyStopping.patience", "spec.training.earlyStopping",
      "spec.training.earlyStopping.monitor", "spec.training.earlyStopping.minDelta"},
     .allowed = "needed with monitor or minDelta: at least 1",
     .job = RULE_BUILTIN,
     .holds =
         "{" EARLY "patience} > 0 || ({" EARLY "monitor} == 'loss' && {" EARLY "minDelta} == 0.0)",
     .found = "0"},
    {{"spec.training.earlyStopping.monitor", "spec.dataset.name"},
     .allowed = "allowed with other data: loss, accuracy",
     .job = RULE_BUILTIN,
     .holds = "{" EARLY "monitor} != 'perplexity' || {spec.dataset.name} == 'text'",
     .found = "perplexity, but dataset.name is not text"},
    {{"spec.model.loss", "spec.dataset.name"},
     .allowed = "needed with mse, mae, huber and sigmoidCrossEntropy: dataset.name arrays",
     .job = RULE_BUILTIN,
     .holds = OF_CLASSES " || {spec.dataset.name} == 'arrays'",
     .found = "a loss that takes numbers as labels, but the labels of this data are classes"},
    {{"spec.dataset.distribution.kind", "spec.model.loss"},
     .allowed = "allowed there: dealt, iid, contiguous, replicated",
     .job = RULE_BUILTIN,
     .holds = OF_CLASSES " || !({spec.dataset.distribution.kind} in ['byLabel', 'dirichlet'])",
     .found = "shares by label, but the labels are not classes"},
    {{"spec.training.earlyStopping.monitor", "spec.model.loss"},
     .allowed = "allowed with mse, mae and huber: loss, mae, rmse, r2; with sigmoidCrossEntropy: "
                "loss, accuracy, binaryAccuracy, precision, recall, f1; else loss, accuracy, "
                "precision, recall, f1",
     .job = RULE_BUILTIN,
     .holds =
         MONITOR " in ['loss', 'perplexity'] || ({spec.dataset.name} == 'text' ? " MONITOR
                 " == 'accuracy' : " OF_NUMBERS " ? " MONITOR " in ['mae', 'rmse', 'r2'] : " MONITOR
                 " in ['accuracy', 'precision', 'recall', 'f1'] || (" MONITOR
                 " == 'binaryAccuracy' && {spec.model.loss} == 'sigmoidCrossEntropy'))",
     .found = "a metric that does not fit the loss"},
    {{"spec.training.earlyStopping.monitor", "spec.dataset.validationSplit", "spec.dataset.name"},
     .allowed = "needed with r2, precision, recall and f1: dataset.validationSplit above 0",
     .job = RULE_BUILTIN,
     .holds = "!(" MONITOR " in ['r2', 'precision', 'recall', 'f1']) || {spec.dataset.name} == "
              "'text' || {spec.dataset.validationSplit|0.0} > 0.0",
     .found = "no validation samples, which the metric needs"},
};
const struct rule_list training_rules = {rules, ARRAY_LEN(rules)};
