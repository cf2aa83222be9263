/* paceline validate: whether a job is right, and what it will need and promise. */
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/needs.h"
#include "cli/options.h"
#include "paceline/json.h"
#include "paceline/mem.h"

static const char usage[] =
    "usage: paceline validate JOB [options]\n"
    "Checks a job without running it. Exit code 0 when it is right, else 2.\n"
    "  --set PATH=VALUE  override a field; may be repeated\n"
    "  --workers N       the same as --set replicas.worker.replicas=N\n"
    "  --json            print the result, with the effective job, as one JSON object\n";

struct facts {
    const struct job *job;
    struct net net;
    struct needs needs;
    struct problems warnings;
};

static int gather(struct facts *f, struct err *err)
{
    struct shape shape;
    uint32_t n[2];

    job_warnings(f->job, &f->warnings);
    if (!job_builtin(f->job))
        return 0;
    if (cli_data_shape(f->job, &shape, n, &f->warnings, err) ||
        job_network(f->job, shape, 0, &f->net, err))
        return -1;
    return needs_find(&f->needs, f->job, &f->net, n, err);
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
           "            batches %s, exchange %s, data %s (once per host), the rest %s\n",
           format_bytes(e->total).s,
           e->state_part == 1  ? "optimizer"
           : e->state_part > 0 ? "a share of the optimizer"
                               : "no optimizer",
           format_bytes(e->parameters).s, format_bytes(e->activations).s,
           format_bytes(e->batches).s, format_bytes(e->exchange).s, format_bytes(e->data).s,
           format_bytes(e->rest).s);
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
    cJSON_AddNumberToObject(memory, "batches", f->needs.batches);
    cJSON_AddNumberToObject(memory, "exchange", f->needs.exchange);
    cJSON_AddNumberToObject(memory, "data", f->needs.data);
    cJSON_AddNumberToObject(memory, "rest", f->needs.rest);
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
