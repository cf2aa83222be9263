/* paceline validate: whether a job is right, and what it will need and promise. */
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options.h"
#include "paceline/estimate.h"
#include "paceline/job_split.h"
#include "paceline/json.h"
#include "paceline/mem.h"

static const char usage[] =
    "usage: paceline validate JOB [options]\n"
    "Checks a job without running it. Exit code 0 when it is right, else 2.\n"
    "  --set PATH=VALUE  override a field; may be repeated\n"
    "  --workers N       the same as --set replicas.worker.replicas=N\n"
    "  --json            print the result, with the effective job, as one JSON object\n";

/* What a process of the engine holds besides its own slabs: MPI and code. */
#define RUNTIME_BYTES (21.0 * 1048576)

struct needs {
    double parameters, activations, exchange, data, rest, total; /* bytes per worker */
    double state_part; /* of the optimiser's state, in parameters */
    double ceiling;    /* speedup that the lanes allow */
};

struct facts {
    const struct job *job;
    struct net net;
    struct needs needs;
    struct problems warnings;
};

/* Element-wise layers work in place, or in the layer before; the others keep their output for the
 * backward pass. */
static const bool keeps_output[] = {
    [LAYER_CONV] = true,      [LAYER_DENSE] = true,         [LAYER_MAXPOOL] = true,
    [LAYER_AVGPOOL] = true,   [LAYER_GLOBALAVGPOOL] = true, [LAYER_BATCHNORM] = true,
    [LAYER_ADD] = true,       [LAYER_CONCAT] = true,        [LAYER_PADCHANNELS] = true,
    [LAYER_EMBEDDING] = true, [LAYER_LSTM] = true,          [LAYER_LRN] = true,
    [LAYER_SLICE] = true,     [LAYER_INPUT] = true,
};

static double kept_values(const struct net *net)
{
    double values = (double)net->in.c * net->in.h * net->in.w;

    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];
        enum layer_type type = l->spec.type;

        if (keeps_output[type])
            values += (double)l->out.c * l->out.h * l->out.w;
        if (type == LAYER_LSTM) /* gates, states at each position, and what the running one needs */
            values += (double)l->out.c * (7.0 * l->out.w + 36);
    }
    return values;
}

/* The largest part of the optimiser's state that a worker has. */
static double state_share(const struct job *job, const struct net *net)
{
    const int workers = (int)job->replicas[ROLE_WORKER].replicas;
    AUTO(auto_free) size_t *tensors = NULL;
    size_t n = 0;

    if (!job_shards(job) || job_ranks(job) == 1)
        return 1;
    if (job_ranks(job) > workers)
        return 0; /* the servers have it */
    if (job->strategy.placement != PLACEMENT_GREEDY)
        return 1.0 / workers;
    tensors = xcalloc(2 * net->n_layers, sizeof *tensors);
    for (size_t i = 0; i < net->n_layers; i++) {
        tensors[n++] = net->layers[i].weights;
        tensors[n++] = net->layers[i].biases;
    }
    return estimate_largest_shard(tensors, n, workers);
}

/* Of a sample; what was read of files of arrays is the system's. */
static double data_bytes(const struct job *job, const struct net *net)
{
    if (strcmp(job->dataset.name, "arrays") == 0)
        return sizeof(uint16_t);
    return (double)net->in.c * net->in.h * net->in.w *
           (job->dataset.row_convert ? 1 : sizeof(float));
}

/* Weights that one product takes: an LSTM has two of them, of its input and of its state. */
static size_t factor_weights(const struct net_layer *l)
{
    switch (l->spec.type) {
    case LAYER_CONV:
    case LAYER_DENSE:
        return l->weights;
    case LAYER_LSTM:
        return 4 * (size_t)l->out.c * (size_t)(l->in.c > l->out.c ? l->in.c : l->out.c);
    default:
        return 0;
    }
}

/* Weights in the order of the product that is being made: in bf16 each layer's, in fp32 those of an
 * LSTM's state, for the way back. */
static double packed_bytes(const struct job *job, const struct net *net)
{
    const bool bf16 = job->training.precision == PRECISION_BF16;
    size_t largest = 0;

    for (size_t i = 0; i < net->n_layers; i++) {
        const struct net_layer *l = &net->layers[i];
        const size_t state =
            l->spec.type == LAYER_LSTM ? 4 * (size_t)l->out.c * (size_t)l->out.c : 0;
        const size_t bytes = bf16 ? sizeof(uint16_t) * factor_weights(l) : sizeof(float) * state;

        largest = bytes > largest ? bytes : largest;
    }
    return (double)largest;
}

