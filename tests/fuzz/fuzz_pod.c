// LINK: operator/api common
/*
 * A pod of any bytes, or the events about one: no crash; what is accepted is within bounds, and its
 * strings are in its own allocation (the tree is gone before they are read).
 */
#include <stdint.h>

#include "operator/api/index_map.h"
#include "operator/api/pod.h"
#include "operator/api/pod_events.h"
#include "paceline/json.h"
#include "paceline/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length(const char *text) { return text ? strlen(text) : 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(auto_free) struct pod *pod = NULL;
    AUTO(arena_release) struct arena arena = {0};
    const char *sentence;
    cJSON *object = NULL;
    struct err err;

    if (json_parse(&object, (const char *)data, size, "fuzz", &err))
        return 0;
    sentence = pod_events_newest(object, &arena);
    if (length(sentence) > 128 + 2 + 512)
        abort();
    if (pod_decode(&pod, object, &err)) {
        if (err.code != ERR_INVALID || pod)
            abort();
        cJSON_Delete(object);
        return 0;
    }
    cJSON_Delete(object);
    if (pod->index < 0 || pod->index > INDEX_MAP_MAX_INDEX || pod->role >= N_CLUSTER_ROLES ||
        pod->phase > POD_UNKNOWN || pod->restart_count < 0 || pod->incarnation < 0 ||
        pod->finished_ms < 0 || pod->meta.deletion_ms < 0 || pod->meta.deletion_grace_ms < 0)
        abort();
    if (!*pod->meta.name || !*pod->meta.uid || !*pod->meta.resource_version ||
        length(pod->meta.namespace_) > 63 || length(pod->reason) > 128 ||
        length(pod->message) > 512 || length(pod->ip) > 64 || length(pod->node) > 253 ||
        length(pod->key) > 253 || length(pod->meta.owner_uid) > 128 ||
        length(pod->meta.owner_name) > 253)
        abort();
    return 0;
}
