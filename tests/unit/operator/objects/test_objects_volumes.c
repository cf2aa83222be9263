// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/* The volumes of a built-in job: its data, and its model. */
#include "tests/unit/objects_job.h"

#define DATA "dataset: {name: idx, path: /data, volume: {persistentVolumeClaim: {claimName: d}}}, "
#define OUTPUT "output: {subPath: team/a, volume: {hostPath: {path: /models}}}, "
#define MOUNTS "spec.containers[0].volumeMounts"

static const char data_mount[] =
    "{\"name\":\"paceline-data\",\"mountPath\":\"/data\",\"readOnly\":true}";
static const char data_volume[] =
    "{\"name\":\"paceline-data\",\"persistentVolumeClaim\":{\"claimName\":\"d\"}}";
static const char output_mount[] =
    "{\"name\":\"paceline-output\",\"mountPath\":\"/output\",\"subPath\":\"team/a\"}";
static const char output_volume[] =
    "{\"name\":\"paceline-output\",\"hostPath\":{\"path\":\"/models\"}}";

/* The pod of a worker of a job of two. */
static cJSON *pod_of(const char *fields, int index)
{
    AUTO(auto_free)
    char *spec = xasprintf("model: {name: mlp}, %sreplicas: {worker: {replicas: 2}}", fields);
    struct tj tj;
    cJSON *pod;

    test_tj_spec(&tj, "j", spec);
    pod = test_pod(&tj, ROLE_WORKER, index, 5);
    test_tj_release(&tj);
    return pod;
}

/* Whether pod has this among its volumes (mounts). */
static bool has(const cJSON *pod, const char *list, const char *want)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, test_at(pod, list))
    {
        AUTO(buf_release) struct buf text;

        buf_init(&text, 0);
        json_print(item, 0, &text);
        if (strcmp(text.data, want) == 0)
            return true;
    }
    return false;
}

/* Data is read by all; the output is worker 0's alone. */
static void test_who_has_what(void)
{
    for (int i = 0; i < 2; i++) {
        AUTO(auto_json) cJSON *none = pod_of("", i), *both = pod_of(DATA OUTPUT, i);

        CHECK(has(both, MOUNTS, data_mount) && has(both, "spec.volumes", data_volume));
        CHECK(has(both, MOUNTS, output_mount) == (i == 0));
        CHECK(has(both, "spec.volumes", output_volume) == (i == 0));
        CHECK(!has(none, MOUNTS, data_mount) && !has(none, MOUNTS, output_mount));
        test_expect("group", both, "spec.securityContext.fsGroup", i ? "absent" : "65532");
        test_expect("group", none, "spec.securityContext.fsGroup", "absent");
        test_expect("others", both, "metadata.labels.paceline~dev/index", i ? "\"1\"" : "\"0\"");
    }
}

/* How long the chief keeps its model. */
static void test_keeping(void)
{
    static const struct {
        const char *fields, *want;
    } rows[] = {
        {"", "86400"},
        {OUTPUT, "0"},
        {"output: {keepSeconds: 60}, ", "60"},
        {"output: {keepSeconds: 60, volume: {nfs: {server: s, path: /p}}}, ", "60"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(auto_json) cJSON *pod = pod_of(rows[i].fields, 0);
        AUTO(auto_free)
        char *want =
            xasprintf("{\"value\":\"%s\",\"name\":\"PACELINE_KEEP_SECONDS\"}", rows[i].want);

        CHECK(has(pod, "spec.containers[0].env", want));
    }
}

int main(void)
{
    test_who_has_what();
    test_keeping();
    return test_result();
}