/* What is on its way; where workers are asynchronous servers: the weights that they compute with,
 * and a gradient of their shares. */
static double exchange_bytes(const struct job *job, double tensor, double state_part)
{
    const bool both = job->strategy.type == STRATEGY_PARAMETER_SERVER &&
                      job->strategy.mode != MODE_SYNC && job->replicas[ROLE_PS].replicas == 0;

    return job->replicas[ROLE_WORKER].replicas > 1 ? tensor * (both ? 1 + state_part : 1) : 0;
}

/* Who shares batches is bound by their lanes, who shares an update's batches by these. */
static double ceiling_of(const struct job *job)
{
    const int64_t workers = job->replicas[ROLE_WORKER].replicas;
    const bool apart = job->strategy.type != STRATEGY_SWITCH && job_sharers(job) == 1;
    int64_t parts = job_lanes(job);

    if (job->strategy.batch == BATCH_JOIN)
        parts = job->training.accumulate;
    else if (apart)
        return (double)workers;
    const int64_t most = (parts + workers - 1) / workers; /* of one worker */

    return (double)parts / (double)most;
}

static struct needs needs_of(const struct job *job, const struct net *net, double n_samples)
{
    int64_t lanes = job_lanes(job), sharers = job_sharers(job);
    int64_t lanes_each = (lanes + sharers - 1) / sharers;
    int64_t samples_each = lanes_each * ((job->training.batch_size + lanes - 1) / lanes);
    double tensor = sizeof(float) * (double)net->params, state_part = state_share(job, net);
    struct needs e = {
        .state_part = state_part,
        .parameters = tensor * (2 + state_part * job_optimizer_slots(&job->training.optimizer)),
        .activations = sizeof(float) * kept_values(net) * (double)samples_each,
        .exchange = exchange_bytes(job, tensor, state_part),
        .data = n_samples * data_bytes(job, net),
        .rest = RUNTIME_BYTES + packed_bytes(job, net),
        .ceiling = ceiling_of(job),
    };

    e.total = e.parameters + e.activations + e.exchange + e.data + e.rest;
    return e;
}

/* ModelParallel: of the worker that needs the most. */
static int needs_of_split(struct facts *f, struct err *err)
{
    const int workers = (int)f->job->replicas[ROLE_WORKER].replicas;
    AUTO(net_parts_release) struct net_parts parts;
    AUTO(auto_free) struct split_share *shares = xcalloc((size_t)workers, sizeof *shares);
    AUTO(auto_free) int *worker = NULL;
    struct needs *e = &f->needs;

    net_parts_init(&parts, &f->net);
    worker = xcalloc((size_t)parts.n, sizeof *worker);
    if (job_split(f->job, &parts, &f->net, job_split_kind(f->job), workers, worker, err))
        return -1;
    job_split_shares(f->job, &parts, worker, workers, shares);
    e->ceiling = job_split_ceiling(f->job, shares, workers);
    e->parameters = e->activations = e->exchange = 0;
    for (int w = 0; w < workers; w++)
        if (shares[w].parameters + shares[w].activations > e->parameters + e->activations) {
            e->parameters = shares[w].parameters;
            e->activations = shares[w].activations;
        }
    e->total = e->parameters + e->activations + e->data + e->rest;
    return 0;
}

static int gather(struct facts *f, struct err *err)
{
    struct shape shape;
    double n;

    job_warnings(f->job, &f->warnings);
    if (!job_builtin(f->job))
        return 0;
    if (cli_data_shape(f->job, &shape, &n, &f->warnings, err) ||
        job_network(f->job, shape, 0, &f->net, err))
        return -1;
    f->needs = needs_of(f->job, &f->net, n);
    return f->job->strategy.type == STRATEGY_MODEL_PARALLEL ? needs_of_split(f, err) : 0;
}

