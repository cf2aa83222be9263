// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* Fields of the job and its templates, and the pods that follow. */
#include "tests/unit/objects_job.h"

#define C "containers: [{name: c, image: i"

struct objects_row {
    const char *template_; /* of a worker, in YAML */
    const char *path, *want;
};

/* The pod of worker 1 of a job of two with this template. */
static void check_rows(const char *kind, const struct objects_row *rows, size_t n)
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
    static const struct objects_row rows[] = {
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
    static const struct objects_row rows[] = {
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
    static const struct objects_row rows[] = {
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
    static const struct objects_row rows[] = {
        {"", C0 "image", "\"paceline-worker:test\""},
        {"", C0 "name", "\"trainer\""},
        {"", C0 "args", "[\"serve\"]"},
        {"", C0 "resources", "{\"requests\":{\"cpu\":\"1\",\"memory\":\"585Mi\"}}"},
        {"", "spec.volumes[3]", "{\"name\":\"paceline-config\",\"configMap\":{\"name\":\"j-1\"}}"},
        {"", "spec.volumes[0].secret.secretName", "\"j-key-3579a455\""},
        {"", C0 "env[3].name", "\"PACELINE_POD\""},
        {"", C0 "env[4]", "{\"value\":\"30\",\"name\":\"PACELINE_GRACE_SECONDS\"}"},
        {"spec: {terminationGracePeriodSeconds: 90}", C0 "env[4].value", "\"90\""},
        {"spec: {containers: [{env: [{name: PACELINE_GRACE_SECONDS, value: '7'}]}]}",
         C0 "env[3].value", "\"7\""},
        {"", C0 "env[5]", "{\"value\":\"86400\",\"name\":\"PACELINE_KEEP_SECONDS\"}"},
        {"", C0 "env[6]", "absent"},
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

#define IMAGES(layers, more)                                                   \
    "model: {layers: [" layers "{type: flatten}, {type: dense, units: 10}]}, " \
    "dataset: {name: images, path: d" more "}, training: {epochs: 1, batchSize: 64}, "

/* Memory for checkpoints is that of the network for the job's own images, or has no limit. */
static void test_memory(void)
{
    static const struct objects_row large[] = {
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\",\"sizeLimit\":\"116Mi\"}"}};
    static const struct objects_row gray[] = {
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\",\"sizeLimit\":\"82Mi\"}"}};
    static const struct objects_row unknown[] = {
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\"}"},
        {"", C0 "resources", "{\"requests\":{\"cpu\":\"1\",\"memory\":\"576Mi\"}}"}};
    static const struct objects_row guessed[] = {
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\"}"}};
    static const struct objects_row words[] = {
        {"", "spec.volumes[2].emptyDir", "{\"medium\":\"Memory\",\"sizeLimit\":\"2840Mi\"}"}};
    /* 158 MiB are three bytes for each pixel of MNIST. */
    static const struct objects_row floats[] = {
        {"", C0 "resources", "{\"requests\":{\"cpu\":\"1\",\"memory\":\"743Mi\"}}"}};

    check_rows("model: {name: mlp}, dataset: {name: mnist, rowConvert: false}, "
               "training: {epochs: 1, batchSize: 64}, ",
               floats, ARRAY_LEN(floats));
    check_rows(IMAGES("", ", imageSize: 224"), large, ARRAY_LEN(large));
    check_rows(IMAGES("", ", imageSize: 224, color: gray"), gray, ARRAY_LEN(gray));
    check_rows(IMAGES("{type: conv, filters: 4, kernel: 40}, ", ", rowConvert: false"), unknown,
               ARRAY_LEN(unknown));
    check_rows(IMAGES("", ""), guessed, ARRAY_LEN(guessed));
    /* A built-in network is as large as the data's classes make it, which may not be known. */
    check_rows("model: {name: mlp}, dataset: {name: images, path: d, imageSize: 32}, "
               "training: {epochs: 1, batchSize: 64}, ",
               guessed, ARRAY_LEN(guessed));
    check_rows("model: {name: ptb-small}, dataset: {name: text, path: d, vocabulary: 200000}, "
               "training: {epochs: 1, batchSize: 20}, ",
               words, ARRAY_LEN(words));
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

        test_tj_spec(&tj, "j",
                     "replicas: {worker: {template: {spec: {containers: [{name: c, image: i}]}}}}");
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

/* Each container gets an environment of ours: a small template must not make a large pod. */
static void test_many_containers(void)
{
    for (int n = 128; n <= 129; n++) {
        AUTO(buf_release) struct buf text;
        struct err err = {.msg = ""};
        struct pod_maker *m;
        struct tj tj;

        buf_init(&text, 0);
        buf_puts(&text, "{\"spec\":{\"containers\":[{}");
        for (int i = 1; i < n; i++)
            buf_puts(&text, ",{}");
        buf_puts(&text, "]}}");
        test_tj_spec(&tj, "j",
                     "replicas: {worker: {template: {spec: {containers: [{name: c, image: i}]}}}}");
        free(tj.job->replicas[ROLE_WORKER].template_);
        tj.job->replicas[ROLE_WORKER].template_ = xstrdup(text.data);
        m = pod_maker_new(&test_config, &tj, ROLE_WORKER, &err);
        CHECK(!m == (n > 128));
        if (!m)
            CHECK_CONTAINS(err.msg, "spec.containers: found 129 containers; allowed: up to 128");
        pod_maker_free(m);
        test_tj_release(&tj);
    }
}

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
         "template: {spec: {schedulerName: own, priorityClassName: q, containers: [{name: c, "
         "image: i}]}}}}",
         ROLE_WORKER, "spec.schedulerName", "\"own\""},
        {"runPolicy: {schedulingPolicy: {gang: Volcano, priorityClass: p}}, replicas: {worker: {"
         "template: {spec: {schedulerName: own, priorityClassName: q, containers: [{name: c, "
         "image: i}]}}}}",
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

/* The cluster's domain: the operator's, or the job's own. */
static void test_domain(void)
{
    static const struct {
        const char *spec, *operators, *host;
    } rows[] = {
        {"", NULL, "j-worker-0.j.ns.svc"},
        {"", "corp.example", "j-worker-0.j.ns.svc.corp.example"},
        {"clusterSpec: {domain: lab}, ", NULL, "j-worker-0.j.ns.svc.lab"},
        {"clusterSpec: {domain: lab}, ", "corp.example", "j-worker-0.j.ns.svc.lab"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct objects_config config = test_config;
        AUTO(auto_free)
        char *spec = xasprintf("%sreplicas: {worker: {replicas: 2, " T("b") "}}", rows[i].spec);
        AUTO(auto_free) char *listed = xasprintf("[\"%s:2222\",", rows[i].host);
        AUTO(auto_free) char *master = xasprintf("\"MASTER_ADDR\",\"value\":\"%s\"", rows[i].host);
        AUTO(auto_free) char *slots = xasprintf("\"%s slots=1\\n", rows[i].host);
        AUTO(buf_release) struct buf text, pod, map;
        struct pod_maker *m;
        struct err err;
        struct tj tj;

        config.cluster_domain = rows[i].operators;
        test_tj_spec(&tj, "j", spec);
        buf_init(&text, 0);
        buf_init(&pod, 0);
        buf_init(&map, 0);
        tf_config_text(&config, &tj, ROLE_WORKER, 1, &text);
        CHECK_CONTAINS(text.data, listed);
        m = pod_maker_new(&config, &tj, ROLE_WORKER, &err);
        pod_maker_body(m, 1, 0, &pod);
        CHECK_CONTAINS(pod.data, master);
        CHECK_INT(owned_body(&config, &tj, OWNED_CONFIG_MAP, &map, &err), 0);
        CHECK_CONTAINS(map.data, slots);
        pod_maker_free(m);
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
    tf_config_text(&test_config, &tj, ROLE_WORKER, 2, &text);
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

/* Labels and annotations of the job are its pods', too; those of the template win. */
static void test_labels_win(void)
{
    static const char text[] =
        "{apiVersion: paceline.dev/v1, kind: TrainingJob, metadata: {name: j, namespace: ns, "
        "labels: {a: job, b: job, c: job}, annotations: {a: job, b: job}}, spec: {replicas: "
        "{worker: {template: {metadata: {labels: {b: own, c: null, d: own}, annotations: {b: "
        "own}}, "
        "spec: {containers: [{name: c, image: i}]}}}}}}";
    struct problems problems = {0};
    struct job *job = job_parse(text, strlen(text), "test.yaml", NULL, 0, &problems);
    AUTO(auto_json) cJSON *pod = NULL;
    struct tj tj;

    test_tj_of(&tj, job, &problems);
    pod = test_pod(&tj, ROLE_WORKER, 0, 0); /* refuses a key that stands twice */
    test_expect("labels", pod, "metadata.labels.a", "\"job\"");
    test_expect("labels", pod, "metadata.labels.b", "\"own\"");
    test_expect("labels", pod, "metadata.labels.c", "\"job\"");
    test_expect("labels", pod, "metadata.labels.d", "\"own\"");
    test_expect("annotations", pod, "metadata.annotations", "{\"a\":\"job\",\"b\":\"own\"}");
    test_tj_release(&tj);
}

int main(void)
{
    test_labels_win();
    test_security();
    test_pod_fields();
    test_environment();
    test_merge();
    test_memory();
    test_template_errors();
    test_many_containers();
    test_roles();
    test_domain();
    test_world();
    return test_result();
}
