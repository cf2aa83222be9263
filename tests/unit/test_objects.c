// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* What the job and its templates say, and what becomes of it in pods and objects. */
#include "tests/unit/objects_job.h"

#define C "containers: [{name: c, image: i"

struct row {
    const char *template_; /* of a worker, in YAML */
    const char *path, *want;
};

/* The pod of worker 1 of a job of two with this template. */
static void check_rows(const char *kind, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(auto_free)
        char *spec = xasprintf("%sreplicas: {worker: {replicas: 2, template: {%s}}}", kind,
                               rows[i].template_);
        AUTO(auto_json) cJSON *pod = NULL;
        struct tj tj;

        test_tj_spec(&tj, "j", spec);
        pod = test_pod(&tj, ROLE_WORKER, 1, 5);
        test_expect(rows[i].template_, pod, rows[i].path, rows[i].want);
        test_tj_release(&tj);
    }
}

#define ANY ""
#define S0 "spec.containers[0].securityContext."

static void test_security(void)
{
    static const struct row rows[] = {
        {"spec: {" C "}]}", "spec.automountServiceAccountToken", "false"},
        {"spec: {automountServiceAccountToken: true, " C "}]}", "spec.automountServiceAccountToken",
         "true"},
        {"spec: {" C "}]}", "spec.securityContext",
         "{\"runAsNonRoot\":true,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}"},
        {"spec: {securityContext: null, " C "}]}", "spec.securityContext.runAsNonRoot", "true"},
        {"spec: {securityContext: {runAsNonRoot: false}, " C "}]}", "spec.securityContext",
         "{\"runAsNonRoot\":false,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}"},
        {"spec: {securityContext: {runAsUser: 0}, " C "}]}", "spec.securityContext.runAsNonRoot",
         "absent"},
        {"spec: {securityContext: {runAsUser: 5}, " C "}]}", "spec.securityContext.runAsNonRoot",
         "true"},
        {"spec: {securityContext: {seccompProfile: {type: Unconfined}}, " C "}]}",
         "spec.securityContext.seccompProfile", "{\"type\":\"Unconfined\"}"},
        {"spec: {" C "}]}", S0 "allowPrivilegeEscalation", "false"},
        {"spec: {" C ", securityContext: {allowPrivilegeEscalation: true}}]}",
         S0 "allowPrivilegeEscalation", "true"},
        {"spec: {" C ", securityContext: {privileged: true}}]}", S0 "allowPrivilegeEscalation",
         "absent"},
        {"spec: {" C ", securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}}}]}",
         S0 "allowPrivilegeEscalation", "absent"},
        {"spec: {" C ", securityContext: {capabilities: {add: [NET_ADMIN]}}}]}", S0 "capabilities",
         "{\"add\":[\"NET_ADMIN\"],\"drop\":[\"ALL\"]}"},
        {"spec: {" C ", securityContext: {capabilities: {drop: []}}}]}", S0 "capabilities",
         "{\"drop\":[]}"},
        {"spec: {" C ", securityContext: {runAsUser: 0}}]}", S0 "runAsNonRoot", "false"},
        {"spec: {" C ", securityContext: {runAsUser: 0, runAsNonRoot: true}}]}", S0 "runAsNonRoot",
         "true"},
        {"spec: {" C "}]}", S0 "runAsNonRoot", "absent"},
        {"spec: {" C "}]}", S0 "readOnlyRootFilesystem", "true"},
        {"spec: {" C ", securityContext: {readOnlyRootFilesystem: false}}]}",
         S0 "readOnlyRootFilesystem", "false"},
        {"spec: {" C ", securityContext: {readOnlyRootFilesystem: false}}]}", "spec.volumes[1]",
         "absent"},
        {"spec: {" C ", securityContext: {readOnlyRootFilesystem: true}}]}", "spec.volumes[1]",
         "absent"}, /* whoever says it has thought of /tmp */
        {"spec: {" C "}]}", "spec.volumes[1]", "{\"name\":\"paceline-tmp\",\"emptyDir\":{}}"},
        {"spec: {" C "}]}", "spec.containers[0].volumeMounts[1]",
         "{\"name\":\"paceline-tmp\",\"mountPath\":\"/tmp\"}"},
        {"spec: {" C ", volumeMounts: [{name: v, mountPath: /tmp//}]}]}", "spec.volumes[1]",
         "absent"},
        {"spec: {initContainers: [{name: i, image: i}], " C "}]}",
         "spec.initContainers[0].securityContext.readOnlyRootFilesystem", "true"},
        {"spec: {initContainers: [{name: i, image: i}], " C "}]}", "spec.initContainers[0].env",
         "absent"},
    };

    check_rows(ANY, rows, ARRAY_LEN(rows));
}

