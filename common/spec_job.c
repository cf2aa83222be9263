/* Derived from a job: its JSON form, warnings, lanes, promise and network. */
#include "paceline/spec.h"

#include "common/spec_rules.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/yaml.h"

/* Puts value at a dotted path below root, making the objects between. */
static void put_at(cJSON *root, const char *path, cJSON *value)
{
    AUTO(auto_free) char *copy = xstrdup(path);
    char *rest = copy, *dot;

    for (; (dot = strchr(rest, '.')); rest = dot + 1) {
        cJSON *below;

        *dot = '\0';
        below = cJSON_GetObjectItemCaseSensitive(root, rest);
        if (!below)
            below = cJSON_AddObjectToObject(root, rest);
        root = below;
    }
    cJSON_AddItemToObject(root, rest, value);
}

typedef bool wanted_fn(const struct field *f);

static cJSON *layers_to_json(const struct job *job, wanted_fn *wanted);

bool job_builtin(const struct job *job) { return job->model.name || job->model.n_layers; }

bool job_launched(const struct job *job) { return job_builtin(job) || job->mpi.present; }

/* All fields of a job, or of one layer, that are present, apply and are wanted. */
static cJSON *fields_to_json(const void *base, bool layer, wanted_fn *wanted)
{
    cJSON *root = cJSON_CreateObject();

    for (size_t i = 0; i < n_spec_fields; i++) {
        const struct field *f = &spec_fields[i];
        const struct choice *choice;
        cJSON *value;

        if (field_in_layer(f) != layer || !field_applies(f, base, &choice))
            continue;
        if ((!layer && field_builtin(f) && !job_builtin(base)) || (wanted && !wanted(f)))
            continue;
        value = f->kind == FIELD_LAYERS ? layers_to_json(base, wanted) : field_load(f, base);
        if (value)
            put_at(root, layer ? field_key(f) : f->path, value);
    }
    return root;
}

static cJSON *layers_to_json(const struct job *job, wanted_fn *wanted)
{
    cJSON *list = job->model.n_layers ? cJSON_CreateArray() : NULL;

    for (size_t i = 0; i < job->model.n_layers; i++)
        cJSON_AddItemToArray(list, fields_to_json(&job->model.layers[i], true, wanted));
    return list;
}

cJSON *job_tree(const struct job *job, wanted_fn *wanted)
{
    return fields_to_json(job, false, wanted);
}

void job_to_json(const struct job *job, struct buf *out)
{
    AUTO(auto_json) cJSON *root = job_tree(job, NULL);

    json_print(root, 0, out);
}

void job_to_text(const struct job *job, struct buf *out)
{
    AUTO(auto_json) cJSON *root = job_tree(job, NULL);
    AUTO(buf_release) struct buf indented;

    buf_init(&indented, 0);
    json_print(root, 2, &indented);
    if (indented.len < YAML_MAX_BYTES)
        buf_add(out, indented.data, indented.len);
    else
        json_print(root, 0, out);
    buf_puts(out, "\n");
}

#define KEEP_SECONDS 86400

int64_t job_keep_seconds(const struct job *job)
{
    if (job->output.keep_seconds >= 0)
        return job->output.keep_seconds;
    return job->output.volume ? 0 : KEEP_SECONDS;
}

int job_ranks(const struct job *job)
{
    return (int)(job->replicas[ROLE_WORKER].replicas + job->replicas[ROLE_PS].replicas);
}

void job_warnings(const struct job *job, struct problems *warnings)
{
    AUTO(rule_facts_release) struct rule_facts facts = {.job = job};
    const struct rule *rule;

    for (size_t i = 0; (rule = spec_rule(i)); i++) {
        AUTO(buf_release) struct buf found;

        buf_init(&found, 0);
        if (!rule_is_for(rule, job_builtin(job), job->mpi.present))
            continue;
        if (rule->warning && rule_is_broken(i, &facts, &found))
            problems_add(warnings, "%s: found %s; %s", rule->paths[0], found.data, rule->allowed);
    }
}

bool job_simulated(const struct job *job)
{
    return job->debug.n_slowdown > 0 || job->debug.gradient_seconds > 0 ||
           job->debug.bandwidth > 0 || job->debug.latency_seconds > 0 || job->debug.jitter > 0;
}

