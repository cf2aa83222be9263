/* paceline study: a study's runs, its tables and plots, and what held of what should come out. */
#include "cli/study/study.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/base/options.h"
#include "cli/report/table.h"
#include "cli/run/calibrate.h"
#include "cli/run/folder.h"
#include "cli/run/run_once.h"
#include "cli/study/calibrate.h"
#include "cli/study/estimate.h"
#include "cli/study/page.h"
#include "cli/study/paths.h"
#include "cli/study/peer.h"
#include "cli/study/search.h"
#include "paceline/file.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "paceline/nearest.h"

#define FILE_MAX_BYTES (256 * 1024)

static const struct option_row option_rows[] = {
    TEXT_OPTION("scale", scale, "NAME", "how large (default: the study's first, small)"),
    COUNT_OPTION("seeds", seeds, "N", "instead of the scale's number of seeds"),
    SET_OPTION("override a field of every job; may be repeated"),
    OUT_OPTION("DIR", "folder of runs and report (default runs/study-<name>-<scale>)"),
    FLAG_OPTION("check", check, "only see that every variant is a job that can be trained"),
    JSON_OPTION("print the result as one JSON object"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "STUDY"),
    .before = "usage: paceline study [STUDY] [options]\n"
              "Trains every variant of a study with every seed, and writes its tables and plots, "
              "ours beside\n"
              "the published figures. Without a name it lists the studies; STUDY.yaml is one of "
              "your own.\n",
    .after = "A study that is started again continues: it keeps the runs that have ended.\n"
             "examples:\n"
             "  paceline study\n"
             "  paceline study 002\n"
             "  paceline study mine.yaml --check\n",
};

bool study_builtin(const char *name, struct buf *out)
{
    for (size_t i = 0; i < n_study_texts; i++)
        if (strcmp(study_texts[i].name, name) == 0) {
            for (const char *const *line = study_texts[i].lines; *line; line++)
                buf_puts(out, *line);
            return true;
        }
    return false;
}

static int list_studies(void)
{
    static const char *const head[] = {"study", "scales", "title", NULL};
    AUTO(table_release) struct text_table table;

    table_init(&table, head);
    for (size_t i = 0; i < n_study_texts; i++) {
        AUTO(buf_release) struct buf text;
        AUTO(buf_release) struct buf scales;
        AUTO(study_release) struct study s;
        struct err err;

        buf_init(&text, 0);
        buf_init(&scales, 0);
        study_builtin(study_texts[i].name, &text);
        if (study_parse(&s, text.data, text.len, study_texts[i].name, &err) < 0) {
            fprintf(stderr, "paceline study: %s\n", err.msg);
            return EXIT_UNEXPECTED;
        }
        for (size_t k = 0; k < s.n_scales; k++)
            buf_printf(&scales, "%s%s", k ? " " : "", s.scales[k].name);
        table_cell(&table, study_texts[i].name);
        table_cell(&table, scales.data);
        table_cell(&table, s.title);
    }
    table_print(&table, stdout);
    return EXIT_OK;
}

/* A name, or a path where it looks like one. */
static int read_study(struct study *s, const char *word)
{
    AUTO(buf_release) struct buf text = {0};
    struct err err = {0};
    int rc = 0;

    const bool file = strchr(word, '/') || strchr(word, '.');

    if (file) {
        rc = buf_read_file(&text, word, FILE_MAX_BYTES, &err);
    } else if (!study_builtin(word, &text)) {
        return cli_usage_error("study", "there is no study \"%.60s\"; `paceline study` lists them",
                               word);
    }
    if (rc == 0)
        rc = study_parse(s, text.data, text.len, word, &err);
    if (rc == 0) {
        study_place(s, file ? word : NULL);
        return EXIT_OK;
    }
    fprintf(stderr, "paceline study: %s\n", err.msg);
    return err_exit_code(err.code);
}

/* --- jobs --- */

struct study_command {
    struct options options;
    struct study study;
    const struct study_scale *scale;
    struct folder out;
    char *job_path;
    struct study_results results;
};

static void study_command_release(struct study_command *c)
{
    if (c->study.doc.root)
        study_results_release(&c->results);
    study_release(&c->study);
    folder_release(&c->out);
    options_release(&c->options);
    free(c->job_path);
}

