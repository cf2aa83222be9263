/* paceline evaluate, paceline predict: what a checkpoint is worth. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/checkpoint_job.h"
#include "cli/classes.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/terms.h"
#include "paceline/clock.h"
#include "paceline/mem.h"

#define ARGUMENTS_MAX 12

static const char evaluate_usage[] =
    "usage: paceline evaluate CHECKPOINT [options]\n"
    "Runs the job's test set through a checkpoint.\n"
    "  --spec JOB   the job (default: what the checkpoint says of it)\n"
    "  --set PATH=VALUE  override a field; may be repeated\n"
    "  --json       print the result as one JSON object\n"
    "examples:\n"
    "  paceline evaluate runs/fashion-cnn/best.safetensors\n";

static const char predict_usage[] =
    "usage: paceline predict CHECKPOINT --input IMAGES [options]\n"
    "Runs images through a checkpoint; one line per image.\n"
    "  --input FILE an IDX file of images, plain or gzip\n"
    "  --limit N    only the first N images\n"
    "  --spec JOB   the job (default: what the checkpoint says of it)\n"
    "  --set PATH=VALUE  override a field; may be repeated\n"
    "  --json       print one JSON object per image\n"
    "examples:\n"
    "  paceline predict runs/fashion-cnn/best.safetensors --input images-idx3-ubyte --limit 10\n";

/* The effective spec as a file that the worker inherits and that needs no removal. */
static int spec_file(const struct job *job, char path[32], struct err *err)
{
    AUTO(buf_release) struct buf spec;
    int fd = memfd_create("job.json", 0);

    buf_init(&spec, 0);
    job_to_json(job, &spec);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, spec.data, spec.len) == (ssize_t)spec.len)
        return fd;
    auto_close(&fd);
    return err_set(err, ERR_IO, "cannot hold the spec: %s", strerror(errno));
}

/* Loads the job and runs the engine's command on the checkpoint; prints problems. */
static int run_on_checkpoint(struct session *s, const struct options *o, const char *command,
                             struct job **job)
{
    AUTO(auto_close) int fd = -1;
    const char *arguments[ARGUMENTS_MAX] = {command, "--spec", NULL, "--checkpoint", o->operand};
    char spec_path[32], limit[24];
    int n = 5, code;
    struct err err;

    s->json = o->json;
    *job = cli_checkpoint_job(o->operand, o->spec, &o->sets, &code);
    if (!*job)
        return code;
    fd = spec_file(*job, spec_path, &err);
    if (fd < 0)
        return session_fail(s, command, err_exit_code(err.code), &err);
    arguments[2] = spec_path;
    if (o->input) {
        arguments[n++] = "--input";
        arguments[n++] = o->input;
    }
    if (o->limit) {
        snprintf(limit, sizeof limit, "%lld", (long long)o->limit);
        arguments[n++] = "--limit";
        arguments[n++] = limit;
    }
    code = session_run(s, arguments, 1, (int)(*job)->training.threads, clock_realtime_ns(), &err);
    return code == EXIT_OK ? code : session_fail(s, command, code, &err);
}

static double cell(const cJSON *rows, int r, int c)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetArrayItem(rows, r), c);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Per class: how many were found, how many of those named were right, the likeliest mistake. */
static void print_classes(const cJSON *rows, const char *dataset)
{
    static const char *const head[] = {
        "class", "-samples", "-found", "-right when named", "most often taken for", NULL};
    AUTO(table_release) struct table t;
    int n = cJSON_GetArraySize(rows);

    table_init(&t, head);
    for (int r = 0; r < n; r++) {
        double samples = 0, named = 0, right = cell(rows, r, r);
        int mistake = r == 0;

        for (int c = 0; c < n; c++) {
            samples += cell(rows, r, c);
            named += cell(rows, c, r);
            if (c != r && cell(rows, r, c) > cell(rows, r, mistake))
                mistake = c;
        }
        table_cell(&t, class_name(dataset, r).s);
        table_cell(&t, format_count(samples).s);
        table_cell(&t, format_percent(right / samples).s);
        table_cell(&t, format_percent(right / named).s);
        table_cell(&t, n > 1 && cell(rows, r, mistake) > 0 ? class_name(dataset, mistake).s : "-");
    }
    table_print(&t, stdout);
}

int cmd_evaluate(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(session_release) struct session s;
    AUTO(auto_job) struct job *job = NULL;
    const cJSON *result;
    int code;

    session_init(&s, EVENT_EVALUATION);
    if (!options_parse(&o, argc, argv, "spec set json", evaluate_usage, &code))
        return code;
    code = run_on_checkpoint(&s, &o, "evaluate", &job);
    if (code != EXIT_OK || o.json)
        return code;
    result = s.history.evaluation;
    if (terms_of(result)->values) {
        AUTO(auto_free) char *scores = terms_scores(result, "");

        printf("%s samples: %s\n", format_count(event_number(result, "samples")).s, scores);
        return EXIT_OK;
    }
    print_classes(cJSON_GetObjectItemCaseSensitive(result, "confusion"), job->dataset.name);
    const double perplexity = event_number(result, "perplexity");

    printf("\n%s %s: ", format_count(event_number(result, "samples")).s,
           isfinite(perplexity) ? "words" : "samples");
    if (isfinite(perplexity))
        printf("perplexity %s, ", format_perplexity(perplexity).s);
    const double top5 = event_number(result, "top5");

    printf("accuracy %s%s%s, loss %s\n", format_percent(event_number(result, "accuracy")).s,
           isfinite(top5) ? ", top-5 " : "", isfinite(top5) ? format_percent(top5).s : "",
           format_loss(event_number(result, "loss")).s);
    if (isfinite(event_number(result, "f1")))
        printf("mean of the classes: precision %s, recall %s, F1 %s\n",
               format_percent(event_number(result, "precision")).s,
               format_percent(event_number(result, "recall")).s,
               format_percent(event_number(result, "f1")).s);
    return EXIT_OK;
}

/* The class with the second largest probability; -1: there is none. */
static int runner_up(const cJSON *prediction)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(prediction, "probabilities"), *item;
    int64_t first = event_integer(prediction, "class");
    double best = -1;
    int i = 0, found = -1;

    cJSON_ArrayForEach(item, all)
    {
        if (i != first && item->valuedouble > best) {
            best = item->valuedouble;
            found = i;
        }
        i++;
    }
    return found;
}

static void print_predictions(const cJSON *predictions, const char *dataset)
{
    static const char *const head[] = {"-image", "class", "-probability", "else", NULL};
    AUTO(table_release) struct table t;
    const cJSON *p;

    table_init(&t, head);
    cJSON_ArrayForEach(p, predictions)
    {
        int second = runner_up(p);

        table_cell(&t, format_number(event_number(p, "index")).s);
        table_cell(&t, class_name(dataset, (int)event_integer(p, "class")).s);
        table_cell(&t, format_percent(event_number(p, "probability")).s);
        table_cell(&t, second >= 0 ? class_name(dataset, second).s : "-");
    }
    table_print(&t, stdout);
}

int cmd_predict(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(session_release) struct session s;
    AUTO(auto_job) struct job *job = NULL;
    int code;

    session_init(&s, EVENT_PREDICTION);
    if (!options_parse(&o, argc, argv, "spec set input limit json", predict_usage, &code))
        return code;
    if (!o.input)
        return cli_usage_error("predict", "--input is missing; it takes an IDX file of images");
    code = run_on_checkpoint(&s, &o, "predict", &job);
    if (code == EXIT_OK && !o.json)
        print_predictions(s.history.predictions, job->dataset.name);
    return code;
}
