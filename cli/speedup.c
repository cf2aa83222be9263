/* paceline speedup: the same job on several worker counts, measured and drawn. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/session.h"
#include "cli/table.h"
#include "paceline/clock.h"
#include "paceline/mem.h"

#define COUNTS_MAX 16
#define WORKERS_MAX 1024
#define DEFAULT_STEPS 100

static const char usage[] =
    "usage: paceline speedup JOB.yaml --workers 1,2,4 [options]\n"
    "Trains a few steps of the job on each number of workers and compares the throughput.\n"
    "  --workers LIST    worker counts, separated by commas\n"
    "  --steps N         steps per run (default 100)\n"
    "  --threads N       threads per worker\n"
    "  --set PATH=VALUE  override a field; may be repeated\n"
    "  --out DIR         folder of the report (default runs/<job name>-speedup)\n"
    "  --json            print the result as one JSON object\n";

/* Without checkpoints in between: only steps are measured. */
static const char *const quiet_sets[] = {
    "checkpoint.everyEpochs=0",
    "checkpoint.everySteps=0",
    "checkpoint.everySeconds=0",
    "checkpoint.best=false",
};

/* One run; speedup and efficiency are against one worker of the first run. */
struct row {
    int workers;
    double batches_per_second, samples_per_second, speedup, efficiency, ceiling;
};

struct measurement {
    struct row rows[COUNTS_MAX];
    size_t n;
    char title[128];
    char machine[160];
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
    return cli_usage_error("speedup",
                           "--workers is \"%s\"; it takes up to %d numbers from 1 to %d, as 1,2,4",
                           list ? list : "", COUNTS_MAX, WORKERS_MAX);
}

static double lanes_ceiling(int lanes, int workers)
{
    int most = (lanes + workers - 1) / workers; /* lanes of the busiest worker */

    return (double)lanes / most;
}

static void take_result(struct measurement *m, struct row *row, const struct history *h,
                        const struct job *job)
{
    const char *cpu = event_text(h->start, "cpu");
    double per_worker;

    row->samples_per_second = event_number(h->done, "samplesPerSecond");
    row->batches_per_second = row->samples_per_second / (double)job->training.batch_size;
    per_worker = m->rows[0].samples_per_second / m->rows[0].workers;
    row->speedup = row->samples_per_second / per_worker;
    row->efficiency = row->speedup / row->workers;
    row->ceiling = lanes_ceiling(job_lanes(job), row->workers);
    snprintf(m->title, sizeof m->title, "%s", job->name);
    snprintf(m->machine, sizeof m->machine, "%s, batch %lld%s%.80s", event_text(h->start, "model"),
             (long long)job->training.batch_size, *cpu ? ", on " : "", cpu);
}

static struct job *load(struct options *o, int workers, int *code)
{
    options_set(o, "replicas.worker.replicas=%d", workers);
    return cli_load_job(o->operand, &o->sets, code);
}

/* One run in a folder of its own below out. */
static int measure(struct measurement *m, struct row *row, struct options *o,
                   const struct folder *out)
{
    AUTO(auto_free) char *name = xasprintf("workers-%d", row->workers);
    AUTO(auto_free) char *path = folder_file(out, name);
    AUTO(auto_free) char *spec_path = NULL;
    AUTO(folder_release) struct folder folder = {.lock = -1};
    AUTO(session_release) struct session session;
    AUTO(buf_release) struct buf spec;
    AUTO(auto_job) struct job *job = NULL;
    const char *arguments[] = {"run", "--spec", NULL, "--out", path, NULL};
    int code = EXIT_UNEXPECTED;
    struct err err;

    session_init(&session, EVENT_DONE);
    buf_init(&spec, 0);
    job = load(o, row->workers, &code);
    if (!job)
        return code;
    fprintf(stderr, "measuring %s, %s\n", format_plural(row->workers, "worker").s,
            format_plural((double)job->training.steps, "step").s);
    job_to_json(job, &spec);
    if (folder_take(&folder, path, true, &err) < 0)
        return session_fail(&session, "speedup", err_exit_code(err.code), &err);
    arguments[2] = spec_path = folder_file(&folder, "job.json");
    if (file_write_atomic(spec_path, spec.data, spec.len, &err) < 0)
        return session_fail(&session, "speedup", err_exit_code(err.code), &err);
    code = session_run(&session, arguments, row->workers, (int)job->training.threads,
                       clock_realtime_ns(), &err);
    if (code != EXIT_OK)
        return session_fail(&session, "speedup", code, &err);
    take_result(m, row, &session.history, job);
    return EXIT_OK;
}

