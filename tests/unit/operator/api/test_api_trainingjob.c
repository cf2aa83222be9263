// LINK: operator/api common
/* TrainingJobs from the API's JSON, and the patch that writes their status: it reads back. */
#include "tests/unit/sieved_job.h"

#define META \
    "\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\"}"
#define HEAD "\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\"," META
#define SPEC "\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":\"fashion-mnist\"}}"
#define LATER "\"spec\":{\"model\":{\"name\":\"mlp\",\"later\":1},\"later\":{\"x\":1}}"
#define T0 1795244400000

static struct tj *decode_again(const char *uid, int generation, const char *meta, const char *rest,
                               const struct tj *known)
{
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(buf_release) struct buf text;
    struct tj *tj = NULL;
    struct err err;

    buf_init(&text, 0);
    buf_printf(&text,
               "{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{"
               "\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"%s\",\"generation\":%d,"
               "\"resourceVersion\":\"7\"%s},%s}",
               uid, generation, meta, rest);
    CHECK_INT(json_parse(&object, text.data, text.len, "job", &err), 0);
    CHECK_INT(tj_decode_again(&tj, object, known, &err), 0);
    return tj;
}

/* Of versions of one object with one spec the spec is read once, and lives as long as one of them.
 */
static void test_derived_once(void)
{
    static const char spec[] = SPEC, bad[] = "\"spec\":{\"model\":{\"name\":\"x\"}}";
    static const char damaged[] = SPEC ",\"status\":{\"replicaStatuses\":{\"worker\":{"
                                       "\"completed\":\"x\"}}}";
    static const struct {
        const char *uid;
        int generation;
        const char *meta;
    } others[] = {
        {"v", 2, ""},
        {"u", 3, ""},
        {"u", 2, ",\"labels\":{\"a\":\"b\"}"},
        {"u", 2, ",\"annotations\":{\"a\":\"b\"}"},
    };
    struct tj *first = decode_again("u", 2, "", spec, NULL);
    AUTO(auto_tj) struct tj *damage = decode_again("u", 2, "", damaged, first);
    AUTO(auto_tj) struct tj *second = decode_again("u", 2, "", spec, damage);
    AUTO(auto_tj) struct tj *wrong = decode_again("u", 2, "", bad, NULL);
    AUTO(auto_tj) struct tj *again = decode_again("u", 2, "", bad, wrong);
    AUTO(auto_tj) struct tj *uncounted = decode_again("u", 0, "", spec, NULL);
    AUTO(auto_tj) struct tj *next = decode_again("u", 0, "", spec, uncounted);

    CHECK(first->job != NULL && damage->job == first->job && second->job == first->job);
    CHECK(damage->problem != NULL && second->problem == NULL);
    tj_free(first);
    CHECK_STR(second->job->model.name, "mlp");
    CHECK(!again->job && wrong->problem == again->problem);
    CHECK(next->job != uncounted->job);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        AUTO(auto_tj)
        struct tj *other =
            decode_again(others[i].uid, others[i].generation, others[i].meta, spec, second);

        CHECK(other->job != NULL && other->job != second->job);
    }
}

static void test_spec(void)
{
    AUTO(auto_tj) struct tj *good = sieved_job("{" HEAD "," SPEC "}");
    AUTO(auto_tj)
    struct tj *bad = sieved_job(
        "{" HEAD ",\"spec\":{\"model\":{\"name\":\"x\"},\"training\":{\"epochs\":0,\"lanes\":3,"
        "\"threads\":-1,\"batchSize\":0}}}");
    AUTO(auto_tj)
    struct tj *one =
        sieved_job("{" HEAD ",\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":"
                   "\"fashion-mnist\"},\"training\":{\"epochs\":0}}}");
    AUTO(auto_tj) struct tj *later = sieved_job("{" HEAD "," LATER "}");
    AUTO(auto_json) cJSON *nameless = cJSON_Parse("{\"metadata\":{}," SPEC "}");
    struct tj *none = NULL;
    struct err err = {0};

    CHECK(good->job != NULL && good->problem == NULL);
    CHECK_STR(good->meta.name, "j");
    CHECK(!status_terminal(&good->status));
    CHECK(bad->job == NULL);
    CHECK_CONTAINS(bad->problem, "; and ");
    CHECK(one->job == NULL);
    CHECK_CONTAINS(one->problem, "spec.training.epochs: found 0");
    CHECK(later->job && !later->problem); /* of a CRD newer than this operator */
    CHECK_INT(tj_decode(&none, nameless, &err), -1);
    CHECK(none == NULL);
    CHECK_CONTAINS(err.msg, "TrainingJob: ");
}

