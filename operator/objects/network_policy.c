/* Who may connect to a job's pods: its own pods, the operator, and whom the job names. */
#include <string.h>

#include "operator/objects/kinds.h"
#include "operator/objects/owner.h"
#include "paceline/json.h"

#define OPERATOR_POD_LABEL "app.kubernetes.io/name"
#define OPERATOR_POD_NAME "paceline-operator"
#define NAMESPACE_LABEL "kubernetes.io/metadata.name" /* the API server sets it */

/* Selector and labels: {"matchLabels": labels}. */
static void add_selector(cJSON *parent, const char *key, cJSON *labels)
{
    cJSON_AddItemToObject(cJSON_AddObjectToObject(parent, key), "matchLabels", labels);
}

static cJSON *labels_of(const char *key, const char *value)
{
    cJSON *labels = cJSON_CreateObject();

    cJSON_AddStringToObject(labels, key, value);
    return labels;
}

/* Namespace and pod label in one peer: both must hold. */
static void add_operator(cJSON *from, const char *namespace_)
{
    cJSON *peer = cJSON_CreateObject();

    cJSON_AddItemToArray(from, peer);
    add_selector(peer, "namespaceSelector", labels_of(NAMESPACE_LABEL, namespace_));
    add_selector(peer, "podSelector", labels_of(OPERATOR_POD_LABEL, OPERATOR_POD_NAME));
}

int network_policy_fill(const struct objects_config *config, const struct tj *tj,
                        const struct wiring *w, cJSON *object, struct err *err)
{
    static const char *const types[] = {"Ingress"};
    const char *extra = tj->job->network.extra_ingress;
    cJSON *spec = cJSON_AddObjectToObject(object, "spec"), *ingress, *rule, *from, *own;
    cJSON *more = NULL;

    (void)w;
    add_selector(spec, "podSelector", owner_selector(tj));
    cJSON_AddItemToObject(spec, "policyTypes", cJSON_CreateStringArray(types, 1));
    ingress = cJSON_AddArrayToObject(spec, "ingress");
    rule = cJSON_CreateObject();
    cJSON_AddItemToArray(ingress, rule);
    from = cJSON_AddArrayToObject(rule, "from");
    own = cJSON_CreateObject();
    cJSON_AddItemToArray(from, own);
    add_selector(own, "podSelector", owner_selector(tj));
    if (config->operator_namespace)
        add_operator(from, config->operator_namespace);
    if (!extra)
        return 0;
    if (json_parse(&more, extra, strlen(extra), "spec.networkPolicy.extraIngress", err))
        return -1;
    while (more->child)
        cJSON_AddItemToArray(ingress, cJSON_DetachItemFromArray(more, 0));
    cJSON_Delete(more);
    return 0;
}
