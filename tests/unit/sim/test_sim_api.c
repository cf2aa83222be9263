// LINK: common tests/sim/apiserver.c tests/sim/apilist.c tests/sim/store.c
// LINK: tests/sim/target.c tests/sim/value.c

/* The simulated API server by itself; tests/api/test_sim_replay.sh compares it with a real one. */
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/sim/apiserver.h"
#include "tests/sim/value.h"
#include "tests/test.h"

#define PODS "/api/v1/namespaces/ns/pods"
#define POD_A                                                                  \
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"x\"},\"finalizers\":" \
    "[\"f\"]},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static struct api api;
static cJSON *last; /* the body of the last answer */

static int ask(enum kube_method method, const char *path, const char *type, const char *body)
{
    struct api_answer a = {0};
    struct err err;
    int status;

    api_handle(&api,
               &(struct kube_request){.method = method,
                                      .path = path,
                                      .content_type = type,
                                      .body = body,
                                      .body_len = body ? strlen(body) : 0},
               &a);
    cJSON_Delete(last);
    last = NULL;
    CHECK(json_parse(&last, a.body.data, a.body.len, "answer", &err) == 0);
    status = a.status;
    answer_release(&a);
    return status;
}

#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"

static void test_merge_patch(void)
{
    struct err err;
    static const struct {
        const char *target, *patch, *want;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", "{\"a\":null,\"c\":3}", "{\"b\":2,\"c\":3}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"c\":null,\"d\":{\"e\":null}}}",
         "{\"a\":{\"b\":1,\"d\":{}}}"},
        {"{\"a\":[1,2]}", "{\"a\":[3]}", "{\"a\":[3]}"},
        {"{\"a\":1}", "{\"a\":{\"b\":2}}", "{\"a\":{\"b\":2}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_json) cJSON *target = NULL, *patch = NULL;

        CHECK(!json_parse(&target, cases[i].target, strlen(cases[i].target), "t", &err));
        CHECK(!json_parse(&patch, cases[i].patch, strlen(cases[i].patch), "p", &err));
        val_merge(target, patch);
        AUTO(auto_free) char *got = val_print(target);
        CHECK_STR(got, cases[i].want);
    }
}

static void test_life(void)
{
    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 404);
    CHECK_STR(val_str(last, "message"), "pods \"a\" not found");
    CHECK_INT(ask(KUBE_POST, PODS "?dryRun=All", NULL, POD_A), 201);
    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 404);
    CHECK_INT(ask(KUBE_POST, PODS, NULL, POD_A), 201);
    CHECK_STR(val_str(last, "status", "phase"), "Pending");
    CHECK_INT(ask(KUBE_POST, PODS, NULL, POD_A), 409);
    CHECK_STR(val_str(last, "reason"), "AlreadyExists");
}

static void test_versions(void)
{
    char patch[200];

    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 200);
    snprintf(patch, sizeof patch,
             "{\"metadata\":{\"resourceVersion\":\"%s\",\"labels\":{\"y\":\"1\"}}}",
             val_str(last, "metadata", "resourceVersion"));
    CHECK_INT(ask(KUBE_PATCH, PODS "/a", MERGE, patch), 200);
    CHECK_INT(ask(KUBE_PATCH, PODS "/a", MERGE, patch), 409);
    CHECK_INT(ask(KUBE_PATCH, PODS "/a", MERGE, "{\"metadata\":{\"uid\":\"other\"}}"), 422);
    CHECK_INT(ask(KUBE_DELETE, PODS "/a", NULL, "{\"preconditions\":{\"uid\":\"other\"}}"), 409);
    CHECK_INT(ask(KUBE_DELETE, PODS "/a", NULL, "{\"preconditions\":{\"resourceVersion\":\"1\"}}"),
              409);
    /* A patch that changes nothing makes no version. */
    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 200);
    int64_t rv = api.store.rv;
    CHECK_INT(ask(KUBE_PATCH, PODS "/a", MERGE, "{\"metadata\":{\"labels\":{\"y\":\"1\"}}}"), 200);
    CHECK_INT(api.store.rv, rv);
}

/* Grace, the finalizer, and the end. */
static void test_deletion(void)
{
    struct store_object *o = store_find(&api.store, KIND_POD, "ns", "a");
    cJSON *json = store_edit(o);

    val_set_str(val_object(json, "spec"), "nodeName", "n");
    CHECK(store_update(&api.store, o, json));
    CHECK_INT(ask(KUBE_DELETE, PODS "/a", NULL, NULL), 200);
    CHECK_INT(val_int(last, "metadata", "deletionGracePeriodSeconds"), 30);
    CHECK_INT(ask(KUBE_DELETE, PODS "/a", NULL, "{\"gracePeriodSeconds\":60}"), 200);
    CHECK_INT(val_int(last, "metadata", "deletionGracePeriodSeconds"), 30);
    CHECK_INT(ask(KUBE_DELETE, PODS "/a", NULL, "{\"gracePeriodSeconds\":0}"), 200);
    CHECK_INT(val_int(last, "metadata", "deletionGracePeriodSeconds"), 0);
    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 200);
    CHECK_INT(ask(KUBE_PATCH, PODS "/a", STRATEGIC,
                  "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"f\"]}}"),
              200);
    CHECK_INT(ask(KUBE_GET, PODS "/a", NULL, NULL), 404);
}

