#include "cli/report/metric_labels.h"

#include <math.h>

#include "paceline/buf.h"
#include "paceline/events.h"
#include "paceline/losses.h"
#include "paceline/mem.h"

static const struct metric_labels classes = {
    .rate = "samplesPerSecond",
    .unit = "samples/s",
    .rates = "Samples per second",
    .things = "samples",
    .quality = "accuracy",
    .brief = "acc",
    .validation = "validationAccuracy",
    .test = "testAccuracy",
    .title = "Accuracy",
    .test_title = "Test accuracy",
    .format = format_percent,
    .share = true,
};

static const struct metric_labels text = {
    .rate = "wordsPerSecond",
    .unit = "words/s",
    .rates = "Words per second",
    .things = "words",
    .quality = "perplexity",
    .brief = "ppl",
    .validation = "validationPerplexity",
    .test = "testPerplexity",
    .title = "Perplexity",
    .test_title = "Test perplexity",
    .format = format_perplexity,
};

static const struct metric_labels numbers = {
    .rate = "samplesPerSecond",
    .unit = "samples/s",
    .rates = "Samples per second",
    .things = "samples",
    .quality = "mae",
    .brief = "mae",
    .validation = "validationMae",
    .test = "testMae",
    .title = "Mean absolute error",
    .test_title = "Test MAE",
    .format = format_loss,
    .values = true,
};

static const struct metric_labels bits = {
    .rate = "samplesPerSecond",
    .unit = "samples/s",
    .rates = "Samples per second",
    .things = "samples",
    .quality = "accuracy",
    .brief = "acc",
    .validation = "validationAccuracy",
    .test = "testAccuracy",
    .title = "Accuracy (all labels of a sample)",
    .test_title = "Test accuracy",
    .format = format_percent,
    .share = true,
    .values = true,
};

static bool has(const cJSON *event, enum metric metric)
{
    return isfinite(event_number(event, metric_key("", metric).s)) ||
           isfinite(event_number(event, metric_key("test", metric).s));
}

const struct metric_labels *metric_labels_of(const cJSON *event)
{
    if (isfinite(event_number(event, text.rate)))
        return &text;
    return has(event, METRIC_MAE)               ? &numbers
           : has(event, METRIC_BINARY_ACCURACY) ? &bits
                                                : &classes;
}

char *metric_labels_scores(const cJSON *event, const char *set)
{
    static const struct {
        enum metric metric;
        const char *name;
        struct format_text (*format)(double value);
    } scores[] = {
        {METRIC_R2, "R2", format_loss},
        {METRIC_MAE, "MAE", format_loss},
        {METRIC_RMSE, "RMSE", format_loss},
        {METRIC_PERPLEXITY, "perplexity", format_perplexity},
        {METRIC_F1, "F1", format_percent},
        {METRIC_PRECISION, "precision", format_percent},
        {METRIC_RECALL, "recall", format_percent},
        {METRIC_ACCURACY, "accuracy", format_percent},
        {METRIC_BINARY_ACCURACY, "accuracy of single labels", format_percent},
        {METRIC_LOSS, "loss", format_loss},
    };
    struct buf out;

    buf_init(&out, 0);
    buf_puts(&out, "");
    for (size_t i = 0; i < ARRAY_LEN(scores); i++) {
        const double value = event_number(event, metric_key(set, scores[i].metric).s);

        if (isfinite(value))
            buf_printf(&out, "%s%s %s", out.len ? ", " : "", scores[i].name,
                       scores[i].format(value).s);
    }
    return out.data;
}
