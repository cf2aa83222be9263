// LINK: cli/run/progress.c cli/base/terminal.c cli/report/metric_labels.c cli/report/table.c
// LINK: cli/base/format.c cli/report/history.c
// LINK: common/clock.c common/text.c common/events.c common/losses.c
// LINK: common/named_sets.c common/buf.c common/err.c
// LINK: common/json.c common/mem.c
#include "cli/run/progress.h"

#include "cli/report/metric_labels.h"
#include "cli/report/table.h"
#include "paceline/mem.h"
#include "tests/test.h"

static void test_bar(void)
{
    static const struct {
        double share;
        bool utf8;
        const char *want;
    } cases[] = {
        {0, false, "----"},   {0.5, false, "##--"}, {1, false, "####"},  {7, false, "####"},
        {-1, false, "----"},  {NAN, false, "----"}, {0.5, true, "██░░"}, {0.53125, true, "██▏░"},
        {0.99, true, "███▉"}, {1, true, "████"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[3 * 4 + 1];

        progress_bar(text, sizeof text, 4, cases[i].share, cases[i].utf8);
        CHECK_STR(text, cases[i].want);
        CHECK_INT(text_columns(text), 4);
    }
}

static void show(struct progress *p, const char *line)
{
    enum event_type type;
    AUTO(auto_json) cJSON *event = event_parse(line, strlen(line), &type);

    CHECK(event);
    progress_show(p, type, event);
}

static const char start[] =
    "{\"event\":\"start\",\"job\":\"fashion\",\"model\":\"mlp\",\"params\":1000,\"ranks\":2,"
    "\"threads\":1,\"isa\":\"c\",\"batchSize\":128,\"batchesPerEpoch\":100,\"batchesPerUpdate\":1,"
    "\"epochs\":3,"
    "\"trainSamples\":12800,\"memoryBytes\":1048576,\"resumedStep\":7}";
static const char step[] =
    "{\"event\":\"progress\",\"epoch\":0,\"step\":50,\"loss\":0.5,\"accuracy\":0.25,"
    "\"samplesPerSecond\":1000,\"etaSeconds\":61}";
static const char epoch[] =
    "{\"event\":\"epoch\",\"epoch\":1,\"step\":100,\"loss\":0.5,\"accuracy\":0.25,"
    "\"validationAccuracy\":null,\"testAccuracy\":0.75,\"samplesPerSecond\":1000,\"seconds\":2}";

/* To a file: lines, no control characters, and not one line per progress event. */
static void test_plain(void)
{
    AUTO(auto_free) char *text = NULL;
    size_t size;
    struct progress p;
    FILE *out = tmpfile(), *memory = open_memstream(&text, &size);

    CHECK(out && memory);
    progress_init(&p, out);
    CHECK(!p.live);
    p.out = memory;
    show(&p, start);
    for (int i = 0; i < 100; i++)
        show(&p, step);
    show(&p, epoch);
    show(&p, "{\"event\":\"epoch\",\"epoch\":1,\"step\":150,\"loss\":0.5,\"accuracy\":0.25,"
             "\"samplesPerSecond\":1000,\"seconds\":1}"); /* cut by training.steps */
    fclose(memory);
    fclose(out);
    CHECK_STR(text,
              "fashion: mlp, 1,000 parameters, 12,800 training samples\n"
              "2 ranks x 1 thread, c, batch 128, 100 batches per epoch, 1.0 MiB per rank\n"
              "resumed at step 7\n"
              "epoch 1/3  step 50  1,000 samples/s  loss 0.5000  accuracy 25.00%  ETA 1:01\n"
              "epoch 1/3  loss 0.5000  accuracy 25.00%  test 75.00%  1,000 samples/s  2.00 s\n"
              "epoch 2/3  loss 0.5000  accuracy 25.00%  1,000 samples/s  1.00 s\n");
}

/* Of a text words and perplexity, in lines and on a terminal. */
static void test_words(void)
{
    static const char words_step[] =
        "{\"event\":\"progress\",\"epoch\":0,\"step\":50,\"loss\":4.5,\"accuracy\":0.25,"
        "\"perplexity\":90.0171,\"samplesPerSecond\":1000,\"wordsPerSecond\":20000,"
        "\"etaSeconds\":61}";
    static const char words_epoch[] =
        "{\"event\":\"epoch\",\"epoch\":1,\"step\":100,\"loss\":4.5,\"accuracy\":0.25,"
        "\"perplexity\":90.0171,\"validationPerplexity\":1234.5,\"testAccuracy\":0.75,"
        "\"testPerplexity\":4.4816,\"samplesPerSecond\":1000,\"wordsPerSecond\":20000,"
        "\"seconds\":2}";
    AUTO(auto_free) char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    struct progress p = {.out = memory, .epochs = 3, .steps_per_epoch = 100, .quarter = -1};

    CHECK(memory);
    show(&p, words_step);
    show(&p, words_epoch);
    p.live = true;
    show(&p, words_step);
    fclose(memory);
    CHECK_CONTAINS(text,
                   "epoch 1/3  step 50  20,000 words/s  loss 4.5000  perplexity 90.0  ETA 1:01\n"
                   "epoch 1/3  loss 4.5000  perplexity 90.0  validation 1,234  test 4.482  "
                   "20,000 words/s  2.00 s\n");
    CHECK_CONTAINS(text, "20,000 words/s  loss 4.5000  ppl 90.0  ETA 1:01");
}

/* Labels that are numbers have errors, and no accuracy; those that are bits all of it. */
static void test_values(void)
{
    static const char numbers_step[] = "{\"event\":\"progress\",\"epoch\":0,\"step\":50,\"loss\":4."
                                       "5,\"mae\":1.25,\"rmse\":2.12132,"
                                       "\"samplesPerSecond\":1000,\"etaSeconds\":61}";
    static const char numbers_epoch[] =
        "{\"event\":\"epoch\",\"epoch\":1,\"step\":100,\"loss\":4.5,\"mae\":1.25,\"testMae\":1.5,"
        "\"testR2\":-0.5,\"samplesPerSecond\":1000,\"seconds\":2}";
    static const char numbers_done[] =
        "{\"event\":\"done\",\"step\":100,\"testLoss\":4,\"testMae\":1.5,\"testRmse\":2,"
        "\"testR2\":-0.5}";
    static const char bits_done[] =
        "{\"event\":\"done\",\"step\":100,\"testLoss\":0.5,\"testAccuracy\":0.25,"
        "\"testBinaryAccuracy\":0.75,\"testPrecision\":0.5,\"testRecall\":1,\"testF1\":0.625}";
    AUTO(auto_free) char *text = NULL, *numbers = NULL, *bits = NULL;
    AUTO(auto_json)
    cJSON *of_numbers = cJSON_Parse(numbers_done), *of_bits = cJSON_Parse(bits_done);
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    struct progress p = {.out = memory, .epochs = 3, .steps_per_epoch = 100, .quarter = -1};

    CHECK(memory);
    show(&p, numbers_step);
    show(&p, numbers_epoch);
    fclose(memory);
    CHECK_STR(text, "epoch 1/3  step 50  1,000 samples/s  loss 4.5000  mae 1.2500  ETA 1:01\n"
                    "epoch 1/3  loss 4.5000  mae 1.2500  test 1.5000  1,000 samples/s  2.00 s\n");
    numbers = metric_labels_scores(of_numbers, "test");
    CHECK_STR(numbers, "R2 -0.5000, MAE 1.5000, RMSE 2.0000, loss 4.0000");
    bits = metric_labels_scores(of_bits, "test");
    CHECK_STR(bits, "F1 62.50%, precision 50.00%, recall 100.00%, accuracy 25.00%, accuracy of "
                    "single labels 75.00%, loss 0.5000");
    CHECK(metric_labels_of(of_numbers)->values && !metric_labels_of(of_numbers)->share);
    CHECK(metric_labels_of(of_bits)->values && metric_labels_of(of_bits)->share);
    CHECK(!metric_labels_of(NULL)->values);
}

/* On a terminal (80 columns when its size is unknown): one line that is redrawn, then cleared. */
static void test_live(void)
{
    AUTO(auto_free) char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    struct progress p = {.out = memory, .live = true, .epochs = 3, .steps_per_epoch = 100};
    const char *bar, *end;

    CHECK(memory);
    show(&p, step);
    show(&p, epoch);
    fclose(memory);
    bar = strstr(text, "epoch 1/3 ");
    end = strstr(text + 1, "\r\x1b[K");
    CHECK(bar && end);
    CHECK_CONTAINS(text, "#-");
    CHECK_CONTAINS(text, " 50%");
    CHECK(end - bar < 80);
    CHECK_CONTAINS(end, "epoch 1/3  loss");
}

/* 150 steps in an epoch. */
static const char accumulated[] =
    "{\"event\":\"start\",\"batchesPerEpoch\":299,\"batchesPerUpdate\":2,\"epochs\":3}";

/* With several batches for a step the bar counts steps, too. */
static void test_accumulated(void)
{
    AUTO(auto_free) char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    struct progress p = {.out = memory, .live = true};

    CHECK(memory);
    show(&p, accumulated);
    show(&p, "{\"event\":\"progress\",\"epoch\":1,\"step\":250}");
    fclose(memory);
    CHECK_CONTAINS(text, "epoch 2/3 ");
    CHECK_CONTAINS(text, " 66%  ");
}

/* However slow the steps are, a file gets one line for each quarter of an epoch. */
static void test_quarters(void)
{
    AUTO(auto_free) char *text = NULL, *steps = NULL;
    size_t size, steps_size;
    FILE *memory = open_memstream(&text, &size), *list = open_memstream(&steps, &steps_size);
    struct progress p = {.out = memory, .quarter = -1};

    CHECK(memory && list);
    show(&p, accumulated);
    for (int i = 1; i <= 150; i++) {
        char event[80];

        snprintf(event, sizeof event, "{\"event\":\"progress\",\"epoch\":0,\"step\":%d}", i);
        p.quiet_until_ms = 0;
        show(&p, event);
    }
    fclose(memory);
    for (const char *at = text; (at = strstr(at, "  step ")); at++)
        fprintf(list, "%.*s ", (int)strcspn(at + 7, " "), at + 7);
    fclose(list);
    CHECK_STR(steps, "1 38 75 113 150 ");
}

/* The summary of events that were shown. */
static char *summary(const char *const *lines, size_t n)
{
    struct history h;
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size), *nowhere = fopen("/dev/null", "w");
    struct progress p = {.out = nowhere, .quarter = -1};

    CHECK(memory && nowhere);
    history_init(&h);
    for (size_t i = 0; i < n; i++) {
        enum event_type type;
        cJSON *event = event_parse(lines[i], strlen(lines[i]), &type);

        CHECK(event);
        progress_show(&p, type, event);
        history_add(&h, type, event);
    }
    p.out = memory;
    progress_summary(&p, &h, "report.html");
    fclose(memory);
    fclose(nowhere);
    history_release(&h);
    return text;
}