/* Mistakes that only the shapes of the layers show, which CEL does not follow. */
static void test_network(void)
{
#define NETWORK(data, layers)                                                               \
    "{" HEAD ",\"spec\":{\"model\":{\"layers\":[" layers "]},\"dataset\":{\"name\":\"" data \
    "\",\"path\":\"/data\"}}}"
#define DENSE "{\"type\":\"dense\",\"units\":10}"
    AUTO(auto_tj) struct tj *fits = sieved_job(NETWORK("mnist", "{\"type\":\"flatten\"}," DENSE));
    AUTO(auto_tj) struct tj *image = sieved_job(NETWORK("mnist", DENSE));
    AUTO(auto_tj) struct tj *unknown = sieved_job(NETWORK("idx", DENSE));

    AUTO(auto_tj)
    struct tj *large = sieved_job(NETWORK(
        "images", "{\"type\":\"conv\",\"filters\":4,\"kernel\":31},{\"type\":\"globalavgpool\"}"));
    AUTO(auto_tj)
    struct tj *colour = sieved_job(NETWORK(
        "cifar10", "{\"type\":\"conv\",\"filters\":4,\"kernel\":31},{\"type\":\"globalavgpool\"}"));

#define INPUT(shape) "{\"type\":\"input\",\"shape\":[" shape "]}"
    AUTO(auto_tj) struct tj *vector = sieved_job(NETWORK("arrays", INPUT("6") "," DENSE));
    AUTO(auto_tj) struct tj *plane = sieved_job(NETWORK("arrays", INPUT("6,6") "," DENSE));
    AUTO(auto_tj)
    struct tj *long_one =
        sieved_job(NETWORK("arrays", INPUT("1048576") "," INPUT("1048576") "," DENSE));

    CHECK(vector->job && !vector->problem);
    CHECK(!plane->job);
    CHECK_CONTAINS(plane->problem ? plane->problem : "", "found a shape that no input has");
    CHECK(!long_one->job);
    CHECK_CONTAINS(long_one->problem ? long_one->problem : "", "samples of shape 2097152x1x1");
    CHECK(fits->job && !fits->problem);
    CHECK(large->job && !large->problem);
    CHECK(colour->job && !colour->problem); /* 32x32 */
    CHECK(!image->job);
    CHECK_CONTAINS(image->problem ? image->problem : "",
                   "a dense layer gets a 1x28x28 image; it takes a flat vector");
    CHECK(unknown->job && !unknown->problem); /* only the workers see its data */
}

