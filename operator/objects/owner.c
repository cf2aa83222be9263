#include "operator/objects/owner.h"

#include <string.h>

#include "operator/objects/tree.h"
#include "paceline/json.h"
#include "paceline/mem.h"

/* Copies the members of a JSON object, given as text or NULL, that is the job's own metadata. */
static void owner_carry(cJSON *into, const char *text)
{
    AUTO(auto_json) cJSON *own = NULL;
    struct err ignored;

    if (text && json_parse(&own, text, strlen(text), "metadata", &ignored) == 0)
        tree_move(into, own);
}

static cJSON *owner_reference(const struct tj *tj)
{
    cJSON *list = cJSON_CreateArray(), *owner = cJSON_CreateObject();

    cJSON_AddItemToArray(list, owner);
    cJSON_AddStringToObject(owner, "apiVersion", API_VERSION);
    cJSON_AddStringToObject(owner, "kind", "TrainingJob");
    cJSON_AddStringToObject(owner, "name", tj->meta.name);
    cJSON_AddStringToObject(owner, "uid", tj->meta.uid);
    cJSON_AddTrueToObject(owner, "controller");
    cJSON_AddTrueToObject(owner, "blockOwnerDeletion");
    return list;
}

cJSON *owner_object(const struct tj *tj, const char *api_version, const char *kind,
                    const char *name)
{
    cJSON *object = cJSON_CreateObject(), *meta, *labels, *annotations;

    cJSON_AddStringToObject(object, "apiVersion", api_version);
    cJSON_AddStringToObject(object, "kind", kind);
    meta = cJSON_AddObjectToObject(object, "metadata");
    cJSON_AddStringToObject(meta, "name", name);
    cJSON_AddStringToObject(meta, "namespace", tj->meta.namespace_);
    labels = cJSON_AddObjectToObject(meta, "labels");
    owner_carry(labels, tj->job->labels);
    tree_set_text(labels, LABEL_MANAGED_BY, MANAGED_BY);
    tree_set_text(labels, LABEL_JOB, tj->meta.name);
    annotations = cJSON_AddObjectToObject(meta, "annotations");
    owner_carry(annotations, tj->job->annotations);
    /* kubectl's copy of the whole TrainingJob: wrong on anything else. */
    cJSON_DeleteItemFromObjectCaseSensitive(annotations,
                                            "kubectl.kubernetes.io/last-applied-configuration");
    if (!annotations->child)
        cJSON_DeleteItemFromObjectCaseSensitive(meta, "annotations");
    cJSON_AddItemToObject(meta, "ownerReferences", owner_reference(tj));
    return object;
}

cJSON *owner_selector(const struct tj *tj)
{
    cJSON *selector = cJSON_CreateObject();

    cJSON_AddStringToObject(selector, LABEL_JOB, tj->meta.name);
    return selector;
}
