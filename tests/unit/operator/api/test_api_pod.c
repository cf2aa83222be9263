// LINK: operator/api/pod.c operator/api/kept.c operator/api/meta.c operator/api/field.c common
/* Pods from the API's JSON: what is read, and from where; what is no pod of ours. */
#include "operator/api/kept.h"
#include "operator/api/pod.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/sieve_check.h"

#define META(more)                                                                \
    "\"metadata\":{\"name\":\"j-worker-3-2\",\"namespace\":\"ns\",\"uid\":\"u\"," \
    "\"resourceVersion\":\"7\",\"labels\":{\"paceline.dev/role\":\"worker\","     \
    "\"paceline.dev/index\":\"3\",\"paceline.dev/incarnation\":\"2\"}" more "}"
#define SPEC                                                                          \
    "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"sidecar\"},{\"name\":" \
    "\"pytorch\"}]}"
#define ENDED(name, code, reason)                                           \
    "{\"name\":\"" name "\",\"restartCount\":2,\"state\":{\"terminated\":{" \
    "\"exitCode\":" #code ",\"reason\":\"" reason "\",\"message\":\"why\"," \
    "\"finishedAt\":\"2026-11-21T07:00:00Z\"}}}"
#define STATUS(phase, rest) "\"status\":{\"phase\":\"" phase "\"" rest "}"

/* As the operator reads it: through the sieve. So what the decoder reads is in its table. */
static struct pod *decode(const char *text)
{
    AUTO(sieved_release) struct sieved seen = {0};
    AUTO(auto_json) cJSON *object = NULL;
    struct pod *pod = NULL;
    struct err err;

    sieve_text(&seen, kept_pod, false, text, strlen(text), 100);
    CHECK(seen.complete);
    CHECK_INT(json_parse(&object, seen.rest.data, seen.rest.len, "pod", &err), 0);
    if (pod_decode(&pod, object, &err)) {
        TEST_FAIL("%s: %s", text, err.msg);
        exit(1);
    }
    return pod;
}

static void test_whole(void)
{
    AUTO(auto_free)
    struct pod *p =
        decode("{" META(",\"finalizers\":[1,\"x\",\"paceline.dev/tracking\"]") "," SPEC "," STATUS(
            "Running", ",\"podIP\":\"10.0.0.1\",\"startTime\":\"2026-11-21T07:00:00Z\","
                       "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]") "}");

    CHECK_STR(p->meta.name, "j-worker-3-2");
    CHECK_STR(p->meta.namespace_, "ns");
    CHECK_STR(p->meta.uid, "u");
    CHECK_STR(p->ip, "10.0.0.1");
    CHECK_STR(p->node, "n1");
    CHECK_INT(p->role, ROLE_WORKER);
    CHECK_INT(p->index, 3);
    CHECK_INT(p->incarnation, 2);
    CHECK_INT(p->phase, POD_RUNNING);
    CHECK(p->ready && p->scheduled && p->tracked && !p->disrupted && !p->has_exit_code);
    CHECK(p->started_ms > 0 && !p->finished_ms && !p->reason && !p->message);
    CHECK(!pod_finished(p));
}

static void test_bare(void)
{
    AUTO(auto_free) struct pod *p = decode("{" META("") "}");

    CHECK_INT(p->phase, POD_PENDING);
    CHECK(!p->ready && !p->scheduled && !p->tracked && !p->disrupted && !p->has_exit_code);
    CHECK(!p->ip && !p->node && !p->reason && !p->meta.owner_uid);
}