/* Everything set, each field to another value. */
static void fill(struct tj_status *s, struct arena *a)
{
    static const struct scaling scaling[] = {{1, 2700}, {2, 5400.5}};

    *s = (struct tj_status){
        .observed_generation = 5,
        .start_ms = T0,
        .completion_ms = T0 + 1,
        .active_since_ms = T0 + 2000,
        .active_ms = 77,
        .world = {3, {1, 4, 2, 1}, 9},
        .restarts = 6,
        .disruptions = 9,
        .backoff_until_ms = T0 + 3000,
        .launch = {7,
                   123456789,
                   940,
                   2,
                   5,
                   8,
                   LAUNCH_RESCALE,
                   "it \"stopped\"",
                   T0 + 5,
                   T0 + 6,
                   930,
                   4,
                   6,
                   7,
                   T0 + 8,
                   {0},
                   987654321},
        .progress = {.present = true,
                     .epoch = 3,
                     .epochs = 5,
                     .step = 940,
                     .loss = 0.25,
                     .learning_rate = 0.05,
                     .samples_per_second = 5400.5,
                     .eta_seconds = 61,
                     .has_metrics = 1u << METRIC_ACCURACY | 1u << METRIC_R2,
                     .metrics = {[METRIC_ACCURACY] = 0.9125, [METRIC_R2] = -0.25},
                     .early_epoch = 3},
        .strategy = {"ParameterServer", 2, 900, T0 + 9, "plateau", 0.031},
        .transfer_s = 0.005,
        .scaling = scaling,
        .n_scaling = 2,
    };
    for (int i = 0; i < N_CONDITIONS; i++)
        s->conditions[i] = (struct condition){true, i % 2 == 0, "Because", "it \"is\"\n", T0 + i};
    index_map_set(&s->launch.without, 3, 1, a);
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        struct role_status *role = &s->roles[r];

        role->active = r + 1;
        role->ready = r + 2;
        role->succeeded = r + 3;
        role->failed = r + 4;
        role->restarts = r + 5;
        index_map_set_range(&role->completed, r, r + 3, 1, a);
        index_map_set(&role->lost, r + 7, 1, a);
        index_map_set(&role->incarnations, r + 9, r + 1, a);
    }
}

/* RFC 7396, as far as our patch needs it. */
static void merge(cJSON *into, cJSON *patch)
{
    cJSON *item, *next;

    for (item = patch->child; item; item = next) {
        cJSON *old = cJSON_GetObjectItemCaseSensitive(into, item->string);

        next = item->next;
        if (cJSON_IsObject(item) && !cJSON_IsObject(old)) {
            cJSON_DeleteItemFromObjectCaseSensitive(into, item->string);
            old = cJSON_AddObjectToObject(into, item->string);
        }
        if (cJSON_IsObject(item)) {
            merge(old, item);
            continue;
        }
        cJSON_DeleteItemFromObjectCaseSensitive(into, item->string);
        if (!cJSON_IsNull(item))
            cJSON_AddItemToObject(into, item->string, cJSON_Duplicate(item, true));
    }
}

/* The patch applied to an object, as the API server would. */
static struct tj *written(const struct tj *tj, const struct tj_status *s)
{
    AUTO(buf_release) struct buf patch;
    AUTO(buf_release) struct buf whole;
    AUTO(auto_json) cJSON *object = cJSON_Parse("{" HEAD "," SPEC ",\"status\":{\"theirs\":1}}");
    AUTO(auto_json) cJSON *body = NULL;
    struct err err;

    buf_init(&patch, 0);
    buf_init(&whole, 0);
    status_encode_patch(tj, s, &patch);
    CHECK_INT(json_parse(&body, patch.data, patch.len, "patch", &err), 0);
    merge(object, body);
    json_print(object, 0, &whole);
    CHECK_CONTAINS(whole.data, "\"theirs\":1");
    return sieved_job(whole.data);
}

