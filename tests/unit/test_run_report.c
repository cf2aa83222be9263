// LINK: operator/api common
#include "operator/api/run_report.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

static bool take(struct run_report *r, const char *text)
{
    AUTO(auto_json) cJSON *message = cJSON_Parse(text);

    CHECK(message != NULL);
    return run_report_take(r, message);
}

static void test_story(void)
{
    struct run_report r = {.seen = 99, .message = "old"};
    int64_t world = launch_world(launch_world(0, "j-worker-0-0"), "j-worker-1-4");

    CHECK(
        take(&r, "{\"type\":\"hello\",\"protocol\":1,\"pod\":\"j-worker-0-0\",\"generation\":6}"));
    CHECK_STR(r.pod, "j-worker-0-0");
    CHECK_INT(r.seen, 6);
    CHECK_INT(r.phase, RUN_NONE);
    CHECK(!run_is_active(&r));
    CHECK(take(
        &r, "{\"type\":\"run\",\"generation\":7,\"pods\":[\"j-worker-0-0\",\"j-worker-1-4\"],"
            "\"phase\":\"starting\",\"stage\":\"ranks\",\"step\":0,\"exit\":0,\"message\":\"\"}"));
    CHECK_INT(r.phase, RUN_STARTING);
    CHECK(run_is_active(&r));
    CHECK_INT(r.seen, 7);
    CHECK_INT(r.workers, 2);
    CHECK_INT(r.world, world);
    CHECK_STR(r.stage, "ranks");
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"start\",\"epochs\":5}}");
    CHECK(!r.progress.present);
    take(&r,
         "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"progress\",\"epoch\":2,"
         "\"step\":940,\"loss\":0.31234567,\"samplesPerSecond\":10400.26,\"etaSeconds\":60.7}}");
    CHECK(r.progress.present);
    CHECK_INT(r.progress.epoch, 3); /* from 0 there, from 1 here */
    CHECK_INT(r.progress.epochs, 5);
    CHECK_INT(r.progress.step, 940);
    CHECK_INT(r.step, 940);
    CHECK(r.progress.loss == 0.312346 && r.progress.samples_per_second == 10400.3);
    CHECK(r.progress.eta_seconds == 61 && !r.progress.has_accuracy);
    take(&r,
         "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"epoch\",\"epoch\":3,\"step\":"
         "1000,\"loss\":0.3,\"testAccuracy\":0.89123,\"samplesPerSecond\":10000}}");
    CHECK_INT(r.progress.epoch, 3);
    CHECK(r.progress.has_accuracy && r.progress.accuracy == 0.8912);
    CHECK(r.progress.eta_seconds == 61);
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"epoch\",\"epoch\":3,"
             "\"validationAccuracy\":0.5,\"testAccuracy\":0.9}}");
    CHECK(r.progress.accuracy == 0.5);
    /* What belongs to another generation is not this run's. */
    take(&r,
         "{\"type\":\"event\",\"generation\":6,\"event\":{\"event\":\"progress\",\"step\":5000}}");
    CHECK_INT(r.step, 1000);
}

static void test_next_generation(void)
{
    struct run_report r = {.generation = 7, .phase = RUN_TRAINING, .progress.present = true};

    take(&r, "{\"type\":\"run\",\"generation\":7,\"phase\":\"failed\",\"step\":12,"
             "\"message\":\"rank 1 was killed\"}");
    CHECK(r.progress.present);
    CHECK_INT(r.phase, RUN_FAILED);
    CHECK_STR(r.message, "rank 1 was killed");
    CHECK(!run_is_active(&r));
    take(&r, "{\"type\":\"run\",\"generation\":8,\"phase\":\"stopping\"}");
    CHECK(!r.progress.present);
    CHECK_INT(r.phase, RUN_STOPPING);
    CHECK(run_is_active(&r));
    CHECK_STR(r.message, "");
}

static void test_refusal(void)
{
    struct run_report r = {.generation = 7, .phase = RUN_FAILED, .told = 8};

    take(&r, "{\"type\":\"refused\",\"generation\":7,\"message\":\"late\"}");
    CHECK_INT(r.generation, 7);
    take(&r, "{\"type\":\"refused\",\"generation\":8,\"message\":\"this pod is ending\"}");
    CHECK_INT(r.generation, 8);
    CHECK_INT(r.phase, RUN_FAILED);
    CHECK_STR(r.message, "this pod is ending");
}

/* An agent is a program of the job's owner: nothing that it says may do harm. */
static void test_odd(void)
{
    struct run_report r = {.generation = 3, .seen = 3};

    CHECK(!take(&r, "{\"type\":\"ping\"}"));
    CHECK(!take(&r, "{\"type\":7}"));
    CHECK(!take(&r, "[]"));
    CHECK_INT(r.generation, 3);
    take(&r,
         "{\"type\":\"run\",\"generation\":\"x\",\"phase\":\"dancing\",\"pods\":7,\"step\":-5}");
    CHECK_INT(r.phase, RUN_NONE);
    CHECK_INT(r.step, 0);
    take(&r, "{\"type\":\"run\",\"generation\":1e300,\"phase\":null,\"pods\":[7,{}]}");
    CHECK(r.generation > 0 && r.generation <= LEDGER_MAX_VALUE);
    take(
        &r,
        "{\"type\":\"event\",\"generation\":1e300,\"event\":{\"event\":\"progress\",\"loss\":1e308,"
        "\"step\":1e300}}");
    CHECK(r.progress.loss == 0);
    take(&r, "{\"type\":\"hello\",\"pod\":{}}");
    CHECK_STR(r.pod, "");
    CHECK(launch_world(0, "") != 0);
    CHECK(launch_world(launch_world(0, "a"), "b") != launch_world(launch_world(0, "b"), "a"));
    CHECK(launch_world(0, "ab") != launch_world(launch_world(0, "a"), "b"));
}

int main(void)
{
    test_story();
    test_next_generation();
    test_refusal();
    test_odd();
    return test_result();
}
