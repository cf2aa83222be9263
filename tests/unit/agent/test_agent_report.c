// LINK: agent/report.c agent/world.c wire/frame.c common
/* Phases, steps and verdicts of a run, from its events and its exit code. */
#include "agent/report.h"

#include "paceline/mem.h"
#include "tests/test.h"

#define EVENT(rest) "{\"event\":" rest "}"
#define START EVENT("\"start\",\"resumedStep\":5")
#define DONE EVENT("\"done\",\"step\":20,\"testAccuracy\":0.5,\"digest\":\"ab\"")
#define STOPPED EVENT("\"stopped\",\"step\":12")
#define ERROR EVENT("\"error\",\"code\":4,\"message\":\"the loss is nan\"")
#define RECORD "{\"uid\":\"u-1\",\"generation\":7,\"step\":20,\"accuracy\":0.5,\"digest\":\"ab\"}"

static void begin_run(struct engine_report *r, int hosts, bool foreign)
{
    AUTO(world_release) struct world world;
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *message = NULL;
    struct err err;

    buf_init(&text, 0);
    buf_puts(&text, "{\"type\":\"world\",\"generation\":7,\"job\":{\"metadata\":{\"uid\":\"u-1\"}},"
                    "\"hosts\":[");
    for (int i = 0; i < hosts; i++)
        buf_printf(&text, "%s{\"pod\":\"p-%d\",\"host\":\"h-%d\",\"address\":\"10.0.0.%d\"}",
                   i ? "," : "", i, i, i + 1);
    buf_puts(&text, "]}");
    message = cJSON_Parse(text.data);
    CHECK_INT(world_parse(&world, message, &err), 0);
    report_init(r, &world, foreign);
}

static void begin(struct engine_report *r, int hosts) { begin_run(r, hosts, false); }

static bool feed(struct engine_report *r, const char *line)
{
    enum event_type type;
    AUTO(auto_json) cJSON *event = event_parse(line, strlen(line), &type);

    return report_event(r, type, event);
}

static void test_phases(void)
{
    struct engine_report r;

    begin(&r, 2);
    CHECK_STR(r.stage, "daemons");
    CHECK(feed(&r, EVENT("\"stage\",\"stage\":\"ranks\"")));
    CHECK(!feed(&r, EVENT("\"stage\",\"stage\":\"ranks\"")));
    CHECK_STR(r.stage, "ranks");
    CHECK(feed(&r, START));
    CHECK_INT(r.phase, PHASE_TRAINING);
    CHECK_STR(r.stage, "");
    CHECK_INT(r.step, 5);
    CHECK(!feed(&r, EVENT("\"progress\",\"step\":9")));
    CHECK_INT(r.step, 9);
    CHECK(!feed(&r, EVENT("\"weather\",\"step\":99")));
    CHECK(!feed(&r, EVENT("\"progress\",\"step\":\"x\"")));
    CHECK_INT(r.step, 9);
    CHECK(r.kept[KEPT_START] && r.kept[KEPT_PROGRESS] && !r.kept[KEPT_EPOCH]);
    CHECK(!feed(&r, DONE));
    CHECK(r.kept[KEPT_DONE] != NULL);
    CHECK(report_stop(&r) && !report_stop(&r));
    CHECK_INT(r.phase, PHASE_STOPPING);
    CHECK(!report_over(&r));
    report_release(&r);
}

static void test_verdicts(void)
{
    static const struct {
        const char *last;
        int code;
        enum engine_phase phase;
        int exit;
        const char *message;
    } cases[] = {
        {DONE, 0, PHASE_DONE, 0, "trained to step 20"},
        {DONE, 1, PHASE_FAILED, 1, "exit code 1"},
        {DONE, 137, PHASE_FAILED, 137, "signal 9 (Killed); the kernel does so"},
        {STOPPED, 0, PHASE_STOPPED, 0, "stopped after step 12"},
        {STOPPED, 143, PHASE_FAILED, 143, "signal 15 (Terminated)"},
        {START, 0, PHASE_FAILED, 0, "ended before it was done"},
        {START, 3, PHASE_FAILED, 3, "exit code 3 and gave no reason"},
        {ERROR, 1, PHASE_FAILED, 4, "the loss is nan"},
        {ERROR, 0, PHASE_FAILED, 0, "the loss is nan"},
        {EVENT("\"error\",\"code\":1e9"), 1, PHASE_FAILED, 1, ""},
        {START, 205, PHASE_FAILED, 205, "exit code 205"}, /* mpirun's own: no signal */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct engine_report r;

        begin(&r, 1);
        CHECK_STR(r.stage, "ranks");
        feed(&r, START);
        feed(&r, cases[i].last);
        report_end(&r, cases[i].code);
        CHECK_INT(r.phase, cases[i].phase);
        CHECK_INT(r.exit, cases[i].exit);
        CHECK_CONTAINS(r.message, cases[i].message);
        CHECK(report_over(&r));
        report_release(&r);
    }
}