static void test_round_trip(void)
{
    AUTO(arena_release) struct arena a = {0};
    AUTO(auto_tj) struct tj *tj = sieved_job("{" HEAD "," SPEC "}");
    AUTO(auto_tj) struct tj *full = NULL, *empty = NULL;
    struct tj_status s, copy;
    static const struct tj_status nothing;

    fill(&s, &a);
    full = written(tj, &s);
    CHECK(status_equal(&full->status, &s));
    CHECK(full->problem == NULL);
    for (s.launch.reason = 0; s.launch.reason < N_LAUNCH_REASONS; s.launch.reason++) {
        AUTO(auto_tj) struct tj *one = written(tj, &s);

        CHECK(status_equal(&one->status, &s));
    }
    s.launch.reason = 0;
    empty = written(full, &nothing);
    CHECK(status_equal(&empty->status, &nothing));
    CHECK(!status_equal(&empty->status, &s));
    status_copy(&copy, &s, &a);
    CHECK(status_equal(&copy, &s));
    copy.transfer_s = 0.25;
    CHECK(!status_equal(&copy, &s));
    copy.transfer_s = s.transfer_s;
    copy.strategy.seconds = 0.25;
    CHECK(!status_equal(&copy, &s));
    CHECK(copy.conditions[0].reason != s.conditions[0].reason);
    CHECK(copy.conditions[0].message != s.conditions[0].message);
    CHECK(copy.roles[0].completed.ranges != s.roles[0].completed.ranges);
    CHECK(copy.launch.cause != s.launch.cause);
    CHECK(copy.strategy.phase != s.strategy.phase && copy.strategy.reason != s.strategy.reason);
    s.strategy = (struct strategy_status){.phase = "AllReduce"}; /* as long as it has not changed */
    tj_free(empty);
    empty = written(full, &s);
    CHECK(status_equal(&empty->status, &s));
    CHECK(copy.launch.without.ranges != s.launch.without.ranges);
    s = (struct tj_status){.launch = {.from_ms = T0, .cause = "its pods ran"}}; /* no launch yet */
    tj_free(empty);
    empty = written(tj, &s);
    CHECK(status_equal(&empty->status, &s));
    tj_free(NULL);
}

static const char *text_at(const struct tj *tj, const struct tj_status *s, struct buf *out)
{
    buf_init(out, 0);
    status_encode_patch(tj, s, out);
    return strstr(out->data, "\"launch\"");
}

/* The fields of built-in jobs that people and dashboards read. */
static void test_training(void)
{
    AUTO(auto_tj)
    struct tj *tj =
        sieved_job("{" HEAD ",\"spec\":{\"model\":{\"name\":\"mlp\"},\"dataset\":{\"name\":"
                   "\"fashion-mnist\"},\"replicas\":{\"worker\":{\"replicas\":4}}}}");
    AUTO(arena_release) struct arena a = {0};
    AUTO(buf_release) struct buf out;
    AUTO(buf_release) struct buf none;
    struct tj_status s;

    fill(&s, &a);
    CHECK_CONTAINS(
        text_at(tj, &s, &out),
        "\"progress\":{\"epoch\":3,\"epochs\":5,\"step\":940,\"loss\":0.25,\"learningRate\":0.05,"
        "\"accuracy\":0.9125,\"perplexity\":null,\"binaryAccuracy\":null,"
        "\"mae\":null,\"rmse\":null,\"r2\":-0.25,\"precision\":null,"
        "\"recall\":null,\"f1\":null,\"samplesPerSecond\":5400.5,\"speedup\":2,"
        "\"stoppedEarly\":3,\"etaSeconds\":61},\"strategy\":{\"phase\":"
        "\"ParameterServer\",\"epoch\":2,"
        "\"step\":900,\"reason\":\"plateau\",\"seconds\":0.031,\"since\":"
        "\"2026-11-21T07:00:00.009Z\"},\"transferSeconds\":0.005,\"scaling\":[{"
        "\"workers\":1,\"samplesPerSecond\":2700,"
        "\"speedup\":1,\"predicted\":1},{\"workers\":2,\"samplesPerSecond\":5400.5,"
        "\"speedup\":2,\"predicted\":1.65}]");
    buf_release(&out);
    s.n_scaling = 0; /* nothing to compare with */
    s.progress.has_metrics = 0;
    s.progress.early_epoch = 0;
    CHECK_CONTAINS(text_at(tj, &s, &out), "\"accuracy\":null");
    CHECK_CONTAINS(out.data, "\"speedup\":null");
    CHECK_CONTAINS(out.data, "\"stoppedEarly\":null");
    CHECK_CONTAINS(out.data, "\"scaling\":null");
    /* A job that was never launched is spared all that; one whose status was has it taken back. */
    s = (struct tj_status){0};
    CHECK(text_at(tj, &s, &none) == NULL);
    buf_release(&none);
    tj->status.launch.generation = 1;
    CHECK_CONTAINS(text_at(tj, &s, &none), "\"launch\":null");
    CHECK_CONTAINS(none.data, "\"progress\":null,\"strategy\":null,\"transferSeconds\":null,"
                              "\"scaling\":null");
}