static void test_pod_fields(void)
{
    static const struct row rows[] = {
        {"spec: {" C "}]}", "metadata.name", "\"j-worker-1-5\""},
        {"spec: {" C "}]}", "metadata.namespace", "\"ns\""},
        {"spec: {hostname: x, subdomain: y, " C "}]}", "spec.hostname", "\"j-worker-1\""},
        {"spec: {hostname: x, subdomain: y, " C "}]}", "spec.subdomain", "\"j\""},
        {"spec: {" C "}]}", "metadata.finalizers", "[\"paceline.dev/tracking\"]"},
        {"metadata: {finalizers: [a/b, paceline.dev/tracking]}, spec: {" C "}]}",
         "metadata.finalizers", "[\"paceline.dev/tracking\",\"a/b\"]"},
        {"metadata: {labels: {paceline~dev/role: ps, x: y}}, spec: {" C "}]}", "metadata.labels.x",
         "\"y\""},
        {"metadata: {labels: {x: null}}, spec: {" C "}]}", "metadata.labels.x", "absent"},
        {"metadata: {labels: {paceline.dev/role: ps}}, spec: {" C "}]}",
         "metadata.labels.paceline~dev/role", "\"worker\""},
        {"spec: {" C "}]}", "metadata.labels.paceline~dev/incarnation", "\"5\""},
        {"metadata: {annotations: null, labels: null}, spec: {" C "}]}", "metadata.annotations",
         "absent"},
        {"metadata: {name: mine, annotations: {a: b}}, spec: {" C "}]}", "metadata.annotations",
         "{\"a\":\"b\"}"},
        {"spec: {enableServiceLinks: true, " C "}]}", "spec.enableServiceLinks", "true"},
        {"spec: {restartPolicy: Always, " C "}]}", "spec.restartPolicy", "\"Never\""},
        {"spec: {volumes: null, tolerations: null, " C "}]}", "spec.tolerations[1].key",
         "\"node.kubernetes.io/unreachable\""},
        {"spec: {tolerations: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}], " C "}]}",
         "spec.tolerations[1].key", "\"node.kubernetes.io/not-ready\""},
        {"spec: {tolerations: [{key: node.kubernetes.io/not-ready}], " C "}]}",
         "spec.tolerations[1].key", "\"node.kubernetes.io/unreachable\""},
        {"spec: {tolerations: [{operator: Exists}], " C "}]}", "spec.tolerations[1]", "absent"},
        {"spec: {tolerations: [{operator: Exists, effect: NoExecute}], " C "}]}",
         "spec.tolerations[1]", "absent"},
        {"spec: {tolerations: [{key: k}], " C "}]}", "spec.tolerations[2].tolerationSeconds", "30"},
        {"spec: {affinity: {}, " C "}]}", "spec.topologySpreadConstraints", "absent"},
        {"spec: {topologySpreadConstraints: [], " C "}]}", "spec.topologySpreadConstraints", "[]"},
        {"spec: {" C "}]}", "spec.topologySpreadConstraints[0].whenUnsatisfiable",
         "\"ScheduleAnyway\""},
        {"spec: {unknown: {deep: [1, null, 2.5]}, " C "}]}", "spec.unknown",
         "{\"deep\":[1,null,2.5]}"},
    };

    check_rows(ANY, rows, ARRAY_LEN(rows));
}