const char *job_promise(const struct job *job)
{
    static const char always[] = "same bytes on any number of workers";
    static const char *const promises[] = {
        [ALGO_TREE] = always,
        [ALGO_RING] = "same bytes on every run at this number of workers",
        [ALGO_MPI] = "all replicas equal",
        [ALGO_RECURSIVE_DOUBLING] = always,
        [ALGO_NAIVE] = always,
    };
    bool rounded = job->strategy.type == STRATEGY_LOCAL_SGD ||
                   job->strategy.type == STRATEGY_ELASTIC_AVERAGING ||
                   (job->strategy.algorithm != ALGO_MPI && job->strategy.wire == WIRE_BF16);

    if (job->strategy.mode != MODE_SYNC || job->strategy.backup_workers > 0)
        return "updates as they arrive: no two runs need be alike";
    return promises[rounded ? ALGO_RING : job->strategy.algorithm];
}

void job_layers(const struct job *job, int classes, struct layer_list *list)
{
    const struct net_def *def = job->model.name ? net_def_find(job->model.name) : NULL;

    if (def && job->model.n_hidden) {
        net_write_mlp(list, job->model.hidden, job->model.n_hidden,
                      classes ? classes : def->classes);
    } else if (def) {
        net_def_layers(list, def, classes);
    } else {
        list->n = list->room = job->model.n_layers;
        list->items = xcalloc(list->n, sizeof *list->items);
        for (size_t i = 0; i < list->n; i++)
            list->items[i] = job->model.layers[i];
    }
}

/* Samples that a lane should have: batch normalisation wants its groups in one. */
static int64_t lane_samples_wanted(const struct job *job)
{
    AUTO(layer_list_release) struct layer_list list = {0};
    int64_t wanted = 4;

    job_layers(job, 0, &list);
    for (size_t i = 0; i < list.n; i++)
        if (list.items[i].type == LAYER_BATCHNORM && list.items[i].group > wanted)
            wanted = list.items[i].group;
    return wanted;
}

int job_lanes(const struct job *job)
{
    const int64_t samples = lane_samples_wanted(job);
    int lanes = 1;

    if (job->training.lanes)
        return (int)job->training.lanes;
    while (lanes < 64 && 2 * lanes <= job->training.batch_size / samples)
        lanes *= 2;
    return lanes;
}

int job_sharers(const struct job *job)
{
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    const bool servers = job->strategy.type == STRATEGY_PARAMETER_SERVER;

    if (job->strategy.type == STRATEGY_SWITCH || (servers && job->strategy.mode != MODE_SYNC))
        return job->strategy.groups > 0 ? workers / (int)job->strategy.groups : 1;
    if (job->strategy.type == STRATEGY_LOCAL_SGD ||
        job->strategy.type == STRATEGY_ELASTIC_AVERAGING || job->strategy.batch == BATCH_JOIN)
        return 1;
    return workers;
}

int job_optimizer_slots(const struct job_optimizer *o)
{
    switch (o->type) {
    case OPT_SGD:
        return o->momentum > 0;
    case OPT_ADAM:
    case OPT_ADAMW:
    case OPT_ADADELTA:
        return 2;
    case OPT_ADAGRAD:
        return 1;
    case OPT_RMSPROP:
        return o->centered ? 3 : o->momentum > 0 ? 2 : 1;
    }
    return 0;
}

bool job_shards(const struct job *job)
{
    if (job->strategy.type == STRATEGY_PARAMETER_SERVER)
        return true;
    return job->training.optimizer.sharded != 0 && job->strategy.type == STRATEGY_ALL_REDUCE &&
           job->strategy.algorithm == ALGO_TREE && job->strategy.wire == WIRE_FP32 &&
           job->training.clip_norm == 0;
}

/* The variance of one value is nothing to divide by. */
static bool group_of_one(const struct job *job, const struct net *net, struct err *err)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];

        if (l->spec.type != LAYER_BATCHNORM || l->spec.frozen || l->in.h * l->in.w > 1)
            continue;
        if (l->spec.group > 1 && job->training.batch_size / job_lanes(job) > 1)
            continue;
        err_set(err, ERR_INVALID,
                "layer %s: each of its groups would have one value of a channel (group %d, %lld "
                "samples in %d lanes); needed: 2 and more",
                l->spec.name, l->spec.group, (long long)job->training.batch_size, job_lanes(job));
        return true;
    }
    return false;
}

/* A state goes on from one update to the next. */
static bool state_of_several(const struct job *job, const struct net *net, struct err *err)
{
    for (size_t i = 0; i < net->n_layers && job->training.accumulate > 1; i++) {
        if (net->layers[i].spec.type != LAYER_LSTM)
            continue;
        err_set(err, ERR_INVALID,
                "spec.training.accumulate: found %lld with layer %s, whose state goes on in the "
                "next batch; allowed: 1",
                (long long)job->training.accumulate, net->layers[i].spec.name);
        return true;
    }
    return false;
}