static void test_bytes(void)
{
    AUTO(auto_tj) struct tj *tj = sieved_job("{" HEAD "," SPEC "}");
    AUTO(buf_release) struct buf out;
    struct tj_status s = {
        .conditions[COND_CREATED] = {true, true, "Created", "made", T0},
        .world = {1, {0, 2, 0, 0}, 0},
        .start_ms = T0,
    };

    buf_init(&out, 0);
    status_encode_patch(tj, &s, &out);
    CHECK_STR(out.data,
              "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"status\":{"
              "\"state\":\"Pending\",\"message\":\"made\",\"conditions\":[{\"type\":\"Created\","
              "\"status\":\"True\","
              "\"reason\":\"Created\",\"message\":\"made\",\"lastTransitionTime\":"
              "\"2026-11-21T07:00:00Z\"}],\"observedGeneration\":0,\"startTime\":"
              "\"2026-11-21T07:00:00Z\",\"completionTime\":null,\"activeSince\":null,"
              "\"activeMilliseconds\":0,\"selector\":\"paceline.dev/job-name=j,"
              "paceline.dev/role=worker\",\"world\":{\"generation\":1,\"incarnation\":0,"
              "\"chief\":0,\"worker\":2,\"ps\":0,\"evaluator\":0},\"restarts\":0,\"disruptions\":0,"
              "\"backoffUntil\":null,\"replicaStatuses\":{\"chief\":null,\"worker\":{"
              "\"active\":0,\"ready\":0,\"succeeded\":0,\"failed\":0,\"restarts\":0,"
              "\"completed\":null,\"lost\":null,\"incarnations\":null},\"ps\":null,"
              "\"evaluator\":null}}}");
}

static void check_differ(const struct tj_status *s, const struct tj_status *t, bool durable,
                         const char *change)
{
    if (status_equal(s, t) || status_equal_durable(s, t) == durable ||
        status_equal_durable(t, s) == durable)
        TEST_FAIL("%s: %s", change, durable ? "durable" : "not durable");
    CHECK(true);
}