/* The job that all variants share, as a file. */
static int study_write_shared_job(struct study_command *c, struct err *err)
{
    AUTO(auto_json) cJSON *job = cJSON_CreateObject();
    AUTO(buf_release) struct buf text;
    AUTO(auto_free) char *name = xasprintf("study-%s", c->study.name);

    buf_init(&text, 0);
    cJSON_AddStringToObject(job, "apiVersion", "paceline.dev/v1");
    cJSON_AddStringToObject(job, "kind", "TrainingJob");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(job, "metadata"), "name", name);
    cJSON_AddItemToObject(job, "spec", cJSON_Duplicate(c->study.job, true));
    json_print(job, 2, &text);
    return file_write_atomic(c->job_path, text.data, text.len, err);
}

/* Each "path: value" as an override. */
static void add_sets(struct options *o, const cJSON *set)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, set)
    {
        AUTO(buf_release) struct buf value;

        buf_init(&value, 0);
        json_print(item, 0, &value);
        options_set(o, "%s=%s", item->string, value.data);
    }
}

/* The scale's overrides, those of presets, the variant's, the seed's, the user's; the last counts.
 */
static struct job *study_load(const struct study_command *c, int variant, int seed, int *code)
{
    const struct study_variant *v = &c->study.variants[variant];
    AUTO(options_release) struct options o = {0};
    const cJSON *item;

    add_sets(&o, c->scale->set);
    cJSON_ArrayForEach(item, v->use)
        add_sets(&o, study_preset(&c->study, c->scale, item->valuestring));
    add_sets(&o, v->set);
    cJSON_ArrayForEach(item, v->at) options_set(&o, "%s=%g", item->valuestring, v->x);
    options_set(&o, "training.seed=%d", seed + 1);
    for (size_t i = 0; i < c->options.sets.n; i++)
        word_list_add(&o.sets, c->options.sets.items[i]);
    return cli_load_job(c->job_path, &o.sets, code);
}

/* Before anything trains: every variant is a job that this machine can run. */
static int check_jobs(const struct study_command *c)
{
    int code = EXIT_OK;

    for (size_t v = 0; v < c->study.n_variants && code == EXIT_OK; v++) {
        const bool runs = study_runs(c->scale, &c->study.variants[v]);
        AUTO(auto_job) struct job *job = runs ? study_load(c, (int)v, 0, &code) : NULL;

        if (runs && !job)
            fprintf(stderr, "paceline study: variant %s is no job that runs\n",
                    c->study.variants[v].name);
    }
    return code;
}

/* --- runs --- */

static bool is_text_of(const char *path, const struct job *job)
{
    AUTO(buf_release) struct buf is = {0};
    AUTO(buf_release) struct buf wanted;
    struct err err;

    buf_init(&wanted, 0);
    job_to_text(job, &wanted);
    return buf_read_file(&is, path, JSON_MAX_BYTES, &err) == 0 && is.len == wanted.len &&
           memcmp(is.data, wanted.data, is.len) == 0;
}

/* A run that is not the engine's: a calibration, or another framework's. */
static int run_apart(struct study_command *c, int variant, int seed, const struct job *job,
                     const char *path, bool keep)
{
    const struct study_variant *v = &c->study.variants[variant];
    struct history *h = study_run(&c->results, variant, seed);
    struct err err;
    const int code = v->peer ? study_peer(h, job, v->peer, path, keep, &err)
                             : study_calibrate(h, job, path, keep, &err);

    if (code != EXIT_OK)
        fprintf(stderr, "paceline study: %s, seed %d: %s\n", v->name, seed + 1, err.msg);
    return code;
}

/* Whether what ended was a training, a calibration or this very command, as the variant is. */
static bool is_of(const struct study_variant *v, const cJSON *done)
{
    return strcmp(event_text(done, "command"), v->peer ? v->peer : "") == 0 &&
           v->calibrates == (cJSON_GetObjectItem(done, "gradientSeconds") != NULL);
}

/* The files of the run, if it is of the same job. */
static bool read_run(const struct study_command *c, int variant, const struct job *job,
                     const char *path, struct history *h)
{
    AUTO(auto_free) char *spec = xasprintf("%s/job.json", path);
    AUTO(auto_free) char *events = xasprintf("%s/events.jsonl", path);

    if (!is_text_of(spec, job))
        return false;
    history_read(h, events);
    if (!h->done || is_of(&c->study.variants[variant], h->done))
        return true;
    history_release(h);
    history_init(h);
    return false;
}