static void test_phases(void)
{
    static const struct {
        const char *text;
        enum pod_phase phase;
        bool finished;
    } phases[] = {
        {"{" META("") "," STATUS("Pending", "") "}", POD_PENDING, false},
        {"{" META("") "," STATUS("Running", "") "}", POD_RUNNING, false},
        {"{" META("") "," STATUS("Succeeded", "") "}", POD_SUCCEEDED, true},
        {"{" META("") "," STATUS("Failed", "") "}", POD_FAILED, true},
        {"{" META("") "," STATUS("Unknown", "") "}", POD_UNKNOWN, false},
        {"{" META("") "," STATUS("New", "") "}", POD_UNKNOWN, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        AUTO(auto_free) struct pod *p = decode(phases[i].text);

        CHECK_INT(p->phase, phases[i].phase);
        CHECK(pod_finished(p) == phases[i].finished);
    }
}

/* Exit code, reason and message of each kind of end. */
static void test_ends(void)
{
#define POD(phase, rest) "{" META("") "," SPEC "," STATUS(phase, rest) "}"
#define LIST(items) ",\"containerStatuses\":[" items "]"
    static const struct {
        const char *text;
        bool has_code, disrupted;
        int code;
        int64_t restarts;
        const char *reason;
    } ends[] = {
        /* the main container is the one called pytorch, wherever it stands */
        {POD("Failed", LIST(ENDED("pytorch", 137, "OOMKilled") "," ENDED("sidecar", 1, "Error"))),
         true, false, 137, 4, "OOMKilled"},
        {POD("Failed", LIST(ENDED("sidecar", 1, "Error") "," ENDED("pytorch", 137, "OOMKilled"))),
         true, false, 137, 4, "OOMKilled"},
        /* it ended well: the one that failed explains */
        {POD("Failed", LIST(ENDED("pytorch", 0, "Completed") "," ENDED("sidecar", 3, "Error"))),
         true, false, 3, 4, "Error"},
        {POD("Succeeded", LIST(ENDED("pytorch", 0, "Completed"))), true, false, 0, 2, NULL},
        {POD("Failed", ",\"initContainerStatuses\":[" ENDED("init", 5, "Error") "]" LIST(
                           "{\"name\":\"pytorch\",\"state\":{\"waiting\":{\"reason\":"
                           "\"PodInitializing\"}}}")),
         true, false, 5, 2, "Error"},
        {POD("Failed", LIST(ENDED("pytorch", 137, "ContainerStatusUnknown"))), true, true, 137, 2,
         "ContainerStatusUnknown"},
        {POD("Failed", ",\"reason\":\"Evicted\",\"message\":\"low on memory\""), false, true, 0, 0,
         "Evicted"},
        {POD("Failed", ",\"reason\":\"Evicted\"" LIST(ENDED("pytorch", 137, "Error"))), true, true,
         137, 2, "Evicted"},
        {POD("Failed", ",\"reason\":\"DeadlineExceeded\""), false, false, 0, 0, "DeadlineExceeded"},
        {POD("Failed", ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}]"),
         false, true, 0, 0, NULL},
        {POD("Failed", ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"False\"},{}]"),
         false, false, 0, 0, NULL},
        {POD("Failed", ""), false, false, 0, 0, NULL},
        {POD("Failed", LIST("{\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\"}}}")), false,
         false, 0, 0, NULL},
        /* one container of a running pod has ended */
        {POD("Running", LIST(ENDED("pytorch", 9, "Error"))), true, false, 9, 2, NULL},
        {POD("Running", LIST(ENDED("sidecar", 9, "Error"))), false, false, 0, 2, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        AUTO(auto_free) struct pod *p = decode(ends[i].text);

        CHECK_INT(p->has_exit_code, ends[i].has_code);
        CHECK_INT(p->exit_code, ends[i].code);
        CHECK_INT(p->disrupted, ends[i].disrupted);
        CHECK_INT(p->restart_count, ends[i].restarts);
        CHECK_STR(p->reason ? p->reason : "-", ends[i].reason ? ends[i].reason : "-");
        CHECK_INT(p->finished_ms > 0, strstr(ends[i].text, "pytorch\",\"restartCount") ||
                                          strstr(ends[i].text, "\"init\""));
    }
}

static void test_main_container(void)
{
    AUTO(auto_free)
    struct pod *first = decode(
        "{" META("") ",\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"},{}]}," STATUS(
            "Failed", LIST(ENDED("a", 2, "Error") "," ENDED("b", 4, "Error"))) "}");
    AUTO(auto_free)
    struct pod *none = decode("{" META("") ",\"spec\":{\"containers\":{\"x\":1}}," STATUS(
        "Failed", LIST("{}," ENDED("a", 2, "Error"))) "}");

    CHECK_INT(first->exit_code, 4);
    CHECK_INT(none->exit_code, 2);
}

