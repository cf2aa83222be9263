// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * Nothing of a template is lost: random templates go through, and every leaf of theirs is in the
 * pod, save what stands in a short list. Pods of a role differ only where they must.
 */
#include "tests/unit/objects_job.h"

#define TEMPLATES 4000

static uint64_t state;

static unsigned draw(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static const char *word(void)
{
    static const char *const words[] = {"a",
                                        "RANK",
                                        "TF_CONFIG",
                                        "PACELINE_INDEX",
                                        "PACELINE_CLUSTER",
                                        "MASTER_ADDR",
                                        "Exists",
                                        "NoExecute",
                                        "node.kubernetes.io/not-ready",
                                        "/tmp",
                                        "/dev/shm",
                                        "/etc/paceline",
                                        "\"quoted\\\n",
                                        "$(RANK)",
                                        "h\xc3\xa9",
                                        "tensorflow",
                                        "tfjob-port",
                                        "",
                                        "5",
                                        "10m"};

    return words[draw(ARRAY_LEN(words))];
}

static cJSON *anything(int depth)
{
    cJSON *value;

    switch (draw(depth > 2 ? 4 : 6)) {
    case 0:
        return cJSON_CreateString(word());
    case 1:
        return cJSON_CreateNumber(draw(2) ? draw(100000) : draw(100) / 7.0);
    case 2:
        return cJSON_CreateBool((cJSON_bool)draw(2));
    case 3:
        return draw(4) ? cJSON_CreateString("x") : cJSON_CreateNull();
    case 4:
        value = cJSON_CreateArray();
        for (unsigned n = draw(4); n; n--)
            cJSON_AddItemToArray(value, anything(depth + 1));
        return value;
    default:
        value = cJSON_CreateObject();
        for (unsigned i = 0, n = draw(4); i < n; i++) {
            char key[16];

            snprintf(key, sizeof key, "k%u", i);
            cJSON_AddItemToObject(value, key, anything(depth + 1));
        }
        return value;
    }
}

/* Gives an object some of these members: a key that ends in "=" a word, "[" a list of objects with
 * name, "{" an object of words, "?" anything. */
static cJSON *object_of(const char *const *keys)
{
    cJSON *object = cJSON_CreateObject();

    for (; *keys; keys++) {
        char key[40], kind;
        cJSON *value = NULL;

        if (draw(2))
            continue;
        snprintf(key, sizeof key, "%.*s", (int)strlen(*keys) - 1, *keys);
        kind = (*keys)[strlen(key)];
        if (kind == '=')
            value = cJSON_CreateString(word());
        else if (kind == '?')
            value = anything(0);
        else if (kind == '{')
            value = object_of((const char *const[]){"cpu=", "add[", "runAsUser?", "x=", NULL});
        else
            value = cJSON_CreateArray();
        for (unsigned n = kind == '[' ? draw(4) : 0; n; n--)
            cJSON_AddItemToArray(value, object_of((const char *const[]){
                                            "name=", "value=", "mountPath=", "key=", "effect=",
                                            "containerPort?", "operator=", "k?", NULL}));
        cJSON_AddItemToObject(object, key, value);
    }
    return object;
}

static cJSON *random_containers(unsigned at_least)
{
    cJSON *list = cJSON_CreateArray();

    for (unsigned n = at_least + draw(3); n; n--)
        cJSON_AddItemToArray(
            list, object_of((const char *const[]){"name=", "image=", "env[", "ports[",
                                                  "volumeMounts[", "securityContext{", "args?",
                                                  "command?", "unknown?", "livenessProbe?", NULL}));
    return list;
}

static cJSON *random_template(bool builtin)
{
    cJSON *root = cJSON_CreateObject(), *spec;

    if (draw(2))
        cJSON_AddItemToObject(root, "metadata",
                              object_of((const char *const[]){"labels{", "annotations{", NULL}));
    spec = object_of((const char *const[]){
        "restartPolicy=", "hostname=", "subdomain=", "tolerations[", "volumes[", "affinity?",
        "schedulerName=", "priorityClassName=", "securityContext{", "enableServiceLinks?",
        "automountServiceAccountToken?", "topologySpreadConstraints[", "nodeSelector{",
        "imagePullSecrets[", "dnsConfig?", "unknown?", NULL});
    cJSON_AddItemToObject(root, "spec", spec);
    if (!builtin || draw(2))
        cJSON_AddItemToObject(spec, "containers", random_containers(!builtin));
    if (draw(2))
        cJSON_AddItemToObject(spec, "initContainers", random_containers(0));
    return root;
}

/* Fields that the operator alone decides. */
static bool is_ours(const char *path, const cJSON *value)
{
    static const char *const paths[] = {".spec.restartPolicy", ".spec.hostname", ".spec.subdomain"};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(value, "name"));

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return true;
    return strcmp(path, ".spec.containers.env") == 0 && name &&
           (strcmp(name, "TF_CONFIG") == 0 || strcmp(name, "PACELINE_CLUSTER") == 0);
}

