#include "paceline/suggest.h"

#include <ctype.h>
#include <string.h>

#include "common/spec_table.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"

#define LAYER "spec.model.layers[]."
#define OPTIMIZER "spec.training.optimizer."
#define SCHEDULE "spec.training.learningRateSchedule."
#define GIVEN "leave it out: a layer takes what the one before it gives"
#define MOST 3 /* fields that one suggestion names */

/*
 * where: the field that these words are values of, or, with a dot at its end, the object that they
 * are keys of; "": any object outside of layers. Letter case, '_' and '-' do not count.
 */
static const struct alias {
    const char *where, *words;
    const char *ours; /* our word or path; else note says what to do */
    const char *note;
} aliases[] = {
    {LAYER, "kernel_size pool_size filter_size", "kernel", NULL},
    {LAYER, "strides", "stride", NULL},
    {LAYER, "out_channels channels n_filters", "filters", NULL},
    {LAYER, "out_features hidden_size embedding_dim output_dim neurons size", "units", NULL},
    {LAYER, "num_embeddings vocab_size", "vocabulary", NULL},
    {LAYER, "p dropout drop_rate", "rate", NULL},
    {LAYER, "eps", "epsilon", NULL},
    {LAYER, "use_bias", "bias", NULL},
    {LAYER, "kernel_initializer weight_init init", "initializer", NULL},
    {LAYER, "input", "inputs", NULL},
    {LAYER, "in_channels in_features input_dim input_size input_shape num_features", NULL, GIVEN},
    {LAYER, "activation nonlinearity", NULL,
     "an activation is a layer of its own, as {type: relu}"},
    {LAYER, "trainable requires_grad", NULL, "frozen: true keeps a layer's parameters"},

    {LAYER "type", "Linear FullyConnected fc Dense", "dense", NULL},
    {LAYER "type", "Conv1d Conv2d Convolution2D convolution", "conv", NULL},
    {LAYER "type", "MaxPool1d MaxPool2d MaxPooling1D MaxPooling2D max_pool", "maxpool", NULL},
    {LAYER "type", "AvgPool1d AvgPool2d AveragePooling1D AveragePooling2D", "avgpool", NULL},
    {LAYER "type", "AdaptiveAvgPool2d GlobalAveragePooling2D GlobalAveragePooling1D gap",
     "globalavgpool", NULL},
    {LAYER "type", "BatchNorm1d BatchNorm2d BatchNormalization bn", "batchnorm", NULL},
    {LAYER "type", "LocalResponseNorm local_response_normalization", "lrn", NULL},
    {LAYER "type", "Concatenate cat", "concat", NULL},
    {LAYER "type", "InputLayer", "input", NULL},
    {LAYER "type", "Dropout1d Dropout2d", "dropout", NULL},
    {LAYER "type", "softmax log_softmax", NULL,
     "leave it out: softmax is part of the loss (spec.model.loss)"},
    {LAYER "initializer", "xavier xavier_uniform glorot_uniform", "glorot", NULL},
    {LAYER "initializer", "kaiming kaiming_normal kaiming_uniform he_normal he_uniform", "he",
     NULL},
    {LAYER "initializer", "zeros", "zero", NULL},

    {"spec.model.loss",
     "CrossEntropyLoss cross_entropy categorical_crossentropy sparse_categorical_crossentropy "
     "softmax",
     "softmaxCrossEntropy", NULL},
    {"spec.training.precision", "fp16 float16 half mixed mixed_float16 mixed_bfloat16 bfloat16",
     "bf16", NULL},
    {"spec.training.precision", "float32 float full", "fp32", NULL},
    {SCHEDULE "type", "StepLR MultiStepLR step PiecewiseConstantDecay", "piecewise", NULL},
    {SCHEDULE "type", "ExponentialLR ExponentialDecay", "exponential", NULL},
    {SCHEDULE "type", "CosineAnnealingLR CosineDecay", "cosine", NULL},
    {"spec.dataset.name", "ImageFolder imagenet folder pictures jpeg png", "images", NULL},
    {"spec.dataset.name", "numpy npy", "arrays", NULL},
    {"spec.dataset.name", "ptb wikitext", "text", NULL},
    {"spec.strategy.type",
     "DDP DistributedDataParallel Horovod MirroredStrategy MultiWorkerMirroredStrategy",
     "AllReduce", NULL},
    {"spec.strategy.type", "ParameterServerStrategy ps", "ParameterServer", NULL},
    {"spec.strategy.type", "PipelineParallel GPipe", "ModelParallel", NULL},

    {OPTIMIZER, "type", OPTIMIZER "name", NULL},
    {OPTIMIZER, "betas beta", OPTIMIZER "beta1", NULL},
    {OPTIMIZER, "alpha decay", OPTIMIZER "rho", NULL},
    {SCHEDULE, "name", SCHEDULE "type", NULL},
    {SCHEDULE, "gamma", SCHEDULE "decayRate", NULL},
    {SCHEDULE, "milestones", SCHEDULE "boundaries", NULL},
    {SCHEDULE, "warmup warmup_steps", SCHEDULE "warmupEpochs", NULL},

    {"", "lr learning_rate", OPTIMIZER "learningRate", NULL},
    {"", "momentum", OPTIMIZER "momentum", NULL},
    {"", "eps epsilon", OPTIMIZER "epsilon", NULL},
    {"", "weight_decay wd", NULL,
     "spec.training.l2 is PyTorch's weight_decay; optimizer.weightDecay is that of adamw"},
    {"", "lr_scheduler lr_schedule scheduler", "spec.training.learningRateSchedule", NULL},
    {"", "num_epochs max_epochs n_epochs epoch", "spec.training.epochs", NULL},
    {"", "steps max_steps iterations num_steps", "spec.training.steps", NULL},
    {"", "bs minibatch train_batch_size per_device_train_batch_size", "spec.training.batchSize",
     NULL},
    {"", "gradient_accumulation_steps accumulate_grad_batches", "spec.training.accumulate", NULL},
    {"", "clip_grad_norm gradient_clip_val max_grad_norm max_norm", "spec.training.clipNorm", NULL},
    {"", "mixed_precision dtype amp", "spec.training.precision", NULL},
    {"", "random_seed", "spec.training.seed", NULL},
    {"", "num_threads", "spec.training.threads", NULL},
    {"", "world_size nproc_per_node num_replicas", "spec.replicas.worker.replicas", NULL},
    {"", "data data_dir root", "spec.dataset.path", NULL},
    {"", "criterion", "spec.model.loss", NULL},
    {"", "network architecture", "spec.model", NULL},
};