static void test_waiting(void)
{
    static const struct {
        const char *text, *reason;
    } waits[] = {
        {POD("Pending", LIST("{\"state\":{\"waiting\":{\"reason\":\"ContainerCreating\"}}}")), "-"},
        {POD("Pending", LIST("{\"state\":{\"waiting\":{}}}")), "-"},
        {POD("Pending",
             LIST("{\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\",\"message\":\"m\"}}},"
                  "{\"state\":{\"waiting\":{\"reason\":\"Second\"}}}")),
         "ErrImagePull"},
        {POD("Pending", ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
                        "\"reason\":\"Unschedulable\",\"message\":\"0/3 nodes\"}]"),
         "Unschedulable"},
        {POD("Running", LIST("{\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}}")),
         "CrashLoopBackOff"},
        {POD("Pending", ",\"reason\":\"Odd\",\"initContainerStatuses\":[{\"state\":{\"waiting\":"
                        "{\"reason\":\"CrashLoopBackOff\"}}}]"),
         "Odd"},
    };

    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        AUTO(auto_free) struct pod *p = decode(waits[i].text);

        CHECK_STR(p->reason ? p->reason : "-", waits[i].reason);
    }
}

static void test_begun(void)
{
    static const struct {
        const char *pod;
        bool begun;
    } cases[] = {
        {POD("Pending", ""), false},
        {POD("Pending", LIST("{\"state\":{\"waiting\":{}},\"restartCount\":0}")), false},
        {POD("Pending", LIST("{\"state\":{\"waiting\":{}},\"restartCount\":1}")), true},
        {POD("Pending", LIST("{\"state\":{\"waiting\":{}}},{\"state\":{\"running\":{}}}")), true},
        {POD("Pending", ",\"initContainerStatuses\":[{\"state\":{\"terminated\":{}}}]"), true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free) struct pod *p = decode(cases[i].pod);

        CHECK_INT(p->begun, cases[i].begun);
    }
}

#define PROBED(probe, ready)                                                              \
    "{" META("") ",\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"" probe      \
                 "}]}," STATUS("Running",                                                 \
                               ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready \
                               "\"}]") "}"

/* Without a probe a pod that runs is up, though the kubelet has not said Ready yet. */
static void test_up(void)
{
    static const struct {
        const char *text;
        bool up;
    } pods[] = {
        {PROBED("", "False"), true},
        {PROBED(",\"readinessProbe\":{}", "False"), false},
        {PROBED(",\"readinessProbe\":{}", "True"), true},
    };

    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        AUTO(auto_free) struct pod *p = decode(pods[i].text);

        CHECK(pod_is_up(p) == pods[i].up);
    }
}

static void test_key(void)
{
#define VOLUMES(list) "{" META("") ",\"spec\":{\"volumes\":[{\"name\":\"a\"}," list "]}}"
    AUTO(auto_free)
    struct pod *p =
        decode(VOLUMES("{\"name\":\"paceline-key\",\"secret\":{\"secretName\":\"k\"}}"));
    AUTO(auto_free) struct pod *other = decode(VOLUMES("{\"name\":\"paceline-key\"},7"));

    CHECK_STR(p->key, "k");
    CHECK(!other->key);
}

static void test_bounds(void)
{
    AUTO(auto_free) char *wide = xasprintf("%03000d", 1);
    AUTO(auto_free)
    char *text = xasprintf("{" META("") ",\"status\":{\"reason\":\"%s\",\"message\":\"%s\","
                                        "\"containerStatuses\":[{\"restartCount\":1e18},"
                                        "{\"restartCount\":1e18},{\"restartCount\":-5}]}}",
                           wide, wide);
    AUTO(auto_free) struct pod *p = decode(text);

    CHECK_INT(strlen(p->reason), 128);
    CHECK_INT(strlen(p->message), 512);
    CHECK_INT(p->restart_count, 1000000000);
}

