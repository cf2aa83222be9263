/* paceline split: how ModelParallel would split a job's network over workers, and what that costs.
 */
#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/report/table.h"
#include "paceline/job_split.h"
#include "paceline/mem.h"

static const struct option_row option_rows[] = {
    SET_OPTION("override a field; may be repeated"),
    TEXT_OPTION("workers", workers, "N", "the same as --set replicas.worker.replicas=N"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "JOB"),
    .before =
        "usage: paceline split JOB [options]\n"
        "Prints how strategy.type ModelParallel would split the job's network over its workers:\n"
        "automatic (the slowest worker as fast as can be, then the fewest bytes sent), naive (as "
        "many\n"
        "layers for each) and, where the job has strategy.layerPlacement, by hand.\n",
    .after = "examples:\n"
             "  paceline split job.yaml --workers 3\n",
};

/* The splits of one network, side by side. */
struct split_view {
    const struct job *job;
    struct net net;
    struct net_parts parts;
    int workers;
    int *worker[N_SPLIT_KINDS]; /* of each part; NULL: not asked for */
};

static void view_release(struct split_view *v)
{
    for (int k = 0; k < N_SPLIT_KINDS; k++)
        free(v->worker[k]);
    net_parts_release(&v->parts);
    net_release(&v->net);
}

static int view_init(struct split_view *v, const struct job *job, struct problems *notes,
                     struct err *err)
{
    struct shape shape;
    uint32_t n[2];

    *v = (struct split_view){.job = job, .workers = (int)job->replicas[ROLE_WORKER].replicas};
    if (cli_data_shape(job, &shape, n, notes, err) || job_network(job, shape, 0, &v->net, err))
        return -1;
    net_parts_init(&v->parts, &v->net);
    for (int k = 0; k < N_SPLIT_KINDS; k++) {
        if (k == SPLIT_BY_HAND && !job->strategy.n_layer_placement)
            continue;
        v->worker[k] = xcalloc((size_t)v->parts.n, sizeof *v->worker[k]);
        if (job_split(job, &v->parts, &v->net, k, v->workers, v->worker[k], err))
            return -1;
    }
    return 0;
}

/* "conv1 relu1 maxpool1" */
static void part_name(const struct split_view *v, const struct net_part *p, struct buf *out)
{
    out->len = 0;
    for (size_t i = p->first; i < p->first + p->n; i++)
        buf_printf(out, "%s%s", i > p->first ? " " : "", v->net.layers[i].spec.name);
}

/* A row for each part: what it costs, and its worker in each split. */
static void print_parts(const struct split_view *v)
{
    const char *head[TABLE_COLUMNS + 1] = {"layers", "-MFLOP", "-parameters", "-output"};
    static const char *const right[] = {"-automatic", "-naive", "-by hand"};
    AUTO(table_release) struct text_table table;
    AUTO(buf_release) struct buf name;

    buf_init(&name, 0);
    for (int k = 0, column = 4; k < N_SPLIT_KINDS; k++)
        if (v->worker[k])
            head[column++] = right[k];
    table_init(&table, head);
    for (int i = 0; i < v->parts.n; i++) {
        const struct net_part *p = &v->parts.items[i];
        AUTO(auto_free) char *load = xasprintf("%.3f", v->parts.costs[i].load / 1e6);

        part_name(v, p, &name);
        table_cell(&table, name.data);
        table_cell(&table, load);
        table_cell(&table, format_count((double)p->parameters).s);
        table_cell(&table, format_bytes((double)(p->out * sizeof(float))).s);
        for (int k = 0; k < N_SPLIT_KINDS; k++)
            if (v->worker[k])
                table_cell(&table, format_count(v->worker[k][i]).s);
    }
    table_print(&table, stdout);
}

/* A line for each split, and one for each of its workers. */
static void print_split(const struct split_view *v, int kind)
{
    const struct split_graph graph = {.parts = v->parts.costs,
                                      .n_parts = v->parts.n,
                                      .edges = v->parts.edges,
                                      .n_edges = v->parts.n_edges};
    const struct split_cost cost = split_cost(&graph, v->worker[kind], v->workers);
    AUTO(auto_free) struct split_share *shares = xcalloc((size_t)v->workers, sizeof *shares);
    double all = 0;

    job_split_shares(v->job, &v->parts, v->worker[kind], v->workers, shares);
    for (int w = 0; w < v->workers; w++)
        all += shares[w].load;
    printf("\n%s: %.0f bytes sent per sample, at most %.2f times one worker's speed\n",
           split_kind_names[kind], cost.bytes, job_split_ceiling(v->job, shares, v->workers));
    for (int w = 0; w < v->workers; w++)
        printf("  worker %d: %s of the load, %s\n", w,
               format_percent(all > 0 ? shares[w].load / all : 0).s,
               format_bytes(shares[w].parameters + shares[w].activations).s);
}

int cmd_split(int argc, char **argv)
{
    AUTO(options_release) struct options o = {0};
    AUTO(problems_release) struct problems notes = {0};
    AUTO(auto_job) struct job *job = NULL;
    AUTO(view_release) struct split_view v = {0};
    struct err err;
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (o.workers)
        options_set(&o, "replicas.worker.replicas=%s", o.workers);
    job = cli_load_job(o.operand, &o.sets, &code);
    if (!job)
        return code;
    if (view_init(&v, job, &notes, &err)) {
        fprintf(stderr, "%s: %s\n", o.operand, err.msg);
        return err_exit_code(err.code);
    }
    for (size_t i = 0; i < notes.n; i++)
        fprintf(stderr, "warning: %s\n", notes.items[i]);
    print_parts(&v);
    for (int k = 0; k < N_SPLIT_KINDS; k++)
        if (v.worker[k])
            print_split(&v, k);
    return EXIT_OK;
}