/* Ours stands before the template's own, which wins; TF_CONFIG is last and wins. */
static void test_environment(void)
{
    static const struct row rows[] = {
        {"spec: {" C "}]}", "spec.containers[0].env[2]",
         "{\"name\":\"PACELINE_INDEX\",\"value\":\"1\"}"},
        {"spec: {" C "}]}", "spec.containers[0].env[5]", "{\"name\":\"RANK\",\"value\":\"1\"}"},
        {"spec: {" C ", env: [{name: A, value: b}, {name: RANK, value: z}]}]}",
         "spec.containers[0].env[5]", "{\"name\":\"WORLD_SIZE\",\"value\":\"2\"}"},
        {"spec: {" C ", env: [{name: A, value: b}, {name: RANK, value: z}]}]}",
         "spec.containers[0].env[11]", "{\"name\":\"A\",\"value\":\"b\"}"},
        {"spec: {" C ", env: [{name: A, value: b}, {name: RANK, value: z}]}]}",
         "spec.containers[0].env[12]", "{\"name\":\"RANK\",\"value\":\"z\"}"},
        {"spec: {" C ", env: [{name: TF_CONFIG, value: b}, {name: TF_CONFIG, value: c}]}]}",
         "spec.containers[0].env[13].value",
         "\"{\\\"cluster\\\":$(PACELINE_CLUSTER),\\\"task\\\":{\\\"type\\\":\\\"worker\\\","
         "\\\"index\\\":1},\\\"environment\\\":\\\"cloud\\\"}\""},
        {"spec: {" C ", env: [{name: TF_CONFIG, value: b}, {name: TF_CONFIG, value: c}]}]}",
         "spec.containers[0].env[14]", "absent"},
        {"spec: {" C ", env: [{name: PACELINE_CLUSTER, value: b}]}]}",
         "spec.containers[0].env[12].valueFrom.configMapKeyRef.key", "\"cluster.json\""},
        {"spec: {" C ", ports: [{name: pytorchjob-port, containerPort: 77}]}]}",
         "spec.containers[0].env[4]", "{\"name\":\"MASTER_PORT\",\"value\":\"77\"}"},
        {"spec: {" C ", ports: [{name: pytorchjob-port, containerPort: -5}]}]}",
         "spec.containers[0].env[4]", "{\"name\":\"MASTER_PORT\",\"value\":\"29500\"}"},
        {"spec: {" C ", volumeMounts: [{name: v, mountPath: /etc/paceline}]}]}",
         "spec.containers[0].volumeMounts[1].name", "\"paceline-tmp\""},
    };

    check_rows(ANY, rows, ARRAY_LEN(rows));
}

#define BUILTIN "model: {name: mlp}, dataset: {name: mnist}, training: {epochs: 1, batchSize: 64}, "
#define C0 "spec.containers[0]."

