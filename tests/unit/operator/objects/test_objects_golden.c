// LINK: operator/objects operator/api common
// LIBS: -lcrypto
/*
 * Every object of the jobs in tests/objects, byte for byte: X.yaml gives X.json. UPDATE_GOLDEN=1
 * writes them anew, to be read in the diff. What they say is judged elsewhere: by TensorFlow
 * (tests/operator/test_tf_config.sh) and the API server (tests/api/test_objects.sh).
 */
#include <glob.h>

#include "paceline/file.h"
#include "tests/unit/objects_job.h"

/* A private key has no place in a repository, not even one that opens nothing. */
static void hide_key(cJSON *secret)
{
    cJSON *data = cJSON_GetObjectItemCaseSensitive(secret, "data");

    cJSON_ReplaceItemInObjectCaseSensitive(data, "tls.key", cJSON_CreateString("aGlkZGVu"));
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

static void check_file(const char *path)
{
    AUTO(auto_free) char *golden = xasprintf("%.*s.json", (int)strlen(path) - 5, path);
    AUTO(auto_json) cJSON *list = NULL;
    AUTO(buf_release) struct buf got, want = {0};
    struct err err;
    struct tj tj;

    buf_init(&got, 0);
    test_tj_load(&tj, path);
    list = all_objects(&tj);
    json_print(list, 1, &got);
    buf_puts(&got, "\n");
    if (getenv("UPDATE_GOLDEN")) {
        if (file_write_atomic(golden, got.data, got.len, &err))
            TEST_FAIL("%s", err.msg);
    }
    if (buf_read_file(&want, golden, 0, &err)) {
        TEST_FAIL("%s", err.msg);
    } else {
        size_t i = 0, line = 1;

        while (got.data[i] && got.data[i] == want.data[i])
            line += got.data[i++] == '\n';
        test_checked++;
        if (got.data[i] != want.data[i])
            TEST_FAIL("%s:%zu: got \"%.120s\", want \"%.120s\"", golden, line, got.data + i,
                      want.data + i);
    }
    test_tj_release(&tj);
}

int main(void)
{
    glob_t found = {0};

    CHECK(glob("tests/objects/*.yaml", 0, NULL, &found) == 0);
    CHECK(found.gl_pathc >= 11);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
    return test_result();
}
