/* Jobs for the tests of operator/objects: from YAML, as if the operator had started them. */
#ifndef PACELINE_TESTS_UNIT_OBJECTS_JOB_H
#define PACELINE_TESTS_UNIT_OBJECTS_JOB_H

#include "operator/objects/objects.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "tests/test.h"

/* A template of a role. */
#define T(image) "template: {spec: {containers: [{name: c, image: " image "}]}}"
#define TEST_UID "0badcafe-1234-5678-9abc-def012345678"

static const struct objects_config test_config = {
    .operator_namespace = "paceline-system",
    .worker_image = "paceline-worker:test",
    .master_key = (const unsigned char *)"0123456789abcdef0123456789ABCDEF",
};

/* A job of generation 1 with all replicas of its spec. Problems of the spec end the test. */
static inline void test_tj_of(struct tj *tj, struct job *job, struct problems *problems)
{
    for (size_t i = 0; i < problems->n; i++)
        TEST_FAIL("%s", problems->items[i]);
    problems_release(problems);
    if (!job)
        exit(1);
    *tj = (struct tj){.job = job,
                      .meta = {.namespace_ = job->namespace_,
                               .name = job->name,
                               .uid = TEST_UID,
                               .resource_version = "7"}};
    tj->status.world.generation = 1;
    for (size_t r = 0; r < N_CLUSTER_ROLES; r++)
        tj->status.world.replicas[r] = job->replicas[r].replicas;
}

static inline void test_tj_load(struct tj *tj, const char *path)
{
    struct problems problems = {0};
    struct job *job = job_load(path, NULL, 0, &problems);

    test_tj_of(tj, job, &problems);
}

/* From what stands below spec, in YAML's flow style: "replicas: {...}". */
static inline void test_tj_spec(struct tj *tj, const char *name, const char *spec)
{
    AUTO(auto_free)
    char *text = xasprintf("{apiVersion: paceline.dev/v1, kind: TrainingJob, metadata: {name: %s, "
                           "namespace: ns}, spec: {%s}}",
                           name, spec);
    struct problems problems = {0};
    struct job *job = job_parse(text, strlen(text), "test.yaml", NULL, 0, &problems);

    test_tj_of(tj, job, &problems);
}

static inline void test_tj_release(struct tj *tj) { job_free(tj->job); }

static inline cJSON *test_parse(const struct buf *text)
{
    struct err err;
    cJSON *tree = NULL;

    if (json_parse(&tree, text->data, text->len, "body", &err))
        TEST_FAIL("%s", err.msg);
    return tree;
}

/* The pod as a tree; the caller owns it. */
static inline cJSON *test_pod(const struct tj *tj, enum cluster_role role, int index,
                              int64_t incarnation)
{
    AUTO(buf_release) struct buf text;
    struct err err;
    struct pod_maker *m = pod_maker_new(&test_config, tj, role, &err);
    cJSON *tree = NULL;

    buf_init(&text, 0);
    if (m) {
        pod_maker_body(m, index, incarnation, &text);
        tree = test_parse(&text);
    } else {
        TEST_FAIL("%s", err.msg);
    }
    pod_maker_free(m);
    return tree;
}

static inline cJSON *test_owned(const struct tj *tj, enum owned_kind kind)
{
    AUTO(buf_release) struct buf text;
    struct err err;

    buf_init(&text, 0);
    if (owned_body(&test_config, tj, kind, &text, &err)) {
        TEST_FAIL("%s", err.msg);
        return NULL;
    }
    return test_parse(&text);
}

/* The value at a path such as "spec.containers[0].env", or NULL. */
static inline const cJSON *test_at(const cJSON *tree, const char *path)
{
    while (tree && *path) {
        char key[100];
        size_t n = strcspn(path, ".[");

        if (*path == '[') {
            tree = cJSON_GetArrayItem(tree, (int)strtol(path + 1, NULL, 10));
            path = strchr(path, ']') + 1;
        } else {
            snprintf(key, sizeof key, "%.*s", (int)n, path);
            for (char *c = key; *c; c++) /* '~' stands for a dot in a key */
                *c = *c == '~' ? '.' : *c;
            tree = cJSON_GetObjectItemCaseSensitive(tree, key);
            path += n;
        }
        path += *path == '.';
    }
    return tree;
}

/* Checks that what stands there prints as this JSON; "absent": nothing stands there. */
static inline void test_expect(const char *what, const cJSON *tree, const char *path,
                               const char *want)
{
    AUTO(buf_release) struct buf text;
    const cJSON *found = test_at(tree, path);

    buf_init(&text, 0);
    if (found)
        json_print(found, 0, &text);
    else
        buf_puts(&text, "absent");
    test_checked++;
    if (strcmp(text.data, want) != 0)
        TEST_FAIL("%s: %s: got %s, want %s", what, path, text.data, want);
}

#endif
