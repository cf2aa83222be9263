/* paceline evaluate: how good a checkpoint is. */
#include <math.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/report/classes.h"
#include "cli/report/metric_labels.h"
#include "cli/report/table.h"
#include "cli/run/checkpoint_run.h"
#include "paceline/mem.h"

static const struct option_row option_rows[] = {
    TEXT_OPTION("spec", spec, "JOB", "the job (default: the one in the checkpoint)"),
    SET_OPTION("override a field; may be repeated"),
    JSON_OPTION("print the result as one JSON object, with the confusion matrix"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(1, "CHECKPOINT"),
    .before =
        "usage: paceline evaluate CHECKPOINT [options]\n"
        "Runs the job's test set through a checkpoint, and shows the results for each class.\n"
        "CHECKPOINT is a file, or the folder of a run: its best checkpoint, else its last one.\n",
    .after = "examples:\n"
             "  paceline evaluate runs/fashion-cnn\n"
             "  paceline evaluate model.safetensors --set dataset.path=/data/flowers\n",
};

static double evaluate_cell(const cJSON *rows, int r, int c)
{
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetArrayItem(rows, r), c);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Per class: how many were found, how many of those named were right, the likeliest mistake. */
static void print_classes(const cJSON *result, const char *dataset)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(result, "confusion");
    static const char *const head[] = {
        "class", "-samples", "-found", "-right when named", "most often taken for", NULL};
    AUTO(table_release) struct text_table t;
    int n = cJSON_GetArraySize(rows);

    table_init(&t, head);
    for (int r = 0; r < n; r++) {
        double samples = 0, named = 0, right = evaluate_cell(rows, r, r);
        int mistake = r == 0;

        for (int c = 0; c < n; c++) {
            samples += evaluate_cell(rows, r, c);
            named += evaluate_cell(rows, c, r);
            if (c != r && evaluate_cell(rows, r, c) > evaluate_cell(rows, r, mistake))
                mistake = c;
        }
        table_cell(&t, class_name(result, dataset, r).s);
        table_cell(&t, format_count(samples).s);
        table_cell(&t, format_percent(right / samples).s);
        table_cell(&t, format_percent(right / named).s);
        table_cell(&t, n > 1 && evaluate_cell(rows, r, mistake) > 0
                           ? class_name(result, dataset, mistake).s
                           : "-");
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
    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    code = checkpoint_run(&s, &o, "evaluate", true, NULL, 0, &job);
    if (code != EXIT_OK || o.json)
        return code;
    result = s.history.evaluation;
    if (metric_labels_of(result)->values) {
        AUTO(auto_free) char *scores = metric_labels_scores(result, "");

        printf("%s samples: %s\n", format_count(event_number(result, "samples")).s, scores);
        return EXIT_OK;
    }
    print_classes(result, job->dataset.name);
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
