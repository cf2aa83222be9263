/* paceline speedup: the same job on several worker counts, measured and drawn. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/cluster/cluster_run.h"
#include "cli/report/page.h"
#include "cli/report/table.h"
#include "cli/run/calibrate.h"
#include "cli/run/folder.h"
#include "cli/run/run_once.h"
#include "cli/run/session.h"
#include "paceline/file.h"
#include "paceline/mem.h"
#include "paceline/predict.h"
#include "paceline/yaml.h"

#define COUNTS_MAX 16
#define WORKERS_MAX 1024
#define DEFAULT_STEPS 100
#define DEFAULT_PATIENCE 300

static const struct option_row option_rows[] = {
    TEXT_OPTION("workers", workers, "LIST", "worker counts, separated by commas"),
    COUNT_OPTION("steps", steps, "N", "steps per run (default 100)"),
    TEXT_OPTION("threads", threads, "N", "threads per worker"),
    TEXT_OPTION("t-comm", t_comm, "S",
                "for predictions: seconds of one transfer of all parameters from worker\nto worker "
                "(default: measured; on a cluster: none is predicted)"),
    TEXT_OPTION("t-grad", t_grad, "S",
                "and of a batch's gradient on one worker (default: what one worker of the\nfirst "
                "run reached; measured where that run has several)"),
    SET_OPTION("override a field; may be repeated"),
    OUT_OPTION("DIR", "folder of the report (default runs/<job name>-speedup)"),
    JSON_OPTION("print the result as one JSON object"),
    OPTION_SECTION("On a Kubernetes cluster, by kubectl, each run as a TrainingJob that is removed "
                   "afterwards:"),
    TEXT_OPTION("on", on, "cluster", "instead of on this machine"),
    NAMESPACE_OPTION("NS", "where (default: the file's, else the context's)"),
    TEXT_OPTION("context", context, "NAME", "which cluster (default: kubectl's current context)"),
    COUNT_OPTION("patience", patience, "SECONDS",
                 "how long a job may not train before it is given up (default 300)"),
    FLAG_OPTION("keep", keep, "leave the jobs there"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "JOB.yaml"),
    .before =
        "usage: paceline speedup JOB.yaml --workers 1,2,4 [options]\n"
        "Trains a few steps of the job on each number of workers and compares the throughput.\n",
    .after = "examples:\n"
             "  paceline speedup job.yaml --workers 1,2,4\n"
             "  paceline speedup job.yaml --workers 1,2,4 --on cluster -n team\n",
};

/* Without checkpoints in between: only steps are measured, and all of them. */
static const char *const quiet_sets[] = {
    "checkpoint.everyEpochs=0", "checkpoint.everySteps=0",   "checkpoint.everySeconds=0",
    "checkpoint.best=false",    "training.earlyStopping={}",
};

/* Agents would save every few seconds where nothing is said. The measure is of this many workers.
 */
static const char *const cluster_sets[] = {
    "checkpoint.everySeconds=31536000", "runPolicy.cleanPodPolicy=All", "runPolicy.suspend=false",
    "output={keepSeconds: 0}", /* nobody wants the model */
};

/* One run; speedup, predicted speedup and efficiency are against one worker of the first run. */
struct speedup_row {
    int workers;
    double batches_per_second, samples_per_second, speedup, efficiency, ceiling;
    double predicted; /* NAN: nothing is */
};

struct measurement {
    struct estimate_costs costs; /* what predictions are made of; NAN where nobody knows */
    size_t *tensors;             /* for these */
    bool gradient_given;
    struct speedup_row rows[COUNTS_MAX];
    size_t n;
    char title[128];
    char machine[256];
    bool simulated;
};