/* Each field alone makes a difference; which are durable is said here too, and not by the table. */
static void test_equal(void)
{
    AUTO(arena_release) struct arena a = {0};
    struct tj_status s, t;

#define DIFFERS(change, durable)                  \
    do {                                          \
        fill(&s, &a);                             \
        fill(&t, &a);                             \
        change;                                   \
        check_differ(&s, &t, (durable), #change); \
    } while (0)

    DIFFERS(t.observed_generation++, false);
    DIFFERS(t.progress.metrics[METRIC_F1] = 0.5, false);
    DIFFERS(t.progress.has_metrics ^= 1u << METRIC_MAE, false);
    DIFFERS(t.start_ms++, true);
    DIFFERS(t.completion_ms++, true);
    DIFFERS(t.active_since_ms++, true);
    DIFFERS(t.active_ms++, true);
    DIFFERS(t.world.generation++, true);
    DIFFERS(t.world.incarnation++, true);
    DIFFERS(t.restarts++, true);
    DIFFERS(t.disruptions++, true);
    DIFFERS(t.launch.outlived++, true);
    DIFFERS(t.backoff_until_ms++, true);
    DIFFERS(t.launch.generation++, true);
    DIFFERS(t.launch.world++, true);
    DIFFERS(t.launch.step++, true);
    DIFFERS(t.launch.failures++, true);
    DIFFERS(t.launch.forgiven++, true);
    DIFFERS(t.launch.reason = LAUNCH_LOSS, true);
    DIFFERS(t.launch.cause = "other", true);
    DIFFERS(t.launch.from_ms++, true);
    DIFFERS(t.launch.trained_ms++, true);
    DIFFERS(t.launch.resumed++, true);
    DIFFERS(t.launch.workers++, true);
    DIFFERS(t.launch.stepped++, true);
    DIFFERS(t.launch.stalled++, true);
    DIFFERS(t.launch.chief++, true);
    DIFFERS(t.launch.since_ms++, true);
    DIFFERS(index_map_set(&t.launch.without, 50, 1, &a), true);
    for (int i = 0; i < N_CONDITIONS; i++) {
        bool durable = i == COND_CREATED || i == COND_SUSPENDED || i == COND_STALLED ||
                       i == COND_SUCCEEDED || i == COND_FAILED;

        DIFFERS(t.conditions[i].present = false, durable);
        DIFFERS(t.conditions[i].status = !t.conditions[i].status, durable);
        DIFFERS(t.conditions[i].reason = "Other", durable);
        DIFFERS(t.conditions[i].message = NULL, durable);
        DIFFERS(t.conditions[i].since_ms++, durable);
    }
    for (int r = 0; r < N_CLUSTER_ROLES; r++) {
        DIFFERS(t.roles[r].active++, false);
        DIFFERS(t.roles[r].ready++, false);
        DIFFERS(t.roles[r].succeeded++, false);
        DIFFERS(t.roles[r].failed++, false);
        DIFFERS(t.roles[r].restarts++, true);
        DIFFERS(t.world.replicas[r]++, true);
        DIFFERS(index_map_set(&t.roles[r].completed, 50, 1, &a), true);
        DIFFERS(index_map_set(&t.roles[r].lost, 50, 1, &a), true);
        DIFFERS(index_map_set(&t.roles[r].incarnations, 50, 1, &a), true);
    }
}

static void test_foreign_conditions(void)
{
    AUTO(auto_tj)
    struct tj *tj = sieved_job(
        "{" HEAD "," SPEC ",\"status\":{\"conditions\":[{\"type\":\"Billed\",\"x\":[1,2]},7,"
        "{\"type\":\"Running\",\"status\":\"Unknown\"},{\"type\":\"Other\"}]}}");
    AUTO(buf_release) struct buf out;

    CHECK(tj->status.conditions[COND_RUNNING].present && !status_is(&tj->status, COND_RUNNING));
    CHECK_STR(tj->foreign_conditions, "{\"type\":\"Billed\",\"x\":[1,2]},{\"type\":\"Other\"}");
    buf_init(&out, 0);
    status_encode_patch(tj, &tj->status, &out);
    CHECK_CONTAINS(out.data,
                   "\"conditions\":[{\"type\":\"Running\",\"status\":\"False\",\"reason\":"
                   "\"Running\",\"message\":\"\",\"lastTransitionTime\":\"1970-01-01T00:00:00."
                   "001Z\"},{\"type\":\"Billed\",\"x\":[1,2]},{\"type\":\"Other\"}]");
    tj->status.conditions[COND_RUNNING].present = false;
    out.len = 0;
    status_encode_patch(tj, &tj->status, &out);
    CHECK_CONTAINS(out.data, "\"conditions\":[{\"type\":\"Billed\"");
}

static void check_damage(const char *role, const char *part)
{
    AUTO(auto_free)
    char *text = xasprintf("{" HEAD "," SPEC ",\"status\":{\"restarts\":3,\"replicaStatuses\":{"
                           "\"worker\":%s}}}",
                           role);
    AUTO(auto_tj) struct tj *tj = sieved_job(text);

    CHECK(tj->job != NULL);
    CHECK_INT(tj->status.restarts, 3);
    if (part)
        CHECK_CONTAINS(tj->problem, part);
    else
        CHECK(tj->problem == NULL);
}

static void test_damage(void)
{
    check_damage("{\"completed\":\"3-1\"}", "status.replicaStatuses.worker.completed: \"3-1\"");
    check_damage("{\"lost\":7}", "status.replicaStatuses.worker.lost: not a string");
    check_damage("{\"incarnations\":\"1\"}", "status.replicaStatuses.worker.incarnations");
    check_damage("{\"completed\":\"3-1\",\"lost\":7}", "status.replicaStatuses.worker.completed");
    check_damage("{\"completed\":null,\"active\":\"x\"}", NULL);
    check_damage("7", NULL);
}

/* A reason that blocks pods comes first; otherwise the reason of the state. */
static void test_why(void)
{
    struct tj_status s = {.conditions[COND_CREATED] = {.present = true, .status = true}};

    CHECK_STR(status_why(&s), "");
    s.conditions[COND_CREATED].message = "accepted";
    CHECK_STR(status_why(&s), "accepted");
    s.conditions[COND_RUNNING] = (struct condition){.present = true, .message = "worker 0 waits"};
    CHECK_STR(status_why(&s), "worker 0 waits");
    s.conditions[COND_RESTARTING] =
        (struct condition){.present = true, .status = true, .message = "worker 1 failed"};
    CHECK_STR(status_why(&s), "worker 0 waits");
    s.conditions[COND_RUNNING] =
        (struct condition){.present = true, .status = true, .message = "all run"};
    CHECK_STR(status_why(&s), "worker 1 failed");
    s.conditions[COND_RESTARTING].status = false;
    CHECK_STR(status_why(&s), "all run");
    s.conditions[COND_RUNNING] = (struct condition){.present = true, .message = "1 of 2"};
    s.conditions[COND_PODS_BLOCKED] =
        (struct condition){.present = true, .status = true, .message = "quota"};
    CHECK_STR(status_why(&s), "quota");
    s.conditions[COND_FAILED] =
        (struct condition){.present = true, .status = true, .message = "worker 1 exited with 3"};
    CHECK_STR(status_why(&s), "worker 1 exited with 3");
}

static void test_state(void)
{
    static const struct {
        enum condition_type type;
        const char *state;
    } order[] = {
        {COND_RUNNING, "Running"},      {COND_RESTARTING, "Restarting"},
        {COND_PODS_BLOCKED, "Blocked"}, {COND_SUSPENDED, "Suspended"},
        {COND_FAILED, "Failed"},        {COND_SUCCEEDED, "Succeeded"},
    };
    struct tj_status s = {.conditions[COND_CREATED] = {.present = true, .status = true}};

    CHECK_STR(status_state(&s), "Pending");
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        s.conditions[order[i].type] = (struct condition){.present = true, .status = true};
        CHECK_STR(status_state(&s), order[i].state);
        CHECK_INT(status_terminal(&s), i >= 4);
    }
    s.conditions[COND_SUCCEEDED].status = s.conditions[COND_FAILED].status = false;
    CHECK(!status_terminal(&s));
}

static void test_incarnation(void)
{
    AUTO(arena_release) struct arena a = {0};
    struct tj_status s = {.world.incarnation = 10};

    index_map_set(&s.roles[ROLE_PS].incarnations, 1, 3, &a);
    CHECK_INT(status_incarnation(&s, ROLE_PS, 1), 13);
    CHECK_INT(status_incarnation(&s, ROLE_PS, 0), 10);
    CHECK_INT(status_incarnation(&s, ROLE_WORKER, 1), 10);
}

int main(void)
{
    test_spec();
    test_derived_once();
    test_network();
    test_round_trip();
    test_training();
    test_bytes();
    test_equal();
    test_foreign_conditions();
    test_damage();
    test_state();
    test_why();
    test_incarnation();
    return test_result();
}
