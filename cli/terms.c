#include "cli/terms.h"

#include <math.h>

#include "paceline/events.h"

static const struct terms images = {
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

static const struct terms text = {
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

const struct terms *terms_of(const cJSON *event)
{
    return isfinite(event_number(event, text.rate)) ? &text : &images;
}