/* Takes an ended run of the same job as it is; else trains, or goes on. */
static int study_run_variant(struct study_command *c, int variant, int seed)
{
    AUTO(auto_free) char *name = xasprintf("%s-seed-%d", c->study.variants[variant].name, seed + 1);
    AUTO(auto_free) char *path = folder_file(&c->out, name);
    AUTO(auto_job) struct job *job = NULL;
    AUTO(session_release) struct session session;
    struct history *h = study_run(&c->results, variant, seed);
    struct err err;
    bool same;
    int code = EXIT_UNEXPECTED;

    session_init(&session, EVENT_DONE);
    job = study_load(c, variant, seed, &code);
    if (!job)
        return code;
    same = read_run(c, variant, job, path, h);
    if (h->done)
        return EXIT_OK;
    if (c->study.variants[variant].calibrates || c->study.variants[variant].peer)
        return run_apart(c, variant, seed, job, path, same);
    code = run_once(&session, job, path, same ? RUN_ONCE_RESUME : RUN_ONCE_ASIDE, &err);
    if (code != EXIT_OK) {
        fprintf(stderr, "%s, seed %d: ", c->study.variants[variant].name, seed + 1);
        return session_fail(&session, "study", code, &err);
    }
    history_release(h);
    *h = session.history;
    history_init(&session.history);
    return EXIT_OK;
}

static bool runs_at_once(const struct study_command *c, int variant)
{
    return study_runs(c->scale, &c->study.variants[variant]) &&
           !study_is_searched(&c->study, variant);
}

/* Without those of searches. */
static int count_runs(const struct study_command *c)
{
    int n = 0;

    for (size_t v = 0; v < c->study.n_variants; v++)
        n += runs_at_once(c, (int)v);
    return n * c->results.seeds;
}

static void say_run(const struct study_command *c, const char *number, int variant, int seed)
{
    const struct history *h = study_run(&c->results, variant, seed);

    const char *why = event_text(h->done, STUDY_NOT_COMPARED);

    fprintf(stderr, "%s  %s, seed %d: %s%s", number, c->study.variants[variant].name, seed + 1,
            *why ? "not compared: " : "",
            *why ? why : format_seconds(event_number(h->done, "seconds")).s);
    if (cJSON_GetObjectItem(h->done, "testAccuracy"))
        fprintf(stderr, ", test %s", format_percent(event_number(h->done, "testAccuracy")).s);
    if (study_is_part(h))
        fprintf(stderr, "; it went on from step %lld: its times and sums are not those of the run",
                (long long)event_integer(h->start, "resumedStep"));
    fputc('\n', stderr);
}

static int run_and_say(struct study_command *c, const char *number, int variant, int seed)
{
    const int code = study_run_variant(c, variant, seed);

    if (code != EXIT_OK)
        return code;
    study_add_traffic(study_run(&c->results, variant, seed));
    say_run(c, number, variant, seed);
    return EXIT_OK;
}

/* Seed by seed, so that what is compared ran at about the same time. */
static int run_all(struct study_command *c)
{
    const int variants = (int)c->study.n_variants, all = count_runs(c);
    int code = EXIT_OK, number = 0;

    for (int seed = 0; seed < c->results.seeds && code == EXIT_OK; seed++)
        for (int v = 0; v < variants && code == EXIT_OK; v++) {
            char text[32];

            if (!runs_at_once(c, v))
                continue;
            snprintf(text, sizeof text, "%d/%d", ++number, all);
            code = run_and_say(c, text, v, seed);
        }
    return code;
}

/* Each with all seeds, as the searches ask for them. */
static int search_all(struct study_command *c)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < c->study.n_searches; i++) {
        const struct study_search *s = &c->study.searches[i];
        int next = study_find(&c->results, s, c->scale).next;

        while (next >= 0 && code == EXIT_OK) {
            for (int seed = 0; seed < c->results.seeds && code == EXIT_OK; seed++)
                code = run_and_say(c, "search", next, seed);
            next = study_find(&c->results, s, c->scale).next;
        }
    }
    return code;
}