/* A template over the built-in pod: what is said wins, what is not is filled in. */
static void test_merge(void)
{
    static const struct row rows[] = {
        {"", C0 "image", "\"paceline-worker:test\""},
        {"", C0 "name", "\"trainer\""},
        {"", C0 "args", "[\"serve\"]"},
        {"", C0 "resources", "{\"requests\":{\"cpu\":\"1\",\"memory\":\"585Mi\"}}"},
        {"", "spec.volumes[3]", "{\"name\":\"paceline-config\",\"configMap\":{\"name\":\"j-1\"}}"},
        {"", "spec.volumes[0].secret.secretName", "\"j-key-0badcafe\""},
        {"", C0 "env[3].name", "\"PACELINE_POD\""},
        {"", C0 "env[4]", "{\"value\":\"30\",\"name\":\"PACELINE_GRACE_SECONDS\"}"},
        {"spec: {terminationGracePeriodSeconds: 90}", C0 "env[4].value", "\"90\""},
        {"spec: {containers: [{env: [{name: PACELINE_GRACE_SECONDS, value: '7'}]}]}",
         C0 "env[3].value", "\"7\""},
        {"", C0 "env[5]", "absent"},
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\",\"sizeLimit\":\"73Mi\"}"},
        {"spec: {}", C0 "image", "\"paceline-worker:test\""},
        {"spec: {containers: [{}]}", C0 "name", "\"trainer\""},
        {"spec: {containers: [{image: other}]}", C0 "image", "\"other\""},
        {"spec: {containers: [{image: other}]}", C0 "args[0]", "\"serve\""},
        {"spec: {containers: [{resources: {limits: {cpu: 2}}}]}", C0 "resources",
         "{\"limits\":{\"cpu\":2},\"requests\":{\"memory\":\"585Mi\"}}"},
        {"spec: {containers: [{resources: {limits: {cpu: 2, memory: 1Gi}}}]}", C0 "resources",
         "{\"limits\":{\"cpu\":2,\"memory\":\"1Gi\"}}"},
        {"spec: {containers: [{resources: {requests: {cpu: 100m}}}]}", C0 "resources.requests",
         "{\"cpu\":\"100m\",\"memory\":\"585Mi\"}"},
        {"spec: {tolerations: [{key: gpu}]}", "spec.tolerations[0].key", "\"gpu\""},
        {"spec: {affinity: {nodeAffinity: {}}}", "spec.affinity", "{\"nodeAffinity\":{}}"},
        {"spec: {nodeSelector: {a: b}}", "spec.nodeSelector", "{\"a\":\"b\"}"},
        {"spec: {imagePullSecrets: [{name: s}]}", "spec.imagePullSecrets", "[{\"name\":\"s\"}]"},
        {"spec: {volumes: [{name: v, emptyDir: {}}]}", "spec.volumes[0].name", "\"v\""},
        {"spec: {volumes: [{name: v, emptyDir: {}}]}", "spec.volumes[1].name", "\"paceline-key\""},
        {"spec: {containers: [{volumeMounts: [{name: v, mountPath: /tmp}]}]}",
         C0 "volumeMounts[0].name", "\"v\""},
        {"spec: {containers: [{volumeMounts: [{name: v, mountPath: /tmp}]}]}",
         C0 "volumeMounts[2].mountPath", "\"/dev/shm\""},
        {"spec: {containers: [{env: [{name: A, value: b}]}]}", C0 "env[3].name", "\"A\""},
        {"metadata: {labels: {a: b}, annotations: {c: d}}", "metadata.annotations.c", "\"d\""},
        {"metadata: {labels: {a: b}, annotations: {c: d}}", "metadata.labels.a", "\"b\""},
        {"spec: {serviceAccountName: sa}", "spec.serviceAccountName", "\"sa\""},
        {"spec: {securityContext: {fsGroup: 7}}", "spec.securityContext.fsGroup", "7"},
        {"spec: {containers: [{}, {name: side, image: s}]}", "spec.containers[1].image", "\"s\""},
        {"spec: {containers: [{}, {name: side, image: s}]}", "spec.containers[1].args", "absent"},
    };

    check_rows(BUILTIN, rows, ARRAY_LEN(rows));
}

static void test_template_errors(void)
{
    static const struct {
        const char *template_, *message;
    } rows[] = {
        {"[]", "spec.replicas.worker.template: needed: an object"},
        {"{", "spec.replicas.worker.template"},
        {"{}", "template.spec.containers: needed: at least one container"},
        {"{\"spec\":null}", "template.spec.containers: needed: at least one container"},
        {"{\"spec\":[]}", "template.spec: needed: an object"},
        {"{\"metadata\":7,\"spec\":{}}", "template.metadata: needed: an object"},
        {"{\"metadata\":{\"labels\":[]},\"spec\":{}}", "metadata.labels: needed: an object"},
        {"{\"spec\":{\"containers\":{}}}", "spec.containers: needed: a list"},
        {"{\"spec\":{\"containers\":[{},7]}}", "spec.containers[1]: needed: an object"},
        {"{\"spec\":{\"containers\":[{\"env\":7}]}}", "spec.containers[0].env: needed: a list"},
        {"{\"spec\":{\"containers\":[{\"env\":[7]}]}}",
         "spec.containers[0].env[0]: needed: an object"},
        {"{\"spec\":{\"containers\":[{\"resources\":{\"limits\":7}}]}}",
         "spec.containers[0].resources.limits: needed: an object"},
        {"{\"spec\":{\"containers\":[{}],\"initContainers\":[{\"securityContext\":7}]}}",
         "spec.initContainers[0].securityContext: needed: an object"},
        {"{\"spec\":{\"containers\":[{}],\"volumes\":[{},{\"name\":\"paceline-x\"}]}}",
         "spec.volumes[1].name: found \"paceline-x\"; allowed: names that do not begin with"},
        {"{\"spec\":{\"containers\":[{\"name\":\"\xff\"}]}}", "not UTF-8"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.msg = ""};
        struct pod_maker *m;
        struct tj tj;

        test_tj_spec(&tj, "j", "replicas: {worker: {template: {spec: {containers: [{}]}}}}");
        free(tj.job->replicas[ROLE_WORKER].template_);
        tj.job->replicas[ROLE_WORKER].template_ = xstrdup(rows[i].template_);
        m = pod_maker_new(&test_config, &tj, ROLE_WORKER, &err);
        CHECK(!m);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, rows[i].message);
        pod_maker_free(m);
        test_tj_release(&tj);
    }
}

