/* paceline validate: whether a job is right, and what it will need and promise. */
#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/run/needs.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "worker/data/fit.h"
#include "worker/threads/threads.h"

static const struct option_row option_rows[] = {
    SET_OPTION("override a field; may be repeated"),
    TEXT_OPTION("workers", workers, "N", "the same as --set replicas.worker.replicas=N"),
    JSON_OPTION("print the result, with the effective job, as one JSON object, or for\nseveral "
                "jobs as a list of them"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(SIZE_MAX, "JOB..."),
    .before =
        "usage: paceline validate JOB... [options]\n"
        "Checks jobs without running them; a JOB of - is standard input. Exit code 0 if all are\n"
        "valid, else that of the first one that is not: 2, or 3 if a file cannot be read.\n",
    .after = "examples:\n"
             "  paceline validate job.yaml\n"
             "  paceline validate examples/mlp.yaml examples/cifar10.yaml --set training.epochs=1\n"
             "  paceline init photos | paceline validate -\n",
};

struct facts {
    const char *path; /* for messages */
    bool many;        /* one of several: each message names its file */
    const struct job *job;
    struct net net;
    struct needs needs;
    struct problems warnings;
};

/* Reads the facts from the files. If a named set is not on this machine, takes its published sizes.
 */
static int read_data(const struct facts *f, struct data_facts *d, uint32_t n[2],
                     struct problems *notes, struct err *err)
{
    struct shape shape;
    uint32_t rest;

    if (cli_data_shape(f->job, &shape, n, notes, err))
        return -1;
    if (data_facts_read(d, f->job, err) == 0)
        return 0;
    if (err->code != ERR_NOT_FOUND || !datasets_published(f->job, &shape, &rest))
        return -1;
    *d = (struct data_facts){.shape = shape};
    if (job_named_set(f->job)->of != SAMPLES_WORDS) /* of a text only a maximum is known */
        d->classes = job_published_classes(f->job);
    return datasets_divide(f->job, n[0], &d->n_train, &rest, err);
}

/* Warns about things that the job does with its data, or on this machine, and that are probably not
 * intended. */
static void validate_warn(struct facts *f, const struct data_facts *d)
{
    const struct job *job = f->job;
    const int64_t threads = job->training.threads > 0 ? job->training.threads : 1;
    const int ranks = job_ranks(job), cores = threads_available_cpus();

    if (d->n_skipped)
        problems_add(&f->warnings,
                     "spec.dataset.path: found %s that end neither in .jpg nor in .jpeg or .png; "
                     "they are left alone, the first is %s",
                     format_plural(d->n_skipped, "file").s, d->skipped);
    if (job->training.batch_size > d->n_train)
        problems_add(&f->warnings,
                     "spec.training.batchSize: found %lld for %u training samples; each epoch is "
                     "one update of all of them",
                     (long long)job->training.batch_size, d->n_train);
    if (ranks * threads > cores)
        problems_add(&f->warnings,
                     "spec.replicas: found %s of %s for the %s of this machine; here they take "
                     "turns",
                     format_plural(ranks, "rank").s, format_plural((double)threads, "thread").s,
                     format_plural(cores, "core").s);
}

static int validate_gather(struct facts *f, struct err *err)
{
    struct data_facts data;
    uint32_t n[2];

    job_warnings(f->job, &f->warnings);
    if (!job_builtin(f->job))
        return 0;
    if (read_data(f, &data, n, &f->warnings, err) ||
        job_network(f->job, data.shape, data.classes, &f->net, err) ||
        data_fit(&data, f->job, &f->net, err))
        return -1;
    validate_warn(f, &data);
    return needs_find(&f->needs, f->job, &f->net, n, err);
}

static void print_memory(const char *title, const char *of, const struct needs_memory *m,
                         const char *state)
{
    printf("%-11s about %s per %s: parameters, gradient and %s %s, activations %s,\n"
           "            batches %s, exchange %s, data %s (once per host), the rest %s\n",
           title, format_bytes(m->total).s, of, state, format_bytes(m->parameters).s,
           format_bytes(m->activations).s, format_bytes(m->batches).s, format_bytes(m->exchange).s,
           format_bytes(m->data).s, format_bytes(m->rest).s);
}

static void print_engine(const struct facts *f)
{
    const struct needs *e = &f->needs;
    const struct job *job = f->job;

    printf("promise     %s\n", job_promise(job));
    printf("network     %s, %s parameters, %.1f MFLOP per sample and update\n",
           job->model.name ? job->model.name : "inline", format_count((double)f->net.params).s,
           f->net.flops_train / 1e6);
    print_memory("memory", "worker", &e->worker,
                 e->state_part == 1  ? "optimizer"
                 : e->state_part > 0 ? "a share of the optimizer"
                                     : "no optimizer");
    if (e->server.total > 0)
        print_memory("", "ps", &e->server,
                     job->replicas[ROLE_PS].replicas == 1 || !job_shards(job)
                         ? "optimizer"
                         : "a share of the optimizer");
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

static void validate_print_text(const struct facts *f)
{
    const struct job *job = f->job;

    printf("%s%sok\n", f->many ? f->path : "", f->many ? ": " : "");
    if (job_builtin(job))
        print_engine(f);
    else
        print_roles(job);
    for (size_t i = 0; i < f->warnings.n; i++)
        fprintf(stderr, "%s%swarning: %s\n", f->many ? f->path : "", f->many ? ": " : "",
                f->warnings.items[i]);
}

static cJSON *texts_json(const struct problems *p)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < p->n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(p->items[i]));
    return list;
}

