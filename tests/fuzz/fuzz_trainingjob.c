// LINK: operator/api common
/*
 * A TrainingJob of any bytes: no crash; its status is written as valid JSON, and what is written
 * reads back as the same status.
 */
#include <stdint.h>

#include "operator/api/trainingjob.h"
#include "paceline/json.h"
#include "paceline/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(const struct tj *tj)
{
    AUTO(buf_release) struct buf patch;
    AUTO(auto_json) cJSON *body = NULL;
    struct tj *again = NULL;
    struct tj_status first = tj->status;
    struct err err;

    buf_init(&patch, 0);
    /* Reason and time are never absent in what we write. */
    for (int i = 0; i < N_CONDITIONS; i++) {
        first.conditions[i].since_ms += first.conditions[i].since_ms == 0;
        if (!first.conditions[i].present)
            first.conditions[i] = (struct condition){0};
        else if (!first.conditions[i].reason)
            first.conditions[i].reason = condition_names[i];
    }
    status_encode_patch(tj, &first, &patch);
    if (json_parse(&body, patch.data, patch.len, "patch", &err)) {
        fprintf(stderr, "%s\n%s\n", patch.data, err.msg);
        abort();
    }
    if (tj_decode(&again, body, &err)) { /* the patch's metadata has no name */
        cJSON_AddStringToObject(cJSON_GetObjectItem(body, "metadata"), "name", "j");
        if (tj_decode(&again, body, &err))
            abort();
    }
    if (!status_equal(&again->status, &first))
        abort();
    tj_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_json) cJSON *object = NULL;
    AUTO(arena_release) struct arena a = {0};
    struct tj_status copy;
    struct tj *tj = NULL;
    struct err err;

    if (json_parse(&object, (const char *)data, size, "fuzz", &err))
        return 0;
    if (tj_decode(&tj, object, &err))
        return 0;
    if (!tj->job && !tj->problem)
        abort();
    status_copy(&copy, &tj->status, &a);
    if (!status_equal(&copy, &tj->status) || !status_equal_durable(&copy, &tj->status))
        abort();
    check_status(tj);
    tj_free(tj);
    return 0;
}