static void add_rows(const struct measurement *m, struct table *t)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct row *row = &m->rows[i];
        char text[48];

        table_cell(t, format_count(row->workers).s);
        table_cell(t, format_rate(row->batches_per_second).s);
        table_cell(t, format_rate(row->samples_per_second).s);
        snprintf(text, sizeof text, "%.2f", row->speedup);
        table_cell(t, text);
        snprintf(text, sizeof text, "%.1f%%", 100 * row->efficiency);
        table_cell(t, text);
        snprintf(text, sizeof text, "%.2f", row->ceiling);
        table_cell(t, text);
    }
}

static const char *const head[] = {"-workers",    "-batches/s",     "-samples/s", "-speedup",
                                   "-efficiency", "-lanes ceiling", NULL};

static void html_table(const struct table *t, struct buf *out)
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
    double ceiling[COUNTS_MAX + 1] = {0};
    struct svg_series series[] = {
        {"ideal", 0, workers, workers, m->n + 1, .dashed = true},
        {"lanes ceiling", 1, workers, ceiling, m->n + 1, .dashed = true},
        {"measured", 2, workers + 1, speedup + 1, m->n, .marks = true},
    };

    for (size_t i = 0; i < m->n; i++) {
        workers[i + 1] = m->rows[i].workers;
        speedup[i + 1] = m->rows[i].speedup;
        ceiling[i + 1] = m->rows[i].ceiling;
    }
    page_plot(
        out, "Speedup",
        &(struct svg_plot){.x_label = "workers", .series = series, .n_series = ARRAY_LEN(series)});
}

static int write_report(const struct measurement *m, const struct table *t, const char *path,
                        struct err *err)
{
    AUTO(buf_release) struct buf page;

    buf_init(&page, 0);
    page_begin(&page, "Paceline speedup report", m->title, m->machine);
    buf_puts(&page, "<section class=\"two\">");
    html_plot(m, &page);
    html_table(t, &page);
    buf_puts(&page, "</section>\n");
    page_end(&page);
    return file_write_atomic(path, page.data, page.len, err);
}

static void print_json(const struct measurement *m, const char *report)
{
    AUTO(auto_json) cJSON *result = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(result, "rows");
    AUTO(auto_free) char *text = NULL;

    for (size_t i = 0; i < m->n; i++) {
        const struct row *row = &m->rows[i];
        cJSON *item = cJSON_CreateObject();

        cJSON_AddNumberToObject(item, "workers", row->workers);
        cJSON_AddNumberToObject(item, "batchesPerSecond", row->batches_per_second);
        cJSON_AddNumberToObject(item, "samplesPerSecond", row->samples_per_second);
        cJSON_AddNumberToObject(item, "speedup", row->speedup);
        cJSON_AddNumberToObject(item, "efficiency", row->efficiency);
        cJSON_AddNumberToObject(item, "lanesCeiling", row->ceiling);
        cJSON_AddItemToArray(rows, item);
    }
    cJSON_AddStringToObject(result, "report", report);
    text = cJSON_PrintUnformatted(result);
    puts(text);
}

static int report(const struct measurement *m, const struct folder *out, bool json)
{
    AUTO(auto_free) char *path = folder_file(out, "report.html");
    AUTO(table_release) struct table table;
    struct err err;

    table_init(&table, head);
    add_rows(m, &table);
    if (write_report(m, &table, path, &err) < 0) {
        fprintf(stderr, "paceline speedup: %s\n", err.msg);
        return err_exit_code(err.code);
    }
    if (json) {
        print_json(m, path);
    } else {
        table_print(&table, stdout);
        printf("report: %s\n", path);
    }
    return EXIT_OK;
}

static int take_folder(struct folder *out, const struct options *o, const char *name)
{
    AUTO(auto_free) char *path = o->out ? xstrdup(o->out) : xasprintf("runs/%s-speedup", name);
    struct err err;

    if (folder_take(out, path, true, &err) == 0)
        return EXIT_OK;
    fprintf(stderr, "paceline speedup: %s\n", err.msg);
    return err_exit_code(err.code);
}

int cmd_speedup(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(folder_release) struct folder out = {.lock = -1};
    AUTO(auto_job) struct job *job = NULL;
    struct measurement m = {.n = 0};
    int code;

    if (!options_parse(&o, argc, argv, "set workers steps threads out json", usage, &code))
        return code;
    code = parse_counts(&m, o.workers);
    if (code != EXIT_OK)
        return code;
    for (size_t i = 0; i < ARRAY_LEN(quiet_sets); i++)
        options_set(&o, "%s", quiet_sets[i]);
    options_set(&o, "training.steps=%lld", (long long)(o.steps ? o.steps : DEFAULT_STEPS));
    if (o.threads)
        options_set(&o, "training.threads=%s", o.threads);
    job = load(&o, m.rows[0].workers, &code);
    if (job)
        code = take_folder(&out, &o, job->name);
    for (size_t i = 0; i < m.n && code == EXIT_OK; i++)
        code = measure(&m, &m.rows[i], &o, &out);
    return code == EXIT_OK ? report(&m, &out, o.json) : code;
}
