/* paceline predict: asks a model about files. */
#include <math.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/base/format.h"
#include "cli/run/checkpoint_run.h"
#include "paceline/mem.h"
#include "paceline/text.h"

static const struct option_row option_rows[] = {
    TEXT_OPTION("input", input, "INPUT", "the same as INPUT; it comes first"),
    COUNT_OPTION("top", top, "N", "the N likeliest classes (3)"),
    COUNT_OPTION("limit", limit, "N", "only the first N samples"),
    TEXT_OPTION("spec", spec, "JOB", "the job (default: the one in the checkpoint)"),
    SET_OPTION("override a field; may be repeated"),
    JSON_OPTION("print one JSON object per sample, with all probabilities"),
};

static const struct command_line command = {
    COMMAND_OPTIONS(option_rows),
    COMMAND_OPERANDS(SIZE_MAX, "CHECKPOINT"),
    .before =
        "usage: paceline predict CHECKPOINT INPUT... [options]\n"
        "Asks a trained model about files: a line for each sample, the likeliest classes first.\n"
        "CHECKPOINT is a file, or the folder of a run: its best checkpoint, else its last one.\n"
        "  INPUT        images: JPEG, PNG, IDX, CIFAR (.bin), .npy, .csv, or a folder of images;\n"
        "               arrays: .npy, .csv, or, for several inputs, NAME=FILE for each or their\n"
        "               folder; a text: prints its perplexity and the likeliest next words\n",
    .after = "Exit code 3 if an input cannot be read; all others are still answered.\n"
             "examples:\n"
             "  paceline predict runs/flowers photo.jpg more/*.png album\n"
             "  paceline predict runs/sky image=i.npy spectrum=s.npy --json\n",
};

/* "flower.jpg", "digits.idx[7]". */
static void print_subject(FILE *out, const cJSON *event)
{
    const int64_t sample = event_integer(event, "sample");

    text_print(out, event_text(event, "input"));
    if (sample >= 0)
        fprintf(out, "[%lld]", (long long)sample);
    fputs(": ", out);
}

static void print_top(const cJSON *event)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(event, "top"), *item;

    cJSON_ArrayForEach(item, all)
    {
        const char *label = event_text(item, "label");

        printf("%s", item == all->child ? "" : ", ");
        if (*label)
            text_print(stdout, label);
        else
            printf("%lld", (long long)event_integer(item, "class"));
        printf(" %s", format_percent(event_number(item, "probability")).s);
    }
}

/* For numbers, one for each output; for several labels, those that are 1, with their probabilities.
 */
static void print_outputs(const cJSON *event)
{
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(event, "values"), *item;
    const cJSON *labels = cJSON_GetObjectItemCaseSensitive(event, "labels");
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(event, "probabilities");

    cJSON_ArrayForEach(item, values)
        printf("%s%s", item == values->child ? "" : ", ", format_number(item->valuedouble).s);
    cJSON_ArrayForEach(item, labels)
        printf("%s%d %s", item == labels->child ? "" : ", ", item->valueint,
               format_percent(cJSON_GetNumberValue(cJSON_GetArrayItem(all, item->valueint))).s);
    if (labels && !labels->child)
        printf("none");
}

/* For a text: how well the model predicted it. */
static void predict_print_text(const cJSON *event)
{
    const double unknown = event_number(event, "unknown");

    if (!isfinite(event_number(event, "words")))
        return;
    printf(" (%s", format_plural(event_number(event, "words"), "word").s);
    if (unknown > 0)
        printf(", %s unknown", format_count(unknown).s);
    if (isfinite(event_number(event, "perplexity")))
        printf(", perplexity %s", format_perplexity(event_number(event, "perplexity")).s);
    printf(")");
}

static void predict_show(void *arg, enum event_type type, const cJSON *event)
{
    (void)arg;
    if (type == EVENT_SKIPPED) {
        fflush(stdout);
        fputs("paceline predict: ", stderr);
        text_print(stderr, event_text(event, "message"));
        fputs("\n", stderr);
    }
    if (type != EVENT_PREDICTION)
        return;
    print_subject(stdout, event);
    print_top(event);
    print_outputs(event);
    predict_print_text(event);
    puts("");
}

/* The engine's own options, then the inputs. */
static const char **make_arguments(const struct options *o, char limit[24], char top[24], size_t *n)
{
    const char **list = xcalloc(o->operands.n + 7, sizeof *list);

    *n = 0;
    if (o->limit) {
        snprintf(limit, 24, "%lld", (long long)o->limit);
        list[(*n)++] = "--limit";
        list[(*n)++] = limit;
    }
    if (o->top) {
        snprintf(top, 24, "%lld", (long long)o->top);
        list[(*n)++] = "--top";
        list[(*n)++] = top;
    }
    list[(*n)++] = "--";
    if (o->input)
        list[(*n)++] = o->input;
    for (size_t i = 1; i < o->operands.n; i++)
        list[(*n)++] = o->operands.items[i];
    return list;
}

int cmd_predict(int argc, char **argv)
{
    AUTO(options_release) struct options o;
    AUTO(session_release) struct session s;
    AUTO(auto_job) struct job *job = NULL;
    AUTO(auto_free) const char **arguments = NULL;
    char limit[24], top[24];
    size_t n;
    int code;

    session_init(&s, EVENT_PREDICTION);
    if (!options_parse(&o, argc, argv, &command, &code))
        return code;
    if (!o.input && o.operands.n < 2)
        return cli_usage_error("predict", "INPUT is missing, the files to ask about");
    arguments = make_arguments(&o, limit, top, &n);
    s.show = o.json ? NULL : predict_show;
    return checkpoint_run(&s, &o, "predict", false, arguments, n, &job);
}
