/* paceline estimate: training time and speedup by number of workers, from two measured times. */
#include "paceline/estimate.h"

#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/report/page.h"
#include "cli/report/table.h"
#include "cli/run/calibrate.h"
#include "paceline/mem.h"
#include "paceline/net.h"

#define WORKERS_MAX 1024
#define WORKERS_DEFAULT 8
#define BATCHES_DEFAULT 128

static const struct option_row option_rows[] = {
    TEXT_OPTION("t-grad", t_grad, "S", "seconds of one batch's gradient on one worker"),
    TEXT_OPTION("t-comm", t_comm, "S",
                "seconds of one transfer of all parameters between two hosts"),
    TEXT_OPTION("type", type, "T",
                "sync-join (a batch per worker), sync-split (a batch shared) or async"),
    TEXT_OPTION("server", server, "S",
                "central, distributed (the workers' own) or all-reduce (none)"),
    TEXT_OPTION("algorithm", algorithm, "A",
                "of all-reduce: tree (default), ring, recursiveDoubling or naive"),
    TEXT_OPTION("workers", workers, "N", "the most workers (default 8)"),
    COUNT_OPTION("batches", batches, "D", "batches of the training (default 128)"),
    TEXT_OPTION("model", model, "NAME",
                "distributed servers get this network's tensors whole, not equal shards"),
    TEXT_OPTION("output", output, "O",
                "table (default), csv (speedups of 1 to N), svg, or single (that of N)"),
    OPTION_SECTION("csv and single want --type and --server.\nWith a job both times are measured "
                   "here, and its lanes and placement are taken:"),
    TEXT_OPTION("calibrate", calibrate, "JOB", "instead of --t-grad and --t-comm"),
    COUNT_OPTION("batch-size", batch_size, "B",
                 "samples of an estimated batch, where the job's has others"),
    SET_OPTION("override a field of the job; may be repeated"),
    TEXT_OPTION("threads", threads, "N", "threads per worker"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    .before =
        "usage: paceline estimate --t-grad S --t-comm S [options]\n"
        "       paceline estimate --calibrate JOB [options]\n"
        "Estimates training on 1 to N workers from the seconds of one batch's gradient on one "
        "worker\n"
        "and of one transfer of all parameters between two hosts, and recommends how to train.\n",
    .after = "examples:\n"
             "  paceline estimate --t-grad 0.763 --t-comm 0.21 --workers 16\n"
             "  paceline estimate --calibrate job.yaml\n",
};

struct estimate_request {
    struct estimate_costs costs;
    int type, server; /* -1: any */
    int workers;
};

/* One of n names, -1 for none given; false after the problem was printed. */
static bool parse_name(int *out, const char *option, const char *value, const char *const *names,
                       int n)
{
    AUTO(buf_release) struct buf all;

    *out = -1;
    buf_init(&all, 0);
    for (int i = 0; i < n; i++) {
        if (value && strcmp(value, names[i]) == 0)
            *out = i;
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    if (value && *out < 0)
        cli_usage_error("estimate", "--%s is \"%s\"; it takes one of %s", option, value, all.data);
    return !value || *out >= 0;
}

static bool take_model(struct estimate_request *r, const char *name, size_t **tensors)
{
    const struct net_def *def = name ? net_def_find(name) : NULL;
    struct net net;

    if (!name)
        return true;
    if (!def) {
        cli_usage_error("estimate", "--model is \"%s\"; `paceline models` lists what there is",
                        name);
        return false;
    }
    net_def_build(&net, def);
    free(*tensors);
    r->costs.tensors = *tensors = tensors_of_net(&net, &r->costs.n_tensors);
    net_release(&net);
    return true;
}

/* Measures instead of taking --t-grad and --t-comm; returns an exit code. */
static int take_calibration(struct estimate_request *r, struct options *o, size_t **tensors,
                            FILE *out)
{
    AUTO(auto_job) struct job *job = NULL;
    struct calibration c;
    double batch;
    struct err err;
    int code;

    if (o->threads)
        options_set(o, "training.threads=%s", o->threads);
    job = cli_load_job(o->calibrate, &o->sets, &code);
    if (!job)
        return code;
    code = calibrate(&c, job, &err);
    if (code == EXIT_OK && !o->model && tensors_of_job(&r->costs, tensors, job, &err) < 0)
        code = err_exit_code(err.code);
    if (code != EXIT_OK) {
        fprintf(stderr, "paceline estimate: %s\n", err.msg);
        return code;
    }
    r->costs.lanes = job_lanes(job);
    batch = (double)(o->batch_size ? o->batch_size : job->training.batch_size);
    r->costs.gradient_s = c.gradient_s * batch / (double)job->training.batch_size;
    r->costs.transfer_s = c.transfer_s;
    fprintf(out, "gradient  %.4g s of %s on one worker\n", c.gradient_s,
            format_plural((double)job->training.batch_size, "sample").s);
    if (o->batch_size)
        fprintf(out, "          %.4g s of %s\n", r->costs.gradient_s,
                format_plural(batch, "sample").s);
    fprintf(out, "transfer  %.4g s of %s from rank to rank\n\n", c.transfer_s,
            format_bytes(c.bytes).s);
    return EXIT_OK;
}

/* Options that must not be given together. */
static bool check_sources(const struct options *o)
{
    if (o->calibrate && (o->t_grad || o->t_comm))
        cli_usage_error("estimate", "--calibrate measures what --t-grad and --t-comm say");
    else if (!o->calibrate && (o->threads || o->batch_size || o->sets.n))
        cli_usage_error("estimate", "--threads, --batch-size and --set need --calibrate");
    else
        return true;
    return false;
}

static bool take_options(struct estimate_request *r, const struct options *o, size_t **tensors)
{
    char *end = NULL;
    long workers = o->workers ? strtol(o->workers, &end, 10) : WORKERS_DEFAULT;
    int algorithm;

    if (workers < 1 || workers > WORKERS_MAX || (end && *end)) {
        cli_usage_error("estimate", "--workers is \"%s\"; it takes 1 to %d", o->workers,
                        WORKERS_MAX);
        return false;
    }
    r->workers = (int)workers;
    r->costs.batches = (double)(o->batches ? o->batches : BATCHES_DEFAULT);
    if (!check_sources(o) ||
        (!o->calibrate &&
         (!cli_parse_seconds(&r->costs.gradient_s, "estimate", "t-grad", o->t_grad) ||
          !cli_parse_seconds(&r->costs.transfer_s, "estimate", "t-comm", o->t_comm))) ||
        !parse_name(&algorithm, "algorithm", o->algorithm, estimate_algorithm_names,
                    N_ESTIMATE_ALGORITHMS) ||
        !parse_name(&r->type, "type", o->type, estimate_type_names, N_ESTIMATE_TYPES) ||
        !parse_name(&r->server, "server", o->server, estimate_server_names, N_ESTIMATE_SERVERS))
        return false;
    r->costs.algorithm = algorithm < 0 ? ESTIMATE_TREE : (enum estimate_algorithm)algorithm;
    if (r->type >= 0 && r->server >= 0 && !estimate_exists(r->type, r->server)) {
        cli_usage_error("estimate", "--type async has a server; --server takes central or "
                                    "distributed with it");
        return false;
    }
    return take_model(r, o->model, tensors);
}

static struct estimate_choice estimate_best_of(const struct estimate_request *r)
{
    return estimate_best(&r->costs, r->type, r->server, r->workers);
}

static double estimate_speedup_of(const struct estimate_request *r, int type, int server,
                                  int workers)
{
    return estimate_speedup(&r->costs, estimate_training(&r->costs, type, server, workers).mean_s);
}

/* The types and servers that were asked for. */
struct cases {
    int n;
    struct {
        int type, server;
        char name[32];
    } items[N_ESTIMATE_TYPES * N_ESTIMATE_SERVERS];
};

static void list_cases(struct cases *c, const struct estimate_request *r)
{
    c->n = 0;
    for (int t = 0; t < N_ESTIMATE_TYPES; t++)
        for (int s = 0; s < N_ESTIMATE_SERVERS; s++) {
            if ((r->type >= 0 && t != r->type) || (r->server >= 0 && s != r->server) ||
                !estimate_exists(t, s))
                continue;
            c->items[c->n].type = t;
            c->items[c->n].server = s;
            snprintf(c->items[c->n].name, sizeof c->items[0].name, "-%s %s", estimate_type_names[t],
                     estimate_server_names[s]);
            c->n++;
        }
}

static void estimate_cell(struct text_table *t, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.2f", value);
    table_cell(t, text);
}

static void print_many(const struct estimate_request *r, const struct cases *c)
{
    const char *head[N_ESTIMATE_TYPES * N_ESTIMATE_SERVERS + 2] = {"-workers"};
    AUTO(table_release) struct text_table table;

    for (int i = 0; i < c->n; i++)
        head[i + 1] = c->items[i].name;
    table_init(&table, head);
    for (int n = 1; n <= r->workers; n++) {
        table_cell(&table, format_count(n).s);
        for (int i = 0; i < c->n; i++)
            estimate_cell(&table, estimate_speedup_of(r, c->items[i].type, c->items[i].server, n));
    }
    table_print(&table, stdout);
}

static void print_one(const struct estimate_request *r)
{
    static const char *const head[] = {"-workers",  "-at best", "-at worst",
                                       "-estimate", "-time",    NULL};
    AUTO(table_release) struct text_table table;

    table_init(&table, head);
    for (int n = 1; n <= r->workers; n++) {
        struct estimate e = estimate_training(&r->costs, r->type, r->server, n);

        table_cell(&table, format_count(n).s);
        estimate_cell(&table, estimate_speedup(&r->costs, e.best_s));
        estimate_cell(&table, estimate_speedup(&r->costs, e.worst_s));
        estimate_cell(&table, estimate_speedup(&r->costs, e.mean_s));
        table_cell(&table, format_seconds(e.mean_s).s);
    }
    table_print(&table, stdout);
}

static void estimate_print_table(const struct estimate_request *r)
{
    struct estimate_choice best = estimate_best_of(r);
    struct cases c;

    list_cases(&c, r);
    if (c.n == 1)
        print_one(r);
    else
        print_many(r, &c);
    printf("\nfastest: %s, %s, %s: %.2f times one worker\n",
           format_plural(best.workers, "worker").s, estimate_type_names[best.type],
           estimate_server_names[best.server], best.speedup);
    if (best.speedup <= 1)
        puts("one worker alone, without transfers, is as fast");
}

static void print_csv(const struct estimate_request *r)
{
    for (int n = 1; n <= r->workers; n++)
        printf("%s%.4f", n > 1 ? ";" : "", estimate_speedup_of(r, r->type, r->server, n));
    putchar('\n');
}

static void print_single(const struct estimate_request *r)
{
    printf("%.4f\n", estimate_speedup_of(r, r->type, r->server, r->workers));
}

static void print_svg(const struct estimate_request *r)
{
    AUTO(auto_free) double *x = xcalloc((size_t)r->workers, sizeof *x);
    AUTO(auto_free)
    double *y = xcalloc((size_t)r->workers * ARRAY_LEN(((struct cases *)0)->items), sizeof *y);
    struct svg_series series[ARRAY_LEN(((struct cases *)0)->items)];
    AUTO(buf_release) struct buf out;
    struct cases c;

    list_cases(&c, r);
    for (int i = 0; i < c.n; i++) {
        double *own = y + (size_t)i * (size_t)r->workers;

        for (int n = 1; n <= r->workers; n++) {
            x[n - 1] = n;
            own[n - 1] = estimate_speedup_of(r, c.items[i].type, c.items[i].server, n);
        }
        series[i] =
            (struct svg_series){c.items[i].name + 1, i, x, own, (size_t)r->workers, .marks = true};
    }
    buf_init(&out, 0);
    page_drawing(
        &out, &(struct svg_plot){.x_label = "workers", .series = series, .n_series = (size_t)c.n});
    fputs(out.data, stdout);
}

static const struct estimate_output {
    const char *name;
    bool one; /* of one type and server */
    void (*print)(const struct estimate_request *r);
} outputs[] = {
    {"table", false, estimate_print_table},
    {"csv", true, print_csv},
    {"svg", false, print_svg},
    {"single", true, print_single},
};

int cmd_estimate(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(auto_free) size_t *tensors = NULL;
    const char *names[ARRAY_LEN(outputs)];
    struct estimate_request r = {.workers = 0};
    int code, output;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
        names[i] = outputs[i].name;
    if (!take_options(&r, &o, &tensors) ||
        !parse_name(&output, "output", o.output, names, ARRAY_LEN(outputs)))
        return EXIT_INVALID;
    output = output < 0 ? 0 : output;
    if (outputs[output].one && (r.type < 0 || r.server < 0))
        return cli_usage_error("estimate", "--output %s wants --type and --server", names[output]);
    if (o.calibrate)
        code = take_calibration(&r, &o, &tensors, output == 0 ? stdout : stderr);
    if (code != EXIT_OK)
        return code;
    outputs[output].print(&r);
    return EXIT_OK;
}