/* Only the engine knows what cannot be mended; mpirun has its own reasons to exit with 2. */
static void test_permanent(void)
{
    static const struct {
        const char *last;
        int code;
        bool permanent;
    } cases[] = {
        {ERROR, 1, true},
        {ERROR, 0, false},
        {START, 2, false},
        {EVENT("\"error\",\"code\":5"), 5, false},
        {EVENT("\"error\",\"code\":2"), 2, true},
        {DONE, 0, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct engine_report r;

        begin(&r, 1);
        feed(&r, cases[i].last);
        report_end(&r, cases[i].code);
        CHECK_INT(r.permanent, cases[i].permanent);
        report_release(&r);
    }
}

#define SWITCH(rest) EVENT("\"switch\",\"epoch\":2,\"step\":12,\"reason\":\"epoch\"," rest)

/* An engine that has stopped to be launched again says so; one that was only asked to does not. */
static void test_switch(void)
{
    static const struct {
        const char *event, *last, *message;
        bool relaunch;
    } cases[] = {
        {SWITCH("\"relaunch\":true"), STOPPED, "stopped after step 12 to change the strategy",
         true},
        {SWITCH("\"seconds\":0.5"), STOPPED, "stopped after step 12", false},
        {START, STOPPED, "stopped after step 12", false},
        {SWITCH("\"relaunch\":true"), ERROR, "the loss is nan", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct engine_report r;
        AUTO(auto_json) cJSON *message = NULL;

        begin(&r, 1);
        feed(&r, START);
        feed(&r, cases[i].event);
        CHECK_INT(r.kept[KEPT_SWITCH] != NULL, cases[i].event != cases[2].event);
        CHECK_INT(r.phase, PHASE_TRAINING);
        feed(&r, cases[i].last);
        report_end(&r, 0);
        CHECK_STR(r.message, cases[i].message);
        message = report_message(&r);
        CHECK_INT(event_true(message, "relaunch"), cases[i].relaunch);
        report_release(&r);
    }
}

static void test_complaint(void)
{
    cJSON *message;
    struct engine_report r;

    begin(&r, 2);
    CHECK(!report_log(&r, "paceline-agent silent: w-2-0"));
    CHECK(report_log(&r, "paceline-agent exec: agent of w-2-0 (10.0.0.3): silent for 5 s"));
    CHECK(!report_log(&r, "mpirun: a daemon has died"));
    message = report_message(&r);
    CHECK(!cJSON_GetObjectItem(message, "silent"));
    cJSON_Delete(message);
    report_end(&r, 1);
    CHECK_STR(r.message, "agent of w-2-0 (10.0.0.3): silent for 5 s");
    message = report_message(&r);
    CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItem(message, "silent")), "w-2-0");
    cJSON_Delete(message);
    report_release(&r);
}

static void test_text(void)
{
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *message = NULL, *record = NULL;
    struct engine_report r;

    buf_init(&text, 0);
    begin(&r, 2);
    feed(&r, DONE);
    report_end(&r, 0);
    message = report_message(&r);
    json_print(message, 0, &text);
    CHECK_STR(text.data, "{\"type\":\"run\",\"generation\":7,\"pods\":[\"p-0\",\"p-1\"],"
                         "\"phase\":\"done\",\"stage\":\"\",\"step\":20,\"exit\":0,"
                         "\"message\":\"trained to step 20\",\"record\":" RECORD "}");
    text.len = 0;
    record = report_record(&r);
    json_print(record, 0, &text);
    CHECK_STR(text.data, RECORD);
    report_release(&r);
}