/* For fields that do not apply to all values of their selector: the field, those values, and the
 * field that these have instead. */
static const struct {
    const char *path, *selected, *instead;
} instead[] = {
    {OPTIMIZER "momentum", "adam adamw", "beta1"},
    {OPTIMIZER "momentum", "adadelta", "rho"},
    {OPTIMIZER "beta1", "sgd", "momentum"},
    {OPTIMIZER "rho", "adam adamw", "beta2"},
    {OPTIMIZER "weightDecay", "sgd adam adagrad adadelta rmsprop", "spec.training.l2"},
    {LAYER "units", "conv padchannels slice", "filters"},
    {LAYER "filters", "dense embedding lstm", "units"},
};

static bool is_filler(char c) { return c == '_' || c == '-'; }

/* Whether the n bytes at a are the word b, ignoring letter case, '_' and '-'. */
static bool is_alike(const char *a, size_t n, const char *b)
{
    const char *end = a + n;

    for (;;) {
        while (a < end && is_filler(*a))
            a++;
        while (is_filler(*b))
            b++;
        if (a == end || !*b)
            return a == end && !*b;
        if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
            return false;
    }
}

/* Whether word is in a list of words separated by spaces. */
static bool is_among(const char *words, const char *word)
{
    for (const char *w = words; *w; w += strspn(w, " ")) {
        const size_t n = strcspn(w, " ");

        if (is_alike(w, n, word))
            return true;
        w += n;
    }
    return false;
}

static const struct alias *suggest_find(const char *where, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (strcmp(aliases[i].where, where) == 0 && is_among(aliases[i].words, word))
            return &aliases[i];
    return NULL;
}

/* A field of the object at prefix is named by its key. */
static bool suggest_put(const struct alias *a, const char *prefix, struct buf *out)
{
    const size_t n = strlen(prefix);
    const bool here = a && a->ours && strncmp(a->ours, prefix, n) == 0 && !strchr(a->ours + n, '.');

    if (a && a->ours)
        buf_printf(out, "did you mean %s?", a->ours + (here ? n : 0));
    else if (a)
        buf_puts(out, a->note);
    return a != NULL;
}

