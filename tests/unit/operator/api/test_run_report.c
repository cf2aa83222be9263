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
    CHECK_INT(r.replicas[ROLE_WORKER], 2);
    CHECK_INT(r.world, world);
    CHECK_STR(r.stage, "ranks");
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"start\",\"epochs\":5,"
             "\"resumedStep\":900,\"transferSeconds\":0.0123456}}");
    CHECK(!r.progress.present);
    CHECK_INT(r.resumed, 900);
    CHECK(r.transfer_s == 0.012346);
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"progress\",\"epoch\":2,"
             "\"step\":940,\"loss\":0.31234567,\"learningRate\":0.0001234567,\"samplesPerSecond\":"
             "10400.26,"
             "\"etaSeconds\":60.7}}");
    CHECK(r.progress.present);
    CHECK_INT(r.progress.epoch, 3); /* from 0 there, from 1 here */
    CHECK_INT(r.progress.epochs, 5);
    CHECK_INT(r.progress.step, 940);
    CHECK_INT(r.step, 940);
    CHECK(r.progress.loss == 0.312346 && r.progress.samples_per_second == 10400.3);
    CHECK(r.progress.eta_seconds == 61 && !r.progress.has_metrics);
    CHECK(r.progress.learning_rate == 0.0001234567);
    take(&r,
         "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"epoch\",\"epoch\":3,\"step\":"
         "1000,\"loss\":0.3,\"learningRate\":0.0001,\"testAccuracy\":0.89123,\"samplesPerSecond\":"
         "10000}}");
    CHECK_INT(r.progress.epoch, 3);
    CHECK_INT(r.progress.has_metrics, 1u << METRIC_ACCURACY);
    CHECK(r.progress.metrics[METRIC_ACCURACY] == 0.8912);
    CHECK(r.progress.learning_rate == 0.0001);
    CHECK(r.progress.eta_seconds == 61);
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"epoch\",\"epoch\":3,"
             "\"validationAccuracy\":0.5,\"testAccuracy\":0.9}}");
    CHECK(r.progress.metrics[METRIC_ACCURACY] == 0.5);
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"epoch\",\"epoch\":3,"
             "\"mae\":3,\"validationMae\":0.0123456,\"testMae\":7,\"testR2\":0.98766}}");
    CHECK_INT(r.progress.has_metrics, 1u << METRIC_MAE | 1u << METRIC_R2);
    CHECK(r.progress.metrics[METRIC_MAE] == 0.012346 && r.progress.metrics[METRIC_R2] == 0.9877);
    /* A report of another generation is not this run's. */
    take(&r,
         "{\"type\":\"event\",\"generation\":6,\"event\":{\"event\":\"progress\",\"step\":5000}}");
    CHECK_INT(r.step, 1000);
    /* The end has the mean over all steps, and nothing of an epoch. */
    take(&r, "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"done\",\"step\":1001,"
             "\"samplesPerSecond\":9876.54,\"stoppedEarly\":{\"epoch\":3,\"patience\":2}}}");
    CHECK_INT(r.step, 1001);
    CHECK_INT(r.progress.early_epoch, 3);
    CHECK(r.progress.samples_per_second == 9876.5 && r.progress.loss == 0);
    CHECK_INT(r.progress.epoch, 3);
}

/* Names of jobs may look like those of pods. */
static void test_roles(void)
{
    struct run_report r = {.replicas = {[ROLE_WORKER] = 9}};

    take(&r, "{\"type\":\"run\",\"generation\":1,\"pods\":[\"a-ps-worker-0-0\",\"a-worker-12-3\","
             "\"a-worker-ps-0-0\",\"ps-0-0\",\"-\",\"\"]}");
    CHECK_INT(r.replicas[ROLE_WORKER], 4);
    CHECK_INT(r.replicas[ROLE_PS], 2);
    CHECK_INT(r.replicas[ROLE_CHIEF] + r.replicas[ROLE_EVALUATOR], 0);
    take(&r, "{\"type\":\"run\",\"generation\":1,\"pods\":[\"a-worker-0-0\"]}");
    CHECK_INT(r.replicas[ROLE_WORKER], 1);
    CHECK_INT(r.replicas[ROLE_PS], 0);
}

static void test_next_generation(void)
{
    struct run_report r = {.generation = 7,
                           .phase = RUN_TRAINING,
                           .progress.present = true,
                           .resumed = 9,
                           .transfer_s = 1};

    take(&r, "{\"type\":\"run\",\"generation\":7,\"phase\":\"failed\",\"step\":12,"
             "\"message\":\"rank 1 was killed\"}");
    CHECK(r.progress.present);
    CHECK_INT(r.resumed, 9);
    CHECK_INT(r.phase, RUN_FAILED);
    CHECK_STR(r.message, "rank 1 was killed");
    CHECK(!run_is_active(&r));
    take(&r, "{\"type\":\"run\",\"generation\":8,\"phase\":\"stopping\"}");
    CHECK(!r.progress.present);
    CHECK_INT(r.resumed, 0);
    CHECK(r.transfer_s == 0);
    CHECK_INT(r.phase, RUN_STOPPING);
    CHECK(run_is_active(&r));
    CHECK_STR(r.message, "");
}