/* The speed that a run should have reached, from the calibration of its seed. */
static int estimate_run(struct study_command *c, int variant, int seed)
{
    const struct study_variant *v = &c->study.variants[variant];
    AUTO(auto_free) size_t *tensors = NULL;
    AUTO(auto_job) struct job *job = NULL;
    struct estimate_costs costs = {0};
    struct err err;
    int code = EXIT_OK;

    job = study_load(c, variant, seed, &code);
    if (!job)
        return code;
    if (tensors_of_job(&costs, &tensors, job, &err) < 0) {
        fprintf(stderr, "paceline study: %s: %s\n", v->name, err.msg);
        return err_exit_code(err.code);
    }
    study_estimate(study_run(&c->results, variant, seed), job,
                   study_run(&c->results, v->calibration, seed), tensors, costs.n_tensors);
    return EXIT_OK;
}

static int estimate_all(struct study_command *c)
{
    int code = EXIT_OK;

    for (size_t v = 0; v < c->study.n_variants; v++)
        for (int seed = 0; seed < c->results.seeds && code == EXIT_OK; seed++)
            if (c->study.variants[v].calibration >= 0 && study_has_run(&c->results, (int)v))
                code = estimate_run(c, (int)v, seed);
    return code;
}

/* --- what is printed --- */

static void study_print_table(const struct study_results *r, const struct study_table *t)
{
    const char *head[TABLE_COLUMNS + 1] = {""};
    char titles[TABLE_COLUMNS][64];
    AUTO(auto_free) struct study_row *rows = xcalloc(STUDY_ROWS_MAX, sizeof *rows);
    const size_t n = study_rows(r, t, rows, STUDY_ROWS_MAX);
    AUTO(table_release) struct text_table table;

    for (size_t i = 0; i < t->n_columns; i++) {
        snprintf(titles[i], sizeof titles[i], "-%s", t->columns[i].title);
        head[i + 1] = titles[i];
    }
    table_init(&table, head);
    for (size_t i = 0; i < n; i++) {
        table_cell(&table, rows[i].label);
        for (size_t k = 0; k < t->n_columns; k++)
            table_cell(&table, study_cell_text(r, &t->columns[k], &rows[i]).s);
    }
    printf("%s\n", t->title);
    table_print(&table, stdout);
    putchar('\n');
}

static void print_search(const struct study_command *c, const struct study_search *s)
{
    const struct study_found f = study_find(&c->results, s, c->scale);

    printf("found      %s: %s; of", s->title, study_found_text(&c->results, s, &f).s);
    for (size_t i = 0; i < f.n; i++)
        printf(" %s %s", c->study.variants[f.steps[i].variant].name,
               study_format_mean(s->measure.format, f.steps[i].mean).s);
    putchar('\n');
}

static void study_print_text(const struct study_command *c, const char *report)
{
    const struct study *s = &c->study;

    for (size_t i = 0; i < s->n_tables; i++)
        study_print_table(&c->results, &s->tables[i]);
    for (size_t i = 0; i < s->n_orderings; i++)
        printf("%-9s  %s\n", study_verdict_text(study_judge(&c->results, &s->orderings[i])),
               s->orderings[i].text);
    for (size_t i = 0; i < s->n_searches; i++)
        print_search(c, &s->searches[i]);
    if (study_simulated(&c->results))
        puts("simulated: " FORMAT_SIMULATED);
    printf("report: %s\n", report);
}

static void study_print_json(const struct study_command *c, const char *report)
{
    const struct study *s = &c->study;
    AUTO(auto_json) cJSON *result = cJSON_CreateObject();
    cJSON *runs, *orderings, *searches;

    cJSON_AddStringToObject(result, "study", s->name);
    cJSON_AddStringToObject(result, "scale", c->scale->name);
    runs = cJSON_AddArrayToObject(result, "runs");
    for (size_t v = 0; v < s->n_variants; v++)
        for (int seed = 0; seed < c->results.seeds && study_has_run(&c->results, (int)v); seed++) {
            cJSON *run = cJSON_CreateObject();

            cJSON_AddStringToObject(run, "variant", s->variants[v].name);
            cJSON_AddNumberToObject(run, "seed", seed + 1);
            cJSON_AddItemToObject(
                run, "done", cJSON_Duplicate(study_run(&c->results, (int)v, seed)->done, true));
            cJSON_AddItemToArray(runs, run);
        }
    orderings = cJSON_AddArrayToObject(result, "orderings");
    for (size_t i = 0; i < s->n_orderings; i++) {
        cJSON *o = cJSON_CreateObject();

        cJSON_AddStringToObject(o, "text", s->orderings[i].text);
        cJSON_AddStringToObject(o, "verdict",
                                study_verdict_text(study_judge(&c->results, &s->orderings[i])));
        cJSON_AddItemToArray(orderings, o);
    }
    searches = cJSON_AddArrayToObject(result, "searches");
    for (size_t i = 0; i < s->n_searches; i++) {
        const struct study_found f = study_find(&c->results, &s->searches[i], c->scale);
        cJSON *o = cJSON_CreateObject();

        cJSON_AddStringToObject(o, "title", s->searches[i].title);
        cJSON_AddNumberToObject(o, "needed", f.needed);
        cJSON_AddStringToObject(o, "found", f.variant < 0 ? "" : s->variants[f.variant].name);
        cJSON_AddItemToArray(searches, o);
    }
    cJSON_AddStringToObject(result, "report", report);
    cli_print_json(result);
}