static void add_memory(cJSON *root, const char *name, const struct needs_memory *m)
{
    cJSON *memory = cJSON_AddObjectToObject(root, name);

    cJSON_AddNumberToObject(memory, "parameters", m->parameters);
    cJSON_AddNumberToObject(memory, "activations", m->activations);
    cJSON_AddNumberToObject(memory, "batches", m->batches);
    cJSON_AddNumberToObject(memory, "exchange", m->exchange);
    cJSON_AddNumberToObject(memory, "data", m->data);
    cJSON_AddNumberToObject(memory, "rest", m->rest);
    cJSON_AddNumberToObject(memory, "total", m->total);
}

static void add_engine(cJSON *root, const struct facts *f)
{
    cJSON_AddStringToObject(root, "promise", job_promise(f->job));
    cJSON_AddNumberToObject(root, "parameters", (double)f->net.params);
    cJSON_AddNumberToObject(root, "flopsPerSample", f->net.flops_train);
    add_memory(root, "memoryBytes", &f->needs.worker);
    if (f->needs.server.total > 0)
        add_memory(root, "serverMemoryBytes", &f->needs.server);
    cJSON_AddNumberToObject(root, "lanes", job_lanes(f->job));
    cJSON_AddNumberToObject(root, "ceiling", f->needs.ceiling);
}

static cJSON *result_json(const struct facts *f)
{
    cJSON *root = cJSON_CreateObject(), *job = NULL;
    AUTO(buf_release) struct buf spec;
    struct err err;

    buf_init(&spec, 0);
    job_to_json(f->job, &spec);
    cJSON_AddBoolToObject(root, "ok", true);
    cJSON_AddStringToObject(root, "file", f->path);
    if (job_builtin(f->job))
        add_engine(root, f);
    cJSON_AddNumberToObject(root, "workers", (double)f->job->replicas[ROLE_WORKER].replicas);
    cJSON_AddItemToObject(root, "warnings", texts_json(&f->warnings));
    if (json_parse(&job, spec.data, spec.len, "job", &err) == 0)
        cJSON_AddItemToObject(root, "job", job);
    return root;
}

static cJSON *problems_json(const char *path, const struct problems *problems)
{
    cJSON *root = cJSON_CreateObject();

    cJSON_AddBoolToObject(root, "ok", false);
    cJSON_AddStringToObject(root, "file", path);
    cJSON_AddItemToObject(root, "problems", texts_json(problems));
    return root;
}

/* Checks the job at path (-: standard input) and prints the result, or adds it to results. */
static int validate(struct facts *f, const char *path, const struct options *o, cJSON *results)
{
    AUTO(problems_release) struct problems problems = {0};
    AUTO(auto_job) struct job *job = NULL;
    struct err err;
    int code;
    bool good;

    f->job = job = cli_read_job(path, &o->sets, &problems, &code);
    good = job != NULL;
    if (good && validate_gather(f, &err)) {
        problems_add(&problems, "%s: %s", f->path, err.msg);
        code = err_exit_code(err.code);
        good = false;
    }
    for (size_t i = 0; i < problems.n; i++)
        fprintf(stderr, "%s\n", problems.items[i]);
    if (results)
        cJSON_AddItemToArray(results, good ? result_json(f) : problems_json(f->path, &problems));
    else if (good)
        validate_print_text(f);
    problems_release(&f->warnings);
    net_release(&f->net);
    return code;
}

int cmd_validate(int argc, char **argv)
{
    AUTO(options_release) struct options o = {0};
    AUTO(auto_json) cJSON *results = NULL;
    int code, first = EXIT_OK;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (o.workers)
        options_set(&o, "replicas.worker.replicas=%s", o.workers);
    if (o.json)
        results = cJSON_CreateArray();
    for (size_t i = 0; i < o.operands.n; i++) {
        const bool stdin_ = strcmp(o.operands.items[i], "-") == 0;
        struct facts f = {.path = stdin_ ? "standard input" : o.operands.items[i],
                          .many = o.operands.n > 1};

        code = validate(&f, o.operands.items[i], &o, results);
        first = first ? first : code;
    }
    if (results)
        cli_print_json(o.operands.n > 1 ? results : results->child);
    return first;
}