/* "1,2,4" into rows; returns an exit code after printing the problem. */
static int parse_counts(struct measurement *m, const char *list)
{
    const char *rest = list;

    while (rest && m->n < COUNTS_MAX) {
        char *end;
        long workers = strtol(rest, &end, 10);

        if (end == rest || (*end != ',' && *end != '\0') || workers < 1 || workers > WORKERS_MAX)
            break;
        m->rows[m->n++].workers = (int)workers;
        if (*end == '\0')
            return EXIT_OK;
        rest = end + 1;
    }
    return cli_usage_error(
        "speedup", "--workers is %s%s%s; it takes up to %d numbers from 1 to %d, as 1,2,4",
        list ? "\"" : "", list ? list : "missing", list ? "\"" : "", COUNTS_MAX, WORKERS_MAX);
}

static double lanes_ceiling(int lanes, int workers)
{
    int most = (lanes + workers - 1) / workers; /* lanes of the busiest worker */

    return (double)lanes / most;
}

static void speedup_take_speed(struct measurement *m, struct speedup_row *row,
                               const struct job *job, double speed)
{
    double per_worker;

    m->simulated = job_simulated(job);
    row->samples_per_second = speed;
    row->batches_per_second = row->samples_per_second / (double)job->training.batch_size;
    per_worker = m->rows[0].samples_per_second / m->rows[0].workers;
    row->speedup = row->samples_per_second / per_worker;
    row->efficiency = row->speedup / row->workers;
    row->ceiling = lanes_ceiling(job_lanes(job), row->workers);
    if (row == m->rows && row->workers == 1 && !m->gradient_given)
        m->costs.gradient_s = predict_gradient(job, &m->costs, speed);
    row->predicted = predict_rate(job, &m->costs) / per_worker;
}

static void take_result(struct measurement *m, struct speedup_row *row, const struct history *h,
                        const struct job *job)
{
    const char *cpu = event_text(h->start, "cpu");

    speedup_take_speed(m, row, job, event_number(h->done, "samplesPerSecond"));
    snprintf(m->machine, sizeof m->machine, "%s, batch %lld%s%.80s", event_text(h->start, "model"),
             (long long)job->training.batch_size, *cpu ? ", on " : "", cpu);
}

static struct job *speedup_load(struct options *o, int workers, int *code)
{
    static const char *const counts[] = {"replicas", "minReplicas", "maxReplicas"};

    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        options_set(o, "replicas.worker.%s=%d", counts[i], workers);
    return cli_load_job(o->operand, &o->sets, code);
}

/* The times that options give. */
static bool take_costs(struct measurement *m, const struct options *o)
{
    m->gradient_given = o->t_grad;
    m->costs = (struct estimate_costs){.gradient_s = NAN, .transfer_s = NAN};
    return (!o->t_grad ||
            cli_parse_seconds(&m->costs.gradient_s, "speedup", "t-grad", o->t_grad)) &&
           (!o->t_comm || cli_parse_seconds(&m->costs.transfer_s, "speedup", "t-comm", o->t_comm));
}

/* Whether a run, or an option, shows what calibration would measure. */
static bool is_known(const struct measurement *m)
{
    const bool one = m->rows[0].workers == 1;

    return (one || !isnan(m->costs.gradient_s)) &&
           ((one && m->n == 1) || !isnan(m->costs.transfer_s));
}

/* The times of predictions, as far as they are not known; and tensors, from data that is here. */
static int measure_costs(struct measurement *m, const struct options *o, const struct job *job)
{
    struct calibration c = {.gradient_s = NAN, .transfer_s = NAN};
    struct err err;
    int code = EXIT_OK;

    if (!o->on && !is_known(m)) {
        fprintf(stderr, "measuring a gradient and a transfer\n");
        code = calibrate(&c, job, &err);
    }
    if (code == EXIT_OK && !o->on && tensors_of_job(&m->costs, &m->tensors, job, &err) < 0)
        code = err_exit_code(err.code);
    if (code != EXIT_OK)
        fprintf(stderr, "paceline speedup: %s\n", err.msg);
    if (isnan(m->costs.gradient_s))
        m->costs.gradient_s = c.gradient_s;
    if (isnan(m->costs.transfer_s))
        m->costs.transfer_s = c.transfer_s;
    return code;
}