static void test_watch(void)
{
    struct api_answer a = {0};
    struct api_watch *w = watch_new(
        &api,
        &(struct kube_request){.path = PODS "?watch=1&labelSelector=app%3Dx&resourceVersion=95"},
        &a);
    static const char *const want[] = {"ADDED",    "MODIFIED", "MODIFIED",
                                       "MODIFIED", "MODIFIED", "DELETED"};
    size_t n = 0;

    for (;; n++) {
        AUTO(buf_release) struct buf line = {0};
        char type[32];

        if (!watch_next(w, api.store.rv, &line))
            break;
        snprintf(type, sizeof type, "{\"type\":\"%s\"", n < ARRAY_LEN(want) ? want[n] : "no more");
        CHECK_CONTAINS(line.data, type);
    }
    CHECK_INT(n, ARRAY_LEN(want));
    watch_free(w);
    /* A version that was compacted cannot be watched. */
    api_compact(&api);
    w = watch_new(&api, &(struct kube_request){.path = PODS "?watch=1&resourceVersion=95"}, &a);
    AUTO(buf_release) struct buf line = {0};
    CHECK(watch_next(w, api.store.rv, &line));
    CHECK_CONTAINS(line.data, "\"code\":410");
    watch_free(w);
}

/* Later pages show the moment of the first, until that is forgotten. */
static void test_pages(void)
{
    char body[200], path[200];

    for (int i = 0; i < 3; i++) {
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%d\"}}", i);
        CHECK_INT(ask(KUBE_POST, "/api/v1/namespaces/ns/configmaps", NULL, body), 201);
    }
    CHECK_INT(ask(KUBE_GET, "/api/v1/configmaps?limit=2", NULL, NULL), 200);
    CHECK_INT(cJSON_GetArraySize(val_get(last, "items", NULL)), 2);
    snprintf(path, sizeof path, "/api/v1/configmaps?limit=2&continue=%s",
             val_str(last, "metadata", "continue"));
    CHECK_INT(ask(KUBE_DELETE, "/api/v1/namespaces/ns/configmaps/m2", NULL, NULL), 200);
    CHECK_STR(val_str(last, "status"), "Success");
    CHECK_INT(ask(KUBE_GET, path, NULL, NULL), 200);
    CHECK_INT(cJSON_GetArraySize(val_get(last, "items", NULL)), 1);
    CHECK(!val_get(last, "metadata", "continue", NULL));
    api_compact(&api);
    CHECK_INT(ask(KUBE_GET, path, NULL, NULL), 410);
}

static void test_status(void)
{
    static const char jobs[] = "/apis/paceline.dev/v1/namespaces/ns/trainingjobs";
    char status[100], job[100];

    snprintf(job, sizeof job, "%s/j", jobs);
    snprintf(status, sizeof status, "%s/j/status", jobs);
    CHECK_INT(ask(KUBE_POST, jobs, NULL,
                  "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"a\":1},\"status\":{\"x\":1}}"),
              201);
    CHECK(!val_get(last, "status", NULL));
    CHECK_INT(ask(KUBE_PATCH, status, MERGE, "{\"spec\":{\"a\":2},\"status\":{\"x\":2}}"), 200);
    CHECK_INT(val_int(last, "spec", "a"), 1);
    CHECK_INT(val_int(last, "status", "x"), 2);
    CHECK_INT(val_int(last, "metadata", "generation"), 1);
    CHECK_INT(ask(KUBE_PATCH, job, MERGE, "{\"spec\":{\"a\":2},\"status\":{\"x\":3}}"), 200);
    CHECK_INT(val_int(last, "status", "x"), 2);
    CHECK_INT(val_int(last, "metadata", "generation"), 2);
    CHECK_INT(ask(KUBE_DELETE, job, NULL, "{\"propagationPolicy\":\"Foreground\"}"), 200);
    CHECK(val_has(val_get(last, "metadata", "finalizers", NULL), "foregroundDeletion"));
}

int main(void)
{
    api_init(&api, 95, 1);
    api.store.now_ms = 1800000000000;
    test_merge_patch();
    test_life();
    test_versions();
    test_deletion();
    test_watch();
    test_pages();
    test_status();
    cJSON_Delete(last);
    api_release(&api);
    return test_result();
}