static bool holds(const cJSON *got, const cJSON *want, const char *path);

/* Every element of want in got, in this order; others may stand between them. */
static bool holds_list(const cJSON *got, const cJSON *want, const char *path)
{
    const cJSON *g = cJSON_IsArray(got) ? got->child : NULL;

    for (const cJSON *w = want->child; w; w = w->next) {
        if (is_ours(path, w))
            continue;
        while (g && !holds(g, w, path))
            g = g->next;
        if (!g)
            return false;
        g = g->next;
    }
    return cJSON_IsArray(got);
}

static bool holds(const cJSON *got, const cJSON *want, const char *path)
{
    if (is_ours(path, want) || cJSON_IsNull(want))
        return true;
    if (cJSON_IsArray(want))
        return holds_list(got, want, path);
    if (!cJSON_IsObject(want))
        return cJSON_Compare(got, want, true);
    for (const cJSON *w = want->child; w; w = w->next) {
        AUTO(auto_free) char *below = xasprintf("%s.%s", path, w->string);

        if (!holds(cJSON_GetObjectItemCaseSensitive(got, w->string), w, below))
            return false;
    }
    return cJSON_IsObject(got);
}

static void check_template(struct tj *tj, bool builtin)
{
    AUTO(auto_json) cJSON *template_ = random_template(builtin), *pod = NULL;
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    json_print(template_, 0, &text);
    free(tj->job->replicas[ROLE_WORKER].template_);
    tj->job->replicas[ROLE_WORKER].template_ = xstrdup(text.data);
    pod = test_pod(tj, ROLE_WORKER, 1, 2);
    test_checked++;
    if (!pod || !holds(pod, template_, "")) {
        AUTO(buf_release) struct buf body;

        buf_init(&body, 0);
        json_print(pod, 0, &body);
        TEST_FAIL("lost of %s\n  in %s", text.data, body.data);
    }
}

static void test_nothing_lost(void)
{
    static const char *const specs[] = {
        "replicas: {worker: {replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}}",
        "model: {name: mlp}, dataset: {name: mnist}, training: {epochs: 1, batchSize: 64}"};

    for (size_t s = 0; s < ARRAY_LEN(specs); s++) {
        struct tj tj;

        test_tj_spec(&tj, "j", specs[s]);
        for (int i = 0; i < TEMPLATES / 2; i++) {
            state = (uint64_t)i * 2654435761u + s + 1;
            check_template(&tj, s == 1);
        }
        test_tj_release(&tj);
    }
}

/* One maker, many pods: each is the one that a maker of its own makes. */
static void test_reuse(void)
{
    AUTO(buf_release) struct buf one, other;
    struct pod_maker *m, *n;
    struct err err;
    struct tj tj;

    test_tj_load(&tj, "tests/objects/tensorflow.yaml");
    buf_init(&one, 0);
    buf_init(&other, 0);
    m = pod_maker_new(&test_config, &tj, ROLE_WORKER, &err);
    for (int i = 0; i < 300; i += 37) {
        char name[NAME_SIZE];

        one.len = other.len = 0;
        pod_maker_body(m, i, INT64_C(5000000000) + i, &one);
        n = pod_maker_new(&test_config, &tj, ROLE_WORKER, &err);
        pod_maker_body(n, i, INT64_C(5000000000) + i, &other);
        pod_maker_free(n);
        CHECK_STR(one.data, other.data);
        pod_name(name, tj.job->name, ROLE_WORKER, i, INT64_C(5000000000) + i);
        CHECK_CONTAINS(one.data, name);
        CHECK(!strchr(one.data, '\xff'));
    }
    pod_maker_free(m);
    pod_maker_free(NULL);
    test_tj_release(&tj);
}

int main(void)
{
    test_nothing_lost();
    test_reuse();
    return test_result();
}
