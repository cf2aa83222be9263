// LINK: cli/report/history.c cli/base/format.c common
#include "cli/report/history.h"

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/scratch.h"

static void add(struct history *h, const char *line)
{
    enum event_type type;
    cJSON *event = event_parse(line, strlen(line), &type);

    CHECK(event);
    history_add(h, type, event);
}

static void add_step(struct history *h, const char *name, int step)
{
    AUTO(auto_free) char *line = xasprintf("{\"event\":\"%s\",\"step\":%d}", name, step);

    add(h, line);
}

/* A resumed run keeps what came before its first step and nothing after. */
static void test_resume(void)
{
    AUTO(history_release) struct history h;

    history_init(&h);
    add(&h, "{\"event\":\"start\",\"resumedStep\":0}");
    for (int step = 10; step <= 60; step += 10)
        add_step(&h, "progress", step);
    add_step(&h, "epoch", 30);
    add_step(&h, "epoch", 60);
    add(&h, "{\"event\":\"start\",\"resumedStep\":30}");
    CHECK_INT(cJSON_GetArraySize(h.progress), 3);
    CHECK_INT(cJSON_GetArraySize(h.epochs), 1);
    CHECK_INT(event_integer(h.start, "resumedStep"), 30);
    add(&h, "{\"event\":\"start\",\"resumedStep\":0}");
    CHECK_INT(cJSON_GetArraySize(h.progress), 0);
}

static void test_newest_wins(void)
{
    AUTO(history_release) struct history h;

    history_init(&h);
    add_step(&h, "checkpoint", 1);
    add_step(&h, "checkpoint", 2);
    add_step(&h, "weather", 3);
    add_step(&h, "prediction", 1);
    add_step(&h, "prediction", 2);
    CHECK_INT(event_integer(h.checkpoint, "step"), 2);
    CHECK_INT(event_integer(h.prediction, "step"), 2);
}

/* However long a run is, the points stay bounded, ordered and spread over all of it. */
static void test_thinning(void)
{
    AUTO(history_release) struct history h;
    const cJSON *item;
    int64_t last = -1;

    history_init(&h);
    for (int step = 0; step < 20000; step++)
        add_step(&h, "progress", step);
    CHECK(cJSON_GetArraySize(h.progress) <= 4096);
    CHECK(cJSON_GetArraySize(h.progress) >= 1024);
    CHECK_INT(event_integer(h.progress->child, "step"), 0);
    cJSON_ArrayForEach(item, h.progress)
    {
        CHECK(event_integer(item, "step") > last);
        last = event_integer(item, "step");
    }
    CHECK(last > 19000);
}

static void test_load(void)
{
    static const char text[] = "{\"event\":\"epoch\",\"step\":1}\nnot json\n"
                               "{\"event\":\"done\"}\n{\"event\":\"error\"}\n"
                               "{\"event\":\"epoch\",\"step\":2}\n{\"event\":\"epo";
    AUTO(history_release) struct history h;
    char *folder = scratch_make();
    AUTO(auto_free) char *path = xasprintf("%s/events.jsonl", folder);

    history_init(&h);
    history_load(&h, path);
    CHECK_INT(cJSON_GetArraySize(h.epochs), 0);
    scratch_write(folder, "events.jsonl", text, sizeof text - 1);
    history_load(&h, path);
    CHECK_INT(cJSON_GetArraySize(h.epochs), 2);
    CHECK(!h.done && !h.error);
    scratch_remove(folder);
}

static void check_switch(const char *done, const char *want)
{
    AUTO(history_release) struct history h;

    history_init(&h);
    add(&h, "{\"event\":\"switch\",\"epoch\":3}");
    add(&h, done);
    CHECK_STR(history_switch(&h).s, want);
}

static void test_switch(void)
{
    check_switch("{\"event\":\"done\"}", "");
    check_switch("{\"event\":\"done\",\"switch\":{\"fired\":false}}", "never");
    check_switch("{\"event\":\"done\",\"switch\":{\"fired\":true,\"epoch\":2,"
                 "\"reason\":\"plateau\"}}",
                 "after epoch 2 (plateau)");
}

int main(void)
{
    test_resume();
    test_newest_wins();
    test_switch();
    test_thinning();
    test_load();
    return test_result();
}