static void test_refusal(void)
{
    struct run_report r = {.generation = 7, .phase = RUN_FAILED, .told = 8, .resumed = 9};

    take(&r, "{\"type\":\"refused\",\"generation\":7,\"message\":\"late\"}");
    CHECK_INT(r.generation, 7);
    take(&r, "{\"type\":\"refused\",\"generation\":8,\"message\":\"this pod is ending\"}");
    CHECK_INT(r.generation, 8);
    CHECK_INT(r.resumed, 0);
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
    CHECK(r.generation > 0 && r.generation <= INDEX_MAP_MAX_VALUE);
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

#define RUN(phase, record) \
    "{\"type\":\"run\",\"generation\":7,\"phase\":\"" phase "\",\"record\":" record "}"
#define DONE(record) RUN("done", record)

/* Only a whole record, of this run and of one that is done, says whose training is done. */
static void test_record(void)
{
    static const char *const none[] = {
        "{\"type\":\"run\",\"generation\":7,\"phase\":\"done\"}",
        DONE("7"),
        DONE("{\"generation\":7,\"step\":9,\"digest\":\"00ff\"}"),
        DONE("{\"uid\":\"u\",\"generation\":7,\"digest\":\"00ff\"}"),
        DONE("{\"uid\":\"u\",\"generation\":7,\"step\":9}"),
        DONE("{\"uid\":\"u\",\"generation\":6,\"step\":9,\"digest\":\"00ff\"}"),
        RUN("stopped", "{\"uid\":\"u\",\"generation\":7,\"step\":9,\"digest\":\"00ff\"}"),
    };
    struct run_report r = {0};

    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        take(&r, DONE("{\"uid\":\"u\",\"generation\":7,\"step\":9,\"digest\":\"00ff\"}"));
        CHECK_STR(r.record_uid, "u");
        take(&r, none[i]);
        CHECK_STR(r.record_uid, "");
    }
    take(&r, DONE("{\"uid\":\"u\",\"generation\":7}")); /* another program's */
    CHECK_STR(r.record_uid, "u");
}

#define DURABLE(rest) \
    "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":\"durable\"," rest "}}"

/* The newest copy on the job's volume, or why it is not there. */
static void test_durable(void)
{
    struct run_report r = {.generation = 7};

    take(&r, DURABLE("\"step\":12,\"message\":\"no space\""));
    CHECK_INT(r.copy_step, 12);
    CHECK_STR(r.copy_error, "no space");
    CHECK(!r.progress.present);
    take(&r, DURABLE("\"step\":15"));
    CHECK_INT(r.copy_step, 15);
    CHECK_STR(r.copy_error, "");
    take(&r, DURABLE("\"step\":18,\"message\":\"no space\""));
    take(&r, "{\"type\":\"run\",\"generation\":8,\"phase\":\"starting\"}");
    CHECK_STR(r.copy_error, "");
}

#define EVENT7(rest) "{\"type\":\"event\",\"generation\":7,\"event\":{\"event\":" rest "}}"
#define SWITCH_AT "\"epoch\":2,\"step\":9,\"reason\":\"plateau\""

/* Whether the strategy has changed: a start says it, and the change itself. */
static void test_switch(void)
{
    struct run_report r = {.generation = 7};

    take(&r, EVENT7("\"start\",\"resumedStep\":3"));
    CHECK(!r.switched.known);
    take(&r, EVENT7("\"start\",\"switch\":{\"fired\":false}"));
    CHECK(r.switched.known);
    CHECK_INT(r.switched.step, 0);
    take(&r, EVENT7("\"switch\"," SWITCH_AT ",\"seconds\":0.03123456"));
    CHECK_INT(r.switched.epoch, 2);
    CHECK_INT(r.switched.step, 9);
    CHECK_STR(r.switched.reason, "plateau");
    CHECK(r.switched.seconds == 0.031235);
    take(&r, EVENT7("\"progress\",\"step\":12"));
    CHECK_INT(r.switched.step, 9);
    take(&r, "{\"type\":\"run\",\"generation\":7,\"phase\":\"training\",\"relaunch\":true}");
    CHECK(!r.relaunch); /* it has not stopped */
    take(&r, "{\"type\":\"run\",\"generation\":7,\"phase\":\"stopped\",\"relaunch\":true}");
    CHECK(r.relaunch && r.switched.known);
    take(&r, "{\"type\":\"run\",\"generation\":8,\"phase\":\"starting\"}");
    CHECK(!r.relaunch && !r.switched.known);
    take(&r, "{\"type\":\"event\",\"generation\":8,\"event\":{\"event\":\"start\",\"switch\":"
             "{\"fired\":true," SWITCH_AT "}}}");
    CHECK_INT(r.switched.step, 9);
    CHECK(r.switched.seconds == 0);
    /* Nothing that it says may do harm. */
    take(&r, "{\"type\":\"event\",\"generation\":8,\"event\":{\"event\":\"switch\",\"epoch\":1e300,"
             "\"step\":-4,\"reason\":\"a reason that is longer than most\",\"seconds\":\"x\"}}");
    CHECK_INT(r.switched.step, 0);
    CHECK_STR(r.switched.reason, "a reason that i");
    r = (struct run_report){.generation = 7, .told = 8, .relaunch = true, .switched.known = true};
    take(&r, "{\"type\":\"refused\",\"generation\":8,\"message\":\"late\"}");
    CHECK(!r.relaunch && !r.switched.known);
}

int main(void)
{
    test_switch();
    test_story();
    test_roles();
    test_record();
    test_durable();
    test_next_generation();
    test_refusal();
    test_odd();
    return test_result();
}