/* One run in a folder of its own below out. */
static int speedup_measure(struct measurement *m, struct speedup_row *row, struct options *o,
                           const struct folder *out)
{
    AUTO(auto_free) char *name = xasprintf("workers-%d", row->workers);
    AUTO(auto_free) char *path = folder_file(out, name);
    AUTO(session_release) struct session session;
    AUTO(auto_job) struct job *job = NULL;
    int code = EXIT_UNEXPECTED;
    struct err err;

    session_init(&session, EVENT_DONE);
    job = speedup_load(o, row->workers, &code);
    if (!job)
        return code;
    fprintf(stderr, "measuring %s, %s\n", format_plural(row->workers, "worker").s,
            format_plural((double)job->training.steps, "step").s);
    code = run_once(&session, job, path, RUN_ONCE_OVERWRITE, &err);
    if (code != EXIT_OK)
        return session_fail(&session, "speedup", code, &err);
    take_result(m, row, &session.history, job);
    return EXIT_OK;
}

/* The namespace that the file names; NULL: none. The caller frees it. */
static char *file_namespace(const char *path)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(yaml_release) struct yaml_doc doc = {0};
    const cJSON *metadata, *name = NULL;
    struct err err;

    if (buf_read_file(&text, path, YAML_MAX_BYTES, &err) == 0 &&
        yaml_parse(&doc, text.data, text.len, path, &err) == 0) {
        metadata = cJSON_GetObjectItemCaseSensitive(doc.root, "metadata");
        name = cJSON_GetObjectItemCaseSensitive(metadata, "namespace");
    }
    return cJSON_GetStringValue(name) ? xstrdup(cJSON_GetStringValue(name)) : NULL;
}

static void describe_cluster(struct measurement *m, const struct kubectl *k, const struct job *job)
{
    static const char *const arguments[] = {"config", "current-context", NULL};
    AUTO(buf_release) struct buf out;
    const char *name = k->context;
    struct err err;

    buf_init(&out, 4096);
    if (!name && kubectl_run(k, arguments, NULL, &out, &err) == 0 && out.len > 1) {
        out.data[strcspn(out.data, "\n")] = '\0';
        name = out.data;
    }
    snprintf(m->machine, sizeof m->machine,
             "%s, batch %lld, on cluster %.80s; samples/s: the engine's mean over %lld steps, "
             "without the start and evaluation",
             job->model.name ? job->model.name : "inline", (long long)job->training.batch_size,
             name ? name : "of this pod", (long long)job->training.steps);
}

/* One run as a job of its own on a cluster. */
static int measure_on_cluster(struct measurement *m, struct speedup_row *row, struct options *o,
                              const struct cluster_run *sweep)
{
    AUTO(auto_job) struct job *job = NULL;
    double speed;
    struct err err;
    int code;

    options_set(o, "metadata.name=%s-speedup-%d", m->title, row->workers);
    job = speedup_load(o, row->workers, &code);
    if (!job)
        return code;
    if (row == m->rows) {
        describe_cluster(m, sweep->kubectl, job);
        fprintf(stderr, "%s\n", m->machine);
    }
    if (cluster_run(sweep, job, &speed, &err) == 0) {
        speedup_take_speed(m, row, job, speed);
        return EXIT_OK;
    }
    fprintf(stderr, "paceline speedup: %s\n", err.msg);
    return err_exit_code(err.code);
}

static int measure_all_on_cluster(struct measurement *m, struct options *o)
{
    AUTO(kubectl_release) struct kubectl k;
    AUTO(auto_free) char *own = o->namespace_ ? NULL : file_namespace(o->operand);
    struct cluster_run sweep = {
        .kubectl = &k, .keep = o->keep, .patience = o->patience ? o->patience : DEFAULT_PATIENCE};
    int code = EXIT_OK;

    kubectl_init(&k, o->context, o->namespace_ ? o->namespace_ : own);
    for (size_t i = 0; i < ARRAY_LEN(cluster_sets); i++)
        options_set(o, "%s", cluster_sets[i]);
    if (!o->keep) /* should we be killed */
        options_set(o, "runPolicy.ttlSecondsAfterFinished=3600");
    for (size_t i = 0; i < m->n && code == EXIT_OK; i++)
        code = measure_on_cluster(m, &m->rows[i], o, &sweep);
    return code;
}

