// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * Prints the objects that the operator makes for the job in a file: a JSON list. Of each role it
 * prints the first pod and the last. tests/objects has such jobs; tests/operator/objects.py
 * compares their objects.
 */
#include "tests/unit/objects_job.h"

/* A key has no place in a repository, not even one that opens nothing. */
static void hide_key(cJSON *secret)
{
    cJSON *data = cJSON_GetObjectItemCaseSensitive(secret, "data");

    cJSON_ReplaceItemInObjectCaseSensitive(data, "key", cJSON_CreateString("aGlkZGVu"));
}

/* The spec is other tests' business, and grows a field now and then. */
static void hide_spec(const struct tj *tj, cJSON *config_map)
{
    cJSON *data = cJSON_GetObjectItemCaseSensitive(config_map, "data");
    AUTO(buf_release) struct buf want;

    buf_init(&want, 0);
    job_to_json(tj->job, &want);
    CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "spec.json")), want.data);
    cJSON_ReplaceItemInObjectCaseSensitive(data, "spec.json", cJSON_CreateString("{}"));
}

static void add_pods(const struct tj *tj, cJSON *list)
{
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES; r++) {
        int n = (int)tj->job->replicas[r].replicas;

        for (int i = 0; i<n; i += n> 2 ? n - 1 : 1) /* the first and the last */
            cJSON_AddItemToArray(list, test_pod(tj, r, i, 3));
    }
}

static cJSON *all_objects(const struct tj *tj)
{
    cJSON *list = cJSON_CreateArray();

    for (enum owned_kind k = 0; k < N_OWNED; k++) {
        cJSON *object = owned_wanted(tj, k) ? test_owned(tj, k) : NULL;

        if (k == OWNED_SECRET)
            hide_key(object);
        if (k == OWNED_CONFIG_MAP)
            hide_spec(tj, object);
        if (object)
            cJSON_AddItemToArray(list, object);
    }
    add_pods(tj, list);
    return list;
}

int main(int argc, char **argv)
{
    AUTO(auto_json) cJSON *list = NULL;
    AUTO(buf_release) struct buf text;
    struct tj tj;

    if (argc != 2) {
        fprintf(stderr, "usage: objects JOB.yaml\n");
        return 2;
    }
    buf_init(&text, 0);
    test_tj_load(&tj, argv[1]);
    list = all_objects(&tj);
    json_print(list, 1, &text);
    puts(text.data);
    test_tj_release(&tj);
    return test_failed != 0;
}