/* The fields outside of layers whose key is the word; more than MOST: too many to name. */
static size_t elsewhere(const char *key, const struct field *found[MOST])
{
    size_t n = 0;

    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];

        if (f->kind == FIELD_IGNORED || field_in_layer(f) ||
            !is_alike(key, strlen(key), field_key(f)))
            continue;
        if (n < MOST)
            found[n] = f;
        n++;
    }
    return n;
}

/* The nearest key of the object at prefix; of all objects outside of layers: prefix NULL. */
static const struct field *nearest_field(const char *prefix, const char *key)
{
    const struct field *fields[SPEC_MAX_FIELDS];
    const char *keys[SPEC_MAX_FIELDS] = {0}, *near;
    size_t n = 0;

    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];
        const size_t above = (size_t)(field_key(f) - f->path);

        if (f->kind == FIELD_IGNORED ||
            (prefix ? strncmp(f->path, prefix, above) != 0 || prefix[above] : field_in_layer(f)))
            continue;
        fields[n] = f;
        keys[n++] = field_key(f);
    }
    near = nearest(key, keys, n);
    for (size_t i = 0; near && i < n; i++)
        if (keys[i] == near)
            return fields[i];
    return NULL;
}

static bool put_fields(const struct field *const *found, size_t n, struct buf *out)
{
    buf_puts(out, "did you mean ");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? " or " : "", found[i]->path);
    buf_puts(out, "?");
    return true;
}

bool suggest_field(const char *prefix, const char *key, struct buf *out)
{
    const bool layer = strcmp(prefix, LAYER) == 0;
    const struct field *near = nearest_field(prefix, key), *found[MOST];
    const bool same = near && is_alike(key, strlen(key), field_key(near)); /* in other letters */
    const struct alias *alias = same ? NULL : suggest_find(prefix, key);
    const size_t n = same || layer ? 0 : elsewhere(key, found);

    if (!same && !alias && !layer)
        alias = suggest_find("", key);
    if (suggest_put(alias, prefix, out))
        return true;
    if (n > 0 && n <= MOST)
        return put_fields(found, n, out);
    if (near)
        buf_printf(out, "did you mean %s?", field_key(near));
    else if (!layer && n == 0 && (near = nearest_field(NULL, key)))
        buf_printf(out, "did you mean %s?", near->path);
    return near != NULL;
}

bool suggest_value(const struct field *f, const char *word, struct buf *out)
{
    const char *near;
    size_t n = 0;

    while (f->names && f->names[n] && !is_alike(word, strlen(word), f->names[n]))
        n++;
    near = f->names ? f->names[n] : NULL;
    if (!near && suggest_put(suggest_find(f->path, word), "", out))
        return true;
    if (!near)
        near = nearest(word, f->names, n);
    if (near)
        buf_printf(out, "did you mean %s?", near);
    return near != NULL;
}

void suggest_instead(const struct field *f, const char *selected, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(instead); i++)
        if (strcmp(instead[i].path, f->path) == 0 && is_among(instead[i].selected, selected))
            buf_printf(out, " (%s has %s)", selected, instead[i].instead);
}

const char *suggest_path(const char *word)
{
    const struct alias *alias = suggest_find("", word);
    const struct field *found[MOST], *near;
    size_t n = elsewhere(word, found);

    if (alias && alias->ours)
        return alias->ours;
    if (n > 0 && n <= MOST)
        return found[0]->path;
    alias = suggest_find(LAYER, word);
    if (alias && alias->ours) {
        AUTO(auto_free) char *path = xasprintf(LAYER "%s", alias->ours);

        return spec_field_find(path)->path;
    }
    near = nearest_field(NULL, word);
    return near ? near->path : NULL;
}

bool suggest_alias(size_t i, const char **where, const char **ours)
{
    for (size_t k = 0; k < ARRAY_LEN(aliases); k++) {
        if (!aliases[k].ours || i--)
            continue;
        *where = aliases[k].where;
        *ours = aliases[k].ours;
        return true;
    }
    if (i >= ARRAY_LEN(instead))
        return false;
    *ours = instead[i].instead;
    *where = strncmp(instead[i].path, LAYER, strlen(LAYER)) == 0 ? LAYER : OPTIMIZER;
    return true;
}
