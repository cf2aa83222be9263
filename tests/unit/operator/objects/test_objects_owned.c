// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* Service, Secret, ConfigMap, NetworkPolicy, PodGroup and events of a job. */
#include "tests/unit/objects_job.h"

static void test_hostfile_slots(void)
{
    static const struct {
        const char *cpu, *slots;
    } rows[] = {
        {"4", "4"},     {"2500m", "2"}, {"999m", "1"}, {"0.5", "1"},  {"\"2.9\"", "2"},
        {"\"3\"", "3"}, {"1k", "1"},    {"-4", "1"},   {"many", "1"}, {"1e99", "1"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(auto_free)
        char *spec =
            xasprintf("replicas: {worker: {template: {spec: {containers: [{name: c, image: i, "
                      "resources: {limits: {cpu: %s}}}]}}}}",
                      rows[i].cpu);
        AUTO(auto_free)
        char *want = xasprintf("\"j-worker-0.j.ns.svc slots=%s\\n\"", rows[i].slots);
        AUTO(auto_json) cJSON *map = NULL;
        struct tj tj;

        test_tj_spec(&tj, "j", spec);
        map = test_owned(&tj, OWNED_CONFIG_MAP);
        test_expect(rows[i].cpu, map, "data.hostfile", want);
        test_tj_release(&tj);
    }
}

static void test_names_and_paths(void)
{
    static const char *const names[] = {"j", "j-key-3579a455", "j-4", "j", "j-4"};
    static const char *const paths[] = {
        "/api/v1/namespaces/ns/services", "/api/v1/namespaces/ns/secrets",
        "/api/v1/namespaces/ns/configmaps",
        "/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies",
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups"};
    struct tj tj;

    test_tj_spec(&tj, "j", "replicas: {worker: {" T("b") "}}");
    for (enum owned_kind k = 0; k < N_OWNED; k++) {
        AUTO(buf_release) struct buf path;
        char name[NAME_SIZE];

        buf_init(&path, 0);
        if (k == OWNED_SECRET)
            secret_name(name, &test_config, &tj);
        else
            owned_name(name, &tj, k, 4);
        CHECK_STR(name, names[k]);
        owned_path(&path, &tj, "ns", k);
        CHECK_STR(path.data, paths[k]);
        CHECK_INT(owned_wanted(&tj, k), k != OWNED_POD_GROUP);
        path.len = 0;
        owned_path(&path, NULL, NULL, k);
        CHECK(!strstr(path.data, "namespaces/"));
    }
    test_tj_release(&tj);
}

/* A key that is made again has its name; another job's, or another master key's, has another. */
static void test_secret_name(void)
{
    struct objects_config other = test_config;
    char name[3][NAME_SIZE];
    struct tj tj;

    test_tj_spec(&tj, "j", "replicas: {worker: {" T("b") "}}");
    secret_name(name[0], &test_config, &tj);
    other.master_key = (const unsigned char *)"0123456789abcdef0123456789ABCDEf";
    secret_name(name[1], &other, &tj);
    tj.meta.uid = "another";
    secret_name(name[2], &test_config, &tj);
    CHECK(strcmp(name[0], name[1]) != 0);
    CHECK(strcmp(name[0], name[2]) != 0);
    test_tj_release(&tj);
}

static void test_wanted(void)
{
    struct tj tj, broken = {.meta = {.name = "j", .namespace_ = "ns", .uid = "u"}};
    AUTO(buf_release) struct buf path;

    test_tj_spec(&tj, "j",
                 "networkPolicy: {type: None}, runPolicy: {schedulingPolicy: {gang: "
                 "SchedulerPlugins}}, replicas: {worker: {" T("b") "}}");
    CHECK(!owned_wanted(&tj, OWNED_NETWORK_POLICY));
    CHECK(owned_wanted(&tj, OWNED_POD_GROUP));
    buf_init(&path, 0);
    owned_path(&path, &tj, "n", OWNED_POD_GROUP);
    CHECK_STR(path.data, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups");
    for (enum owned_kind k = 0; k < N_OWNED; k++)
        CHECK(!owned_wanted(&broken, k)); /* a spec that is invalid wants nothing */
    test_tj_release(&tj);
}

static void test_pod_group(void)
{
    static const struct {
        const char *policy;
        int workers;
        const char *want;
    } rows[] = {
        {"schedulingPolicy: {gang: Volcano}", 4, "{\"minMember\":5}"},
        {"schedulingPolicy: {gang: Volcano, minAvailable: 3}", 4, "{\"minMember\":3}"},
        {"schedulingPolicy: {gang: Volcano, minAvailable: 5}", 4,
         "{\"minMember\":4}"}, /* fewer now */
        {"scalePolicy: Dynamic, schedulingPolicy: {gang: Volcano}", 4, "{\"minMember\":3}"},
        {"schedulingPolicy: {gang: SchedulerPlugins, priorityClass: p}", 4, "{\"minMember\":5}"},
        {"schedulingPolicy: {gang: Volcano, queue: q, priorityClass: p}", 4,
         "{\"minMember\":5,\"queue\":\"q\",\"priorityClassName\":\"p\"}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(auto_free)
        char *spec = xasprintf("runPolicy: {%s}, replicas: {chief: {replicas: 1, " T(
                                   "a") "}, worker: {minReplicas: 2, replicas: %d, " T("b") "}}",
                               rows[i].policy, rows[i].workers);
        AUTO(auto_json) cJSON *group = NULL;
        struct tj tj;

        test_tj_spec(&tj, "j", spec);
        if (tj.job->scheduling.min_available == 5)
            tj.status.world.replicas[ROLE_WORKER] = 3;
        group = test_owned(&tj, OWNED_POD_GROUP);
        test_expect(rows[i].policy, group, "spec", rows[i].want);
        test_expect(rows[i].policy, group, "metadata.name", "\"j-1\"");
        test_tj_release(&tj);
    }
}

/* Bytes of the longest TF_CONFIG as the kernel counts them. */
static size_t environment_bytes(const struct tj *tj)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    tf_config_text(&test_config, tj, ROLE_WORKER, (int)tj->status.world.replicas[ROLE_WORKER] - 1,
                   &text);
    return strlen("TF_CONFIG=") + text.len + 1;
}

/* One environment string is at most 128 KiB; the last number of workers that fits is taken. */
static void test_limits(void)
{
    AUTO(buf_release) struct buf out;
    struct err err = {.msg = ""};
    int fits = 1, too_many = 4096;
    struct tj tj;

    buf_init(&out, 0);
    test_tj_spec(&tj, "longer", "replicas: {worker: {replicas: 4096, " T("b") "}}");
    while (too_many - fits > 1) {
        int n = (fits + too_many) / 2;

        tj.status.world.replicas[ROLE_WORKER] = n;
        *(owned_body(&test_config, &tj, OWNED_CONFIG_MAP, &out, &err) ? &too_many : &fits) = n;
    }
    tj.status.world.replicas[ROLE_WORKER] = fits;
    CHECK(environment_bytes(&tj) <= 131072);
    tj.status.world.replicas[ROLE_WORKER] = too_many;
    CHECK(environment_bytes(&tj) > 131072);
    CHECK_CONTAINS(err.msg, "spec.replicas: TF_CONFIG of ");
    CHECK_CONTAINS(err.msg, "allows an environment variable 131072");
    CHECK_INT(err.code, ERR_INVALID);
    tj.job->run_policy.scale = SCALE_DYNAMIC;
    tj.status.world.replicas[ROLE_WORKER] = 4096;
    CHECK_INT(owned_body(&test_config, &tj, OWNED_CONFIG_MAP, &out, &err), 0);
    test_tj_release(&tj);
}

/* To the byte: sizes that meet the bound and pass it by one. */
static void test_exact_limit(void)
{
    static const struct {
        const char *name, *namespace_;
        int workers, servers;
        size_t bytes;
    } rows[] = {
        {"j", "namespace-", 3475, 1, 131072},
        {"j", "namespace-", 3476, 0, 131073},
    };
    AUTO(buf_release) struct buf out;
    struct err err;
    struct tj tj;

    buf_init(&out, 0);
    test_tj_spec(
        &tj, "j",
        "replicas: {worker: {" T(
            "b") "}, ps: {template: {spec: {containers: [{"
                 "name: c, image: i, ports: [{name: tfjob-port, containerPort: 222}]}]}}}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        tj.meta.name = rows[i].name;
        tj.meta.namespace_ = rows[i].namespace_;
        tj.status.world.replicas[ROLE_WORKER] = rows[i].workers;
        tj.status.world.replicas[ROLE_PS] = rows[i].servers;
        CHECK_INT(environment_bytes(&tj), rows[i].bytes);
        CHECK_INT(owned_body(&test_config, &tj, OWNED_CONFIG_MAP, &out, &err),
                  rows[i].bytes <= 131072 ? 0 : -1);
    }
    test_tj_release(&tj);
}

static void test_config_map_limit(void)
{
    AUTO(buf_release) struct buf out;
    struct err err = {.msg = ""};
    struct tj tj;
    char *big = xmalloc(1 << 20);

    buf_init(&out, 0);
    test_tj_spec(&tj, "j", "replicas: {worker: {" T("b") "}}");
    memset(big, ' ', 1 << 20);
    big[(1 << 20) - 1] = '\0';
    free(tj.job->replicas[ROLE_WORKER].template_);
    tj.job->replicas[ROLE_WORKER].template_ =
        xasprintf("{\"spec\":{\"containers\":[{\"name\":\"%s\"}]}}", big);
    CHECK_INT(owned_body(&test_config, &tj, OWNED_CONFIG_MAP, &out, &err), -1);
    CHECK_CONTAINS(err.msg, "a ConfigMap holds 1048576");
    CHECK_INT(out.len, 0);
    free(big);
    test_tj_release(&tj);
}

static void test_network_policy(void)
{
    struct objects_config outside = test_config;
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *policy = NULL, *tree = NULL;
    struct err err;
    struct tj tj;

    test_tj_spec(&tj, "j",
                 "networkPolicy: {extraIngress: [{}, {ports: [{port: 1}]}]}, replicas: "
                 "{worker: {" T("b") "}}");
    policy = test_owned(&tj, OWNED_NETWORK_POLICY);
    /* The operator needs the agent's port and no other; the job's own pods have all. */
    test_expect("policy", policy, "spec.ingress[0].ports", "absent");
    test_expect("policy", policy, "spec.ingress[1].ports",
                "[{\"protocol\":\"TCP\",\"port\":7420}]");
    test_expect("policy", policy, "spec.ingress[2]", "{}");
    test_expect("policy", policy, "spec.ingress[3]", "{\"ports\":[{\"port\":1}]}");
    test_expect("policy", policy, "spec.policyTypes", "[\"Ingress\"]");
    /* Whatever the job adds, it is about its own pods. */
    test_expect("policy", policy, "spec.podSelector",
                "{\"matchLabels\":{\"paceline.dev/job-name\":\"j\"}}");
    test_expect("policy", policy, "spec.egress", "absent");
    outside.operator_namespace = NULL; /* no pod of ours to let in */
    buf_init(&text, 0);
    CHECK_INT(owned_body(&outside, &tj, OWNED_NETWORK_POLICY, &text, &err), 0);
    tree = test_parse(&text);
    test_expect("outside", tree, "spec.ingress[0].from",
                "[{\"podSelector\":{\"matchLabels\":{\"paceline.dev/job-name\":\"j\"}}}]");
    test_expect("outside", tree, "spec.ingress[1]", "{}"); /* the job's own */
    test_tj_release(&tj);
}

static void test_denies(void)
{
    static const struct {
        const char *policy;
        bool denies;
    } cases[] = {
        {"{}", true},
        {"{type: None}", false},
        {"{extraIngress: [{}]}", false},
        {"{extraIngress: [{ports: []}]}", false},
        {"{extraIngress: [{from: [{podSelector: {}}]}]}", false},
        {"{extraIngress: [{ports: [{port: 7500}]}]}", false},
        {"{extraIngress: [{ports: [{protocol: TCP}]}]}", false},
        {"{extraIngress: [{ports: [{port: mine}]}]}", false},
        {"{extraIngress: [{ports: [{port: 7400, endPort: 7500}]}]}", false},
        {"{extraIngress: [{ports: [{port: 7500, endPort: 7600}]}]}", false},
        {"{extraIngress: [{ports: [{port: 1}, {port: 7500}]}]}", false},
        {"{extraIngress: [{ports: [{port: 1}]}, {ports: [{port: 7500}]}]}", false},
        {"{extraIngress: [{ports: [{port: 7400, endPort: 7499}]}]}", true},
        {"{extraIngress: [{ports: [{port: 7501, endPort: 7600}]}]}", true},
        {"{extraIngress: [{ports: [{protocol: UDP, port: 7500}]}]}", true},
    };
    struct objects_config outside = test_config;
    struct tj tj;

    outside.operator_namespace = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(auto_free)
        char *spec =
            xasprintf("networkPolicy: %s, replicas: {worker: {" T("b") "}}", cases[i].policy);

        test_tj_spec(&tj, "j", spec);
        if (network_policy_denies(&test_config, &tj, 7500) != cases[i].denies)
            TEST_FAIL("%s", cases[i].policy);
        CHECK(!network_policy_denies(&test_config, &tj, 7420));
        CHECK(!network_policy_denies(&outside, &tj, 7500));
        test_tj_release(&tj);
    }
}

static void test_service(void)
{
    AUTO(auto_json) cJSON *service = NULL;
    struct tj tj;

    test_tj_spec(&tj, "j",
                 "replicas: {worker: {replicas: 2, template: {spec: {containers: [{name: "
                 "c, image: i, ports: [{name: x, containerPort: 1}, {name: tfjob-port, "
                 "containerPort: 29500}]}]}}}, ps: {replicas: 1, " T("b") "}}");
    service = test_owned(&tj, OWNED_SERVICE);
    test_expect("service", service, "spec.clusterIP", "\"None\"");
    test_expect("service", service, "spec.publishNotReadyAddresses", "true");
    test_expect("service", service, "spec.selector", "{\"paceline.dev/job-name\":\"j\"}");
    test_expect("service", service, "spec.ports",
                "[{\"name\":\"worker\",\"port\":29500},{\"name\":\"ps\",\"port\":2222}]");
    test_tj_release(&tj);
}

/* One fact, one name: of another job with the same name, or another key, another. */
static void test_event(void)
{
    struct job_event e = {.warning = true, .reason = "Why", .message = "say \"it\"", .key = "k"};
    char first[NAME_SIZE], second[NAME_SIZE];
    AUTO(buf_release) struct buf text;
    AUTO(auto_json) cJSON *event = NULL;
    struct tj tj;

    test_tj_spec(&tj, "j", "replicas: {worker: {" T("b") "}}");
    event_name(first, &tj, &e);
    CHECK_STR(first, "j.83e272e28acfd57c");
    buf_init(&text, 0);
    event_body(&tj, &e, "paceline-operator", 1763700000999, &text);
    event = test_parse(&text);
    test_expect("event", event, "metadata.name", "\"j.83e272e28acfd57c\"");
    test_expect("event", event, "type", "\"Warning\"");
    test_expect("event", event, "message", "\"say \\\"it\\\"\"");
    test_expect("event", event, "lastTimestamp", "\"2025-11-21T04:40:00Z\"");
    test_expect("event", event, "involvedObject.uid", "\"" TEST_UID "\"");
    test_expect("event", event, "source.component", "\"paceline-operator\"");
    e.key = "l";
    event_name(second, &tj, &e);
    CHECK(strcmp(first, second) != 0);
    e.key = "k";
    tj.meta.uid = "other";
    event_name(second, &tj, &e);
    CHECK(strcmp(first, second) != 0);
    /* With the time of the fact, names sort as the story goes. */
    e.at_ms = 1763700000999;
    event_name(first, &tj, &e);
    for (int i = 1; i < 16; i++) { /* of one millisecond: whatever their hashes are */
        char key[2] = {(char)('a' + i), '\0'};

        e.key = key;
        e.rank = i;
        event_name(second, &tj, &e);
        CHECK(strcmp(first, second) < 0);
        memcpy(first, second, sizeof first);
    }
    e.key = "later";
    e.rank = 0;
    e.at_ms++;
    event_name(second, &tj, &e);
    CHECK(strcmp(first, second) < 0);
    buf_release(&text);
    buf_init(&text, 0);
    event_body(&tj, &e, "paceline-operator", 1, &text);
    CHECK_CONTAINS(text.data, "\"lastTimestamp\":\"2025-11-21T04:40:01Z\"");
    test_tj_release(&tj);
}

int main(void)
{
    test_hostfile_slots();
    test_names_and_paths();
    test_secret_name();
    test_wanted();
    test_pod_group();
    test_limits();
    test_exact_limit();
    test_config_map_limit();
    test_network_policy();
    test_denies();
    test_service();
    test_event();
    return test_result();
}