#define T(image) "template: {spec: {containers: [{name: c, image: " image "}]}}"

static void test_roles(void)
{
    static const struct {
        const char *spec;
        enum cluster_role role;
        const char *path, *want;
    } rows[] = {
        {"replicas: {chief: {replicas: 1, restartPolicy: OnFailure, " T(
             "a") "}, worker: {replicas:"
                  " 2, restartPolicy: ExitCode, " T("b") "}}",
         ROLE_CHIEF, "spec.restartPolicy", "\"OnFailure\""},
        {"replicas: {worker: {restartPolicy: ExitCode, " T("b") "}}", ROLE_WORKER,
         "spec.restartPolicy", "\"Never\""},
        {"replicas: {worker: {restartPolicy: Always, " T("b") "}}", ROLE_WORKER,
         "spec.restartPolicy", "\"Always\""},
        {"replicas: {chief: {replicas: 1, " T("a") "}, worker: {replicas: 2, " T("b") "}}",
         ROLE_WORKER, C0 "env[5].value", "\"1\""}, /* the chief is rank 0 */
        {"replicas: {worker: {" T("b") "}, ps: {replicas: 1, " T("p") "}}", ROLE_PS,
         C0 "env[5].name", "\"PACELINE_CLUSTER\""}, /* a server has no rank */
        {"runPolicy: {nodeLossSeconds: 99}, replicas: {worker: {" T("b") "}}", ROLE_WORKER,
         "spec.tolerations[1].tolerationSeconds", "99"},
        {"runPolicy: {schedulingPolicy: {schedulerName: s, priorityClass: p}}, replicas: {worker: "
         "{" T("b") "}}",
         ROLE_WORKER, "spec.schedulerName", "\"s\""},
        {"runPolicy: {schedulingPolicy: {schedulerName: s, priorityClass: p}}, replicas: {worker: "
         "{" T("b") "}}",
         ROLE_WORKER, "spec.priorityClassName", "\"p\""},
        {"runPolicy: {schedulingPolicy: {gang: Volcano}}, replicas: {worker: {" T("b") "}}",
         ROLE_WORKER, "spec.schedulerName", "\"volcano\""},
        {"runPolicy: {schedulingPolicy: {gang: Volcano, priorityClass: p}}, replicas: {worker: {"
         "template: {spec: {schedulerName: own, priorityClassName: q, containers: [{}]}}}}",
         ROLE_WORKER, "spec.schedulerName", "\"own\""},
        {"runPolicy: {schedulingPolicy: {gang: Volcano, priorityClass: p}}, replicas: {worker: {"
         "template: {spec: {schedulerName: own, priorityClassName: q, containers: [{}]}}}}",
         ROLE_WORKER, "spec.priorityClassName", "\"q\""},
        {"runPolicy: {schedulingPolicy: {gang: Kueue}}, replicas: {worker: {" T("b") "}}",
         ROLE_WORKER, "spec.schedulerName", "absent"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(auto_json) cJSON *pod = NULL;
        struct tj tj;

        test_tj_spec(&tj, "j", rows[i].spec);
        pod = test_pod(&tj, rows[i].role, 0, 0);
        test_expect(rows[i].spec, pod, rows[i].path, rows[i].want);
        test_tj_release(&tj);
    }
}

/* The world decides, not the spec that may have changed since; before there is one, the spec. */
static void test_world(void)
{
    AUTO(auto_json) cJSON *pod = NULL, *first = NULL;
    AUTO(buf_release) struct buf text;
    struct tj tj;

    test_tj_spec(&tj, "j", "replicas: {worker: {replicas: 2, " T("b") "}}");
    tj.status.world.generation = 7;
    tj.status.world.replicas[ROLE_WORKER] = 3;
    pod = test_pod(&tj, ROLE_WORKER, 0, 0);
    test_expect("world", pod, C0 "env[6].value", "\"3\"");
    test_expect("world", pod, "spec.volumes[0].configMap.name", "\"j-7\"");
    buf_init(&text, 0);
    tf_config_text(&tj, ROLE_WORKER, 2, &text);
    CHECK_STR(text.data, "{\"cluster\":{\"worker\":[\"j-worker-0.j.ns.svc:2222\",\"j-worker-1.j.ns."
                         "svc:2222\",\"j-worker-2.j.ns.svc:2222\"]},\"task\":{\"type\":\"worker\","
                         "\"index\":2},\"environment\":\"cloud\"}");
    tj.status.world.generation = 0;
    first = test_pod(&tj, ROLE_WORKER, 0, 0);
    test_expect("no world yet", first, C0 "env[6].value", "\"2\"");
    test_expect("no world yet", first, C0 "env[12].valueFrom.configMapKeyRef.name", "\"j-1\"");
    test_expect("no world yet", first, "spec.volumes[0].configMap.name", "\"j-1\"");
    test_tj_release(&tj);
}

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
        char *spec = xasprintf("replicas: {worker: {template: {spec: {containers: [{name: c, "
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
    static const char *const names[] = {"j", "j-key-0badcafe", "j-4", "j", "j-4"};
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
        owned_name(name, &tj, k, 4);
        CHECK_STR(name, names[k]);
        owned_path(&path, &tj, "ns", k);
        CHECK_STR(path.data, paths[k]);
        CHECK_INT(owned_wanted(&tj, k), k != OWNED_POD_GROUP);
        path.len = 0;
        owned_path(&path, NULL, NULL, k);
        CHECK(!strstr(path.data, "namespaces/"));
    }
    tj.meta.uid = "A-b-zz-c123456789";
    for (int i = 0; i < 2; i++) {
        char name[NAME_SIZE];

        owned_name(name, &tj, OWNED_SECRET, 0);
        CHECK_STR(name, i ? "j-key-0" : "j-key-abc12345");
        tj.meta.uid = "xyz";
    }
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
    tf_config_text(tj, ROLE_WORKER, (int)tj->status.world.replicas[ROLE_WORKER] - 1, &text);
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
        "replicas: {worker: {" T("b") "}, ps: {template: {spec: {containers: [{"
                                      "ports: [{name: tfjob-port, containerPort: 222}]}]}}}}");
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
    test_expect("policy", policy, "spec.ingress[1]", "{}");
    test_expect("policy", policy, "spec.ingress[2]", "{\"ports\":[{\"port\":1}]}");
    test_expect("policy", policy, "spec.policyTypes", "[\"Ingress\"]");
    outside.operator_namespace = NULL; /* no pod of ours to let in */
    buf_init(&text, 0);
    CHECK_INT(owned_body(&outside, &tj, OWNED_NETWORK_POLICY, &text, &err), 0);
    tree = test_parse(&text);
    test_expect("outside", tree, "spec.ingress[0].from",
                "[{\"podSelector\":{\"matchLabels\":{\"paceline.dev/job-name\":\"j\"}}}]");
    test_tj_release(&tj);
}

static void test_service(void)
{
    AUTO(auto_json) cJSON *service = NULL;
    struct tj tj;

    test_tj_spec(&tj, "j",
                 "replicas: {worker: {replicas: 2, template: {spec: {containers: [{name: "
                 "c, ports: [{name: x, containerPort: 1}, {name: tfjob-port, "
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
    struct plan_event e = {.warning = true, .reason = "Why", .message = "say \"it\"", .key = "k"};
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
    test_security();
    test_pod_fields();
    test_environment();
    test_merge();
    test_template_errors();
    test_roles();
    test_world();
    test_hostfile_slots();
    test_names_and_paths();
    test_wanted();
    test_pod_group();
    test_limits();
    test_exact_limit();
    test_config_map_limit();
    test_network_policy();
    test_service();
    test_event();
    return test_result();
}