static void add_rows(const struct measurement *m, struct text_table *t)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct speedup_row *row = &m->rows[i];
        char text[48];

        table_cell(t, format_count(row->workers).s);
        table_cell(t, format_rate(row->batches_per_second).s);
        table_cell(t, format_rate(row->samples_per_second).s);
        snprintf(text, sizeof text, "%.2f", row->speedup);
        table_cell(t, text);
        snprintf(text, sizeof text, isnan(row->predicted) ? "-" : "%.2f", row->predicted);
        table_cell(t, text);
        snprintf(text, sizeof text, "%.1f%%", 100 * row->efficiency);
        table_cell(t, text);
        snprintf(text, sizeof text, "%.2f", row->ceiling);
        table_cell(t, text);
    }
}

static const char *const head[] = {"-workers",   "-batches/s",  "-samples/s",     "-speedup",
                                   "-predicted", "-efficiency", "-lanes ceiling", NULL};

static void html_table(const struct text_table *t, struct buf *out)
{
    buf_puts(out, "<section class=\"card\"><table class=\"num\"><tr>");
    for (size_t c = 0; c < t->n_columns; c++)
        buf_printf(out, "<th>%s</th>", t->head[c] + 1);
    for (size_t row = 0; row < t->n_cells; row += t->n_columns) {
        buf_puts(out, "</tr><tr>");
        for (size_t c = 0; c < t->n_columns; c++)
            buf_printf(out, "<td>%s</td>", t->cells[row + c]);
    }
    buf_puts(out, "</tr></table></section>\n");
}

static void html_plot(const struct measurement *m, struct buf *out)
{
    double workers[COUNTS_MAX + 1] = {0}, speedup[COUNTS_MAX + 1] = {0};
    double ceiling[COUNTS_MAX + 1] = {0}, predicted[COUNTS_MAX + 1] = {0};
    struct svg_series series[] = {
        {"ideal", 0, workers, workers, m->n + 1, .dashed = true},
        {"lanes ceiling", 1, workers, ceiling, m->n + 1, .dashed = true},
        {"measured", 2, workers + 1, speedup + 1, m->n, .marks = true},
        {"predicted", 3, workers + 1, predicted + 1, m->n, .marks = true},
    };

    for (size_t i = 0; i < m->n; i++) {
        workers[i + 1] = m->rows[i].workers;
        speedup[i + 1] = m->rows[i].speedup;
        ceiling[i + 1] = m->rows[i].ceiling;
        predicted[i + 1] = m->rows[i].predicted;
    }
    page_plot(
        out, "Speedup",
        &(struct svg_plot){.x_label = "workers", .series = series, .n_series = ARRAY_LEN(series)});
}

static int speedup_write_report(const struct measurement *m, const struct text_table *t,
                                const char *path, struct err *err)
{
    AUTO(buf_release) struct buf page;

    buf_init(&page, 0);
    page_begin(&page,
               m->simulated ? "Paceline speedup report, simulated: " FORMAT_SIMULATED
                            : "Paceline speedup report",
               m->title, m->machine);
    buf_puts(&page, "<section class=\"two\">");
    html_plot(m, &page);
    html_table(t, &page);
    buf_puts(&page, "</section>\n");
    page_end(&page);
    return file_write_atomic(path, page.data, page.len, err);
}