/* The epochs of the summary are those of the lines before it. */
static void test_summary(void)
{
    static const struct {
        const char *start, *epoch, *done, *want;
    } cases[] = {
        {start, epoch, "{\"event\":\"done\",\"step\":100}", "trained        1 epoch, 100 steps\n"},
        {start, "{\"event\":\"epoch\",\"epoch\":1,\"step\":150}",
         "{\"event\":\"done\",\"step\":150}",
         "trained        1 epoch and 50% of epoch 2, 150 steps\n"},
        {start, "{\"event\":\"epoch\",\"epoch\":0,\"step\":99}", "{\"event\":\"done\",\"step\":99}",
         "trained        0 epochs and 99% of epoch 1, 99 steps\n"},
        {accumulated, "{\"event\":\"epoch\",\"epoch\":1,\"step\":250}",
         "{\"event\":\"done\",\"step\":250}",
         "trained        1 epoch and 66% of epoch 2, 250 steps\n"},
        {start, "{\"event\":\"epoch\",\"epoch\":2,\"step\":200}",
         "{\"event\":\"done\",\"step\":200,\"stoppedEarly\":{\"epoch\":2,\"patience\":1}}",
         "trained        2 epochs, 200 steps\n  stopped early  at epoch 2: "},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const lines[] = {cases[i].start, cases[i].epoch, cases[i].done};
        AUTO(auto_free) char *text = summary(lines, ARRAY_LEN(lines));

        CHECK_CONTAINS(text, cases[i].want);
    }
}

int main(void)
{
    test_bar();
    test_plain();
    test_live();
    test_words();
    test_values();
    test_accumulated();
    test_quarters();
    test_summary();
    return test_result();
}