static bool has_inputs(const struct job *job)
{
    for (size_t i = 0; i < job->model.n_layers; i++)
        if (job->model.layers[i].type == LAYER_INPUT)
            return true;
    return false;
}

/* Dense layers, LSTMs and convolutions of maps are what bf16 is about; one that takes the samples
 * itself does so as they come. */
static bool nothing_in_bf16(const struct job *job, const struct net *net, struct err *err)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const enum layer_type type = net->layers[i].spec.type;

        if (type == LAYER_DENSE || type == LAYER_LSTM ||
            (type == LAYER_CONV && net->layers[i].inputs[0] >= 0))
            return false;
    }
    if (job->training.precision != PRECISION_BF16)
        return false;
    err_set(err, ERR_INVALID,
            "spec.training.precision: found bf16 with a network that has no dense layer, no lstm "
            "and no convolution after another layer, so that nothing would be in bf16; allowed: "
            "fp32");
    return true;
}

struct shape job_inputs_shape(const struct job *job)
{
    int64_t n = 0;

    for (size_t i = 0; i < job->model.n_layers; i++) {
        if (job->model.layers[i].type != LAYER_INPUT)
            continue;
        const struct shape s = net_input_shape(&job->model.layers[i]);

        if (s.c == 0)
            return s;
        n += (int64_t)s.c * s.h * s.w;
    }
    return n ? (struct shape){n < INT32_MAX ? (int)n : INT32_MAX, 1, 1} : (struct shape){0};
}

struct shape job_published_shape(const struct job *job)
{
    const struct net_def *def = job->model.name ? net_def_find(job->model.name) : NULL;
    const struct named_set *set = job_named_set(job);
    const char *data = job->dataset.name ? job->dataset.name : "";

    if (set->of == SAMPLES_WORDS)
        return (struct shape){1, 1, (int)job->dataset.steps};
    if (set->shape.c)
        return set->shape;
    if (named_set_is_floats(set) && job_inputs_shape(job).c)
        return job_inputs_shape(job);
    if (strcmp(data, "images") == 0 && job->dataset.image_size > 0)
        return (struct shape){job->dataset.color == COLOR_GRAY ? 1 : 3,
                              (int)job->dataset.image_size, (int)job->dataset.image_size};
    return def && !job_publishes_shape(job) ? def->in : (struct shape){1, 28, 28};
}

bool job_publishes_shape(const struct job *job)
{
    const struct named_set *set = job_named_set(job);

    return set->samples || set->of == SAMPLES_WORDS ||
           (named_set_is_floats(set) && has_inputs(job));
}

uint32_t job_published_samples(const struct job *job) { return job_named_set(job)->samples; }

int job_published_classes(const struct job *job)
{
    const struct named_set *set = job_named_set(job);

    return set->of == SAMPLES_WORDS ? (int)job->dataset.vocabulary : set->classes;
}

int job_network(const struct job *job, struct shape in, int classes, struct net *net,
                struct err *err)
{
    AUTO(layer_list_release) struct layer_list list = {0};
    size_t trained = 0;

    if (!job_builtin(job))
        return err_set(err, ERR_INVALID,
                       "spec.model: found nothing; needed: a network, for only a cluster runs jobs "
                       "of any image");
    job_layers(job, classes, &list);
    if (net_build(net, list.items, list.n, in, err))
        return err_wrap(err, "spec.model");
    for (size_t i = 0; i < net->n_layers; i++)
        if (!net->layers[i].spec.frozen)
            trained += net->layers[i].weights + net->layers[i].biases;
    const bool text = job_named_set(job)->of == SAMPLES_WORDS;

    if (net->rows != text)
        err_set(err, ERR_INVALID,
                "spec.model: the last layer gives a score per class for each %s; needed: for each "
                "%s",
                net->rows ? "word" : "sample",
                text ? "word of a text, so the first layer is an embedding" : "sample");
    else if (!net->rows && (net->out.h != 1 || net->out.w != 1))
        err_set(err, ERR_INVALID,
                "spec.model: the last layer gives a %dx%dx%d image; needed: a flat vector with a "
                "score per class, as from a dense layer",
                net->out.c, net->out.h, net->out.w);
    else if (group_of_one(job, net, err) || state_of_several(job, net, err) ||
             nothing_in_bf16(job, net, err))
        ;
    else if (trained == 0)
        err_set(err, ERR_INVALID,
                "spec.model: found no parameters to train; needed: a conv or dense layer that is "
                "not frozen");
    else
        return 0;
    net_release(net);
    return -1;
}