static void speedup_print_json(const struct measurement *m, const char *report)
{
    AUTO(auto_json) cJSON *result = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(result, "rows");
    AUTO(auto_free) char *text = NULL;

    for (size_t i = 0; i < m->n; i++) {
        const struct speedup_row *row = &m->rows[i];
        cJSON *item = cJSON_CreateObject();

        cJSON_AddNumberToObject(item, "workers", row->workers);
        cJSON_AddNumberToObject(item, "batchesPerSecond", row->batches_per_second);
        cJSON_AddNumberToObject(item, "samplesPerSecond", row->samples_per_second);
        cJSON_AddNumberToObject(item, "speedup", row->speedup);
        cJSON_AddNumberToObject(item, "predicted", row->predicted); /* NAN: null */
        cJSON_AddNumberToObject(item, "efficiency", row->efficiency);
        cJSON_AddNumberToObject(item, "lanesCeiling", row->ceiling);
        cJSON_AddItemToArray(rows, item);
    }
    if (m->simulated)
        cJSON_AddTrueToObject(result, "simulated");
    cJSON_AddStringToObject(result, "report", report);
    text = cJSON_PrintUnformatted(result);
    puts(text);
}

static int speedup_report(const struct measurement *m, const struct folder *out, bool json)
{
    AUTO(auto_free) char *path = folder_file(out, "report.html");
    AUTO(table_release) struct text_table table;
    struct err err;

    table_init(&table, head);
    add_rows(m, &table);
    if (speedup_write_report(m, &table, path, &err) < 0) {
        fprintf(stderr, "paceline speedup: %s\n", err.msg);
        return err_exit_code(err.code);
    }
    if (json) {
        speedup_print_json(m, path);
    } else {
        table_print(&table, stdout);
        if (m->simulated)
            puts("simulated: " FORMAT_SIMULATED);
        printf("report: %s\n", path);
    }
    return EXIT_OK;
}

static int speedup_take_folder(struct folder *out, const struct options *o, const char *name)
{
    AUTO(auto_free) char *path = o->out ? xstrdup(o->out) : xasprintf("runs/%s-speedup", name);
    struct err err;

    if (folder_take(out, path, true, &err) == 0)
        return EXIT_OK;
    fprintf(stderr, "paceline speedup: %s\n", err.msg);
    return err_exit_code(err.code);
}

/* Refuses options of a cluster without a cluster. */
static int check_place(const struct options *o)
{
    bool cluster = o->on && strcmp(o->on, "cluster") == 0;

    if (o->on && !cluster)
        return cli_usage_error("speedup", "--on is \"%s\"; it takes cluster", o->on);
    if (!cluster && (o->namespace_ || o->context || o->keep || o->patience))
        return cli_usage_error("speedup", "--namespace, --context, --patience and --keep need "
                                          "--on cluster");
    return EXIT_OK;
}

static int measure_all(struct measurement *m, struct options *o, const struct folder *out)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < m->n && code == EXIT_OK; i++)
        code = speedup_measure(m, &m->rows[i], o, out);
    return code;
}

int cmd_speedup(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(folder_release) struct folder out = {.lock = -1};
    AUTO(auto_job) struct job *job = NULL;
    struct measurement m = {.n = 0};
    int code;

    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    code = check_place(&o);
    if (code == EXIT_OK && !take_costs(&m, &o))
        code = EXIT_INVALID;
    if (code == EXIT_OK)
        code = parse_counts(&m, o.workers);
    if (code != EXIT_OK)
        return code;
    for (size_t i = 0; i < ARRAY_LEN(quiet_sets); i++)
        options_set(&o, "%s", quiet_sets[i]);
    options_set(&o, "training.steps=%lld", (long long)(o.steps ? o.steps : DEFAULT_STEPS));
    if (o.threads)
        options_set(&o, "training.threads=%s", o.threads);
    job = speedup_load(&o, m.rows[0].workers, &code);
    if (!job)
        return code;
    snprintf(m.title, sizeof m.title, "%s", job->name);
    code = speedup_take_folder(&out, &o, job->name);
    if (code == EXIT_OK)
        code = measure_costs(&m, &o, job);
    if (code == EXIT_OK)
        code = o.on ? measure_all_on_cluster(&m, &o) : measure_all(&m, &o, &out);
    if (code == EXIT_OK)
        code = speedup_report(&m, &out, o.json);
    free(m.tensors);
    return code;
}