/* Of labels that are numbers there is R2 and no accuracy. */
static void test_record_of_numbers(void)
{
    AUTO(auto_json) cJSON *record = NULL;
    struct engine_report r;

    begin(&r, 1);
    feed(&r, EVENT("\"done\",\"step\":20,\"testR2\":0.5,\"digest\":\"ab\""));
    report_end(&r, 0);
    record = report_record(&r);
    CHECK_NEAR(event_number(record, "r2"), 0.5, 0);
    CHECK(isnan(event_number(record, "accuracy")));
    report_release(&r);
}

/* Another program tells of nothing: mpirun's exit code counts, and that of the pods' daemons. */
static void test_foreign(void)
{
    static const char *const whole[] = {"paceline-agent ended: p-1", "paceline-agent ended: p-2"};
    static const char *const lost[] = {"paceline-agent ended: p-1",
                                       "paceline-agent exec: agent of p-2: silent for 5 s"};
    static const struct {
        const char *const *log;
        size_t n;
        bool stop, kill;
        int code;
        enum engine_phase phase;
        const char *message;
    } cases[] = {
        {whole, 2, false, false, 0, PHASE_DONE, "the program has ended with exit code 0"},
        {whole, 2, false, false, 3, PHASE_FAILED, "the program ended with exit code 3"},
        {whole, 0, false, false, 3, PHASE_FAILED, "the program ended with exit code 3"},
        {whole, 2, false, false, 139, PHASE_FAILED, "the program was ended by signal 11"},
        {whole, 1, false, false, 0, PHASE_FAILED,
         "mpirun ended with exit code 0, but of 2 other pods only 1 said that they had come to"},
        {lost, 2, false, false, 0, PHASE_FAILED, "agent of p-2: silent for 5 s"},
        {whole, 2, false, true, 0, PHASE_FAILED, "killed on request"},
        {whole, 2, true, false, 0, PHASE_STOPPED, "the program was stopped"},
        {whole, 0, true, true, 137, PHASE_STOPPED, "the program was stopped"},
        {lost, 2, true, false, 1, PHASE_FAILED, "agent of p-2: silent for 5 s"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_release) struct buf text;
        AUTO(auto_json) cJSON *record = NULL;
        struct engine_report r;

        buf_init(&text, 0);
        begin_run(&r, 3, true);
        CHECK_INT(r.phase, PHASE_TRAINING);
        CHECK_STR(r.stage, "");
        for (size_t k = 0; k < cases[i].n; k++)
            (void)report_log(&r, cases[i].log[k]);
        if (cases[i].stop)
            CHECK(report_stop(&r));
        if (cases[i].kill)
            r.killed = "killed on request";
        report_end(&r, cases[i].code);
        CHECK_INT(r.phase, cases[i].phase);
        CHECK_INT(r.exit, cases[i].code);
        CHECK_CONTAINS(r.message, cases[i].message);
        CHECK(!r.permanent);
        record = report_record(&r);
        json_print(record, 0, &text);
        CHECK_STR(text.data, "{\"uid\":\"u-1\",\"generation\":7}");
        report_release(&r);
    }
}

static void test_worlds(void)
{
    static const char *const bad[] = {
        "{}",
        "{\"generation\":0,\"job\":{},\"hosts\":[]}",
        "{\"generation\":1.5,\"job\":{},\"hosts\":[]}",
        "{\"generation\":1,\"hosts\":[]}",
        "{\"generation\":1,\"job\":{},\"hosts\":{}}",
        "{\"generation\":1,\"job\":{},\"hosts\":[7]}",
        "{\"generation\":1,\"job\":{},\"hosts\":[{\"pod\":\"-a\",\"host\":\"a\",\"address\":\"::"
        "1\"}]}",
        "{\"generation\":1,\"job\":{},\"hosts\":[{\"pod\":\"a\",\"host\":\"a "
        "b\",\"address\":\"::1\"}]}",
        "{\"generation\":1,\"job\":{},\"hosts\":[{\"pod\":\"a\",\"host\":\"a\",\"address\":\"h\"}]"
        "}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(auto_json) cJSON *message = cJSON_Parse(bad[i]);
        struct world world;
        struct err err = {0};

        CHECK(message != NULL);
        CHECK_INT(world_parse(&world, message, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK(world.hosts == NULL && world.job == NULL);
    }
}

int main(void)
{
    test_phases();
    test_verdicts();
    test_permanent();
    test_switch();
    test_complaint();
    test_text();
    test_record_of_numbers();
    test_foreign();
    test_worlds();
    return test_result();
}