static void print_engine(const struct facts *f)
{
    const struct needs *e = &f->needs;
    const struct job *job = f->job;

    printf("promise     %s\n", job_promise(job));
    printf("network     %s, %s parameters, %.1f MFLOP per sample and update\n",
           job->model.name ? job->model.name : "inline", format_count((double)f->net.params).s,
           f->net.flops_train / 1e6);
    printf("memory      about %s per worker: parameters, gradient and %s %s, activations %s,\n"
           "            exchange %s, data %s (once per host), the rest %s\n",
           format_bytes(e->total).s,
           e->state_part == 1  ? "optimizer"
           : e->state_part > 0 ? "a share of the optimizer"
                               : "no optimizer",
           format_bytes(e->parameters).s, format_bytes(e->activations).s,
           format_bytes(e->exchange).s, format_bytes(e->data).s, format_bytes(e->rest).s);
    printf("ceiling     %.4gx on %s: a batch of %lld in %d lanes\n", e->ceiling,
           format_plural((double)job->replicas[ROLE_WORKER].replicas, "worker").s,
           (long long)job->training.batch_size, job_lanes(job));
}

static void print_roles(const struct job *job)
{
    for (int role = 0; role < N_CLUSTER_ROLES; role++)
        if (job->replicas[role].replicas > 0)
            printf("%-11s %lld, as its template says\n", cluster_role_names[role],
                   (long long)job->replicas[role].replicas);
}

static void print_text(const struct facts *f)
{
    const struct job *job = f->job;

    puts("ok");
    if (job_builtin(job))
        print_engine(f);
    else
        print_roles(job);
    for (size_t i = 0; i < f->warnings.n; i++)
        fprintf(stderr, "warning: %s\n", f->warnings.items[i]);
}

static cJSON *texts_json(const struct problems *p)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < p->n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(p->items[i]));
    return list;
}

static void add_engine(cJSON *root, const struct facts *f)
{
    cJSON *memory;

    cJSON_AddStringToObject(root, "promise", job_promise(f->job));
    cJSON_AddNumberToObject(root, "parameters", (double)f->net.params);
    cJSON_AddNumberToObject(root, "flopsPerSample", f->net.flops_train);
    memory = cJSON_AddObjectToObject(root, "memoryBytes");
    cJSON_AddNumberToObject(memory, "parameters", f->needs.parameters);
    cJSON_AddNumberToObject(memory, "activations", f->needs.activations);
    cJSON_AddNumberToObject(memory, "exchange", f->needs.exchange);
    cJSON_AddNumberToObject(memory, "data", f->needs.data);
    cJSON_AddNumberToObject(memory, "total", f->needs.total);
    cJSON_AddNumberToObject(root, "lanes", job_lanes(f->job));
    cJSON_AddNumberToObject(root, "ceiling", f->needs.ceiling);
}

static void print_json(const struct facts *f)
{
    AUTO(auto_json) cJSON *root = cJSON_CreateObject();
    AUTO(buf_release) struct buf spec;
    cJSON *job = NULL;
    struct err err;

    buf_init(&spec, 0);
    job_to_json(f->job, &spec);
    cJSON_AddBoolToObject(root, "ok", true);
    if (job_builtin(f->job))
        add_engine(root, f);
    cJSON_AddNumberToObject(root, "workers", (double)f->job->replicas[ROLE_WORKER].replicas);
    cJSON_AddItemToObject(root, "warnings", texts_json(&f->warnings));
    if (json_parse(&job, spec.data, spec.len, "job", &err) == 0)
        cJSON_AddItemToObject(root, "job", job);
    cli_print_json(root);
}

static int fail(const struct problems *problems, bool json, int code)
{
    AUTO(auto_json) cJSON *root = cJSON_CreateObject();

    for (size_t i = 0; i < problems->n; i++)
        fprintf(stderr, "%s\n", problems->items[i]);
    cJSON_AddBoolToObject(root, "ok", false);
    cJSON_AddItemToObject(root, "problems", texts_json(problems));
    if (json)
        cli_print_json(root);
    return code;
}

int cmd_validate(int argc, char **argv)
{
    AUTO(options_release) struct options o = {0};
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *job = NULL;
    struct facts f = {0};
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, "set workers json", usage, &code))
        return code;
    if (o.workers)
        options_set(&o, "replicas.worker.replicas=%s", o.workers);
    f.job = job = cli_read_job(o.operand, &o.sets, &problems, &code);
    if (!job)
        return fail(&problems, o.json, code);
    if (gather(&f, &err)) {
        problems_add(&problems, "%s: %s", o.operand, err.msg);
        code = fail(&problems, o.json, err_exit_code(err.code));
    } else if (o.json) {
        print_json(&f);
    } else {
        print_text(&f);
    }
    problems_release(&f.warnings);
    net_release(&f.net);
    return code;
}