static void check_refused(const char *labels, const char *part)
{
    AUTO(auto_free)
    char *text = xasprintf(
        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"%s}}", labels);
    AUTO(auto_json) cJSON *object = cJSON_Parse(text);
    struct pod *pod = NULL;
    struct err err = {0};

    CHECK_INT(pod_decode(&pod, object, &err), -1);
    CHECK(pod == NULL);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_CONTAINS(err.msg, part);
}

static void test_refused(void)
{
#define LABELS(role, index, incarnation)                                        \
    ",\"labels\":{\"paceline.dev/role\":" role ",\"paceline.dev/index\":" index \
    ",\"paceline.dev/incarnation\":" incarnation "}"
    check_refused("", "role");
    check_refused(",\"labels\":[]", "role");
    check_refused(LABELS("\"boss\"", "\"1\"", "\"1\""), "role");
    check_refused(LABELS("\"ps\"", "1", "\"1\""), "index");
    check_refused(LABELS("\"ps\"", "\"-1\"", "\"1\""), "index");
    check_refused(LABELS("\"ps\"", "\"4096\"", "\"1\""), "index");
    check_refused(LABELS("\"ps\"", "\"4095\"", "\"x\""), "incarnation");
    check_refused(LABELS("\"ps\"", "\"4095\"", "null"), "incarnation");
    check_refused(",\"name\":7", "role");
}

/* The greatest pods are there with all that decisions need, and few bytes of them are kept. */
static void test_largest(void)
{
    static const struct {
        const char *before, *part, *after;
    } rows[] = {
        {META(",\"annotations\":{\"a\":\""), "xxxx", "\"}},"},
        {META(",\"managedFields\":[{\"f\":[0"), ",{}", "]}]},"},
        {META(",\"finalizers\":[\"a/b\""), ",\"c/d\"", ",\"paceline.dev/tracking\"]},"},
        {META("") ",\"other\":[0", ",[]", "],"},
        {META(",\"ownerReferences\":[{\"uid\":\"x\"}"), ",{\"uid\":\"y\",\"controller\":false}",
         ",{\"apiVersion\":\"paceline.dev/"
         "v1\",\"kind\":\"TrainingJob\",\"name\":\"j\",\"uid\":\"o\","
         "\"controller\":true}]},"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(sieved_release) struct sieved seen = {0};
        AUTO(buf_release) struct buf text;
        AUTO(auto_free) struct pod *p = NULL;
        char *end;

        buf_init(&text, 0);
        buf_puts(&text, "{");
        buf_puts(&text, rows[i].before);
        if (i != 3) { /* inside of metadata, whose end META has */
            end = strrchr(text.data, '}');
            text.len = (size_t)(end - text.data);
        }
        while (text.len < 1350000)
            buf_puts(&text, rows[i].part);
        buf_puts(&text, rows[i].after);
        buf_puts(&text, SPEC "," STATUS("Failed", ",\"containerStatuses\":[" ENDED(
                                                      "pytorch", 3, "Error") "]") "}");
        p = decode(text.data);
        CHECK_STR(p->meta.uid, "u");
        CHECK_INT(p->index, 3);
        CHECK_INT(p->phase, POD_FAILED);
        CHECK_INT(p->exit_code, 3);
        CHECK(p->tracked == (i == 2));
        CHECK(i != 4 || (p->meta.owner_uid && strcmp(p->meta.owner_uid, "o") == 0));
        sieve_text(&seen, kept_pod, false, text.data, text.len, 100000);
        CHECK(seen.rest.len < 2000);
    }
}

int main(void)
{
    test_largest();
    test_whole();
    test_bare();
    test_phases();
    test_ends();
    test_main_container();
    test_waiting();
    test_begun();
    test_up();
    test_key();
    test_bounds();
    test_refused();
    return test_result();
}