static int study_report(struct study_command *c)
{
    AUTO(auto_free) char *path = folder_file(&c->out, "report.html");
    AUTO(buf_release) struct buf page;
    struct err err;

    buf_init(&page, 0);
    study_html(&c->results, c->scale, &page);
    if (file_write_atomic(path, page.data, page.len, &err) < 0) {
        fprintf(stderr, "paceline study: %s\n", err.msg);
        return err_exit_code(err.code);
    }
    if (c->options.json)
        study_print_json(c, path);
    else
        study_print_text(c, path);
    return EXIT_OK;
}

/* --- the command --- */

static int no_scale(const struct study *s, const char *name)
{
    AUTO(buf_release) struct buf names;

    buf_init(&names, 0);
    for (size_t i = 0; i < s->n_scales; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", s->scales[i].name);
    return cli_usage_error("study", "--scale is \"%s\"; study %s has %s", name, s->name,
                           names.data);
}

static int choose_scale(struct study_command *c)
{
    const char *name = c->options.scale ? c->options.scale : c->study.scales->name;

    if (c->options.seeds > STUDY_SEEDS_MAX)
        return cli_usage_error("study", "--seeds is %lld; it takes a number from 1 to %d",
                               (long long)c->options.seeds, STUDY_SEEDS_MAX);
    c->scale = study_scale(&c->study, name);
    return c->scale ? EXIT_OK : no_scale(&c->study, name);
}

static int study_take_folder(struct study_command *c)
{
    AUTO(auto_free)
    char *path = c->options.out ? xstrdup(c->options.out)
                                : xasprintf("runs/study-%s-%s", c->study.name, c->scale->name);
    struct err err;

    if (folder_take(&c->out, path, true, &err) == 0) {
        c->job_path = folder_file(&c->out, "job.json");
        if (study_write_shared_job(c, &err) == 0)
            return EXIT_OK;
    }
    fprintf(stderr, "paceline study: %s\n", err.msg);
    return err_exit_code(err.code);
}

/* --check: prints what would run. No run has begun, so there is nothing to clean up. */
static void say_checked(struct study_command *c)
{
    int variants = 0;

    for (size_t v = 0; v < c->study.n_variants; v++)
        variants += study_runs(c->scale, &c->study.variants[v]);
    printf("study %s, scale %s: %s, %s each; every one is a job that can be trained\n",
           c->study.name, c->scale->name, format_plural(variants, "variant").s,
           format_plural(c->results.seeds, "seed").s);
    if (c->out.made)
        unlink(c->job_path);
    folder_give_back(&c->out);
}

int cmd_study(int argc, char **argv)
{
    AUTO(study_command_release) struct study_command c = {.out = {.lock = -1}};
    int code;

    if (argc < 2)
        return list_studies();
    if (!options_parse(&c.options, argc, argv, &command, &code))
        return code;
    code = read_study(&c.study, c.options.operand);
    if (code != EXIT_OK)
        return code;
    code = choose_scale(&c);
    if (code != EXIT_OK)
        return code;
    study_results_init(&c.results, &c.study,
                       c.options.seeds ? (int)c.options.seeds : c.scale->seeds);
    code = study_take_folder(&c);
    if (code == EXIT_OK)
        code = check_jobs(&c);
    if (code == EXIT_OK && c.options.check)
        say_checked(&c);
    if (code != EXIT_OK || c.options.check)
        return code;
    code = run_all(&c);
    if (code == EXIT_OK)
        code = search_all(&c);
    if (code == EXIT_OK)
        code = estimate_all(&c);
    return code == EXIT_OK ? study_report(&c) : code;
}
