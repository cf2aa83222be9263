/* The peers that may connect to a job's pods: its own pods, the operator, and those that the job
 * names. */
#include <string.h>

#include "operator/objects/kinds.h"
#include "operator/objects/owner.h"
#include "paceline/json.h"
#include "paceline/mem.h"
#include "wire/channel.h"

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

static cJSON *network_policy_add_rule(cJSON *ingress)
{
    cJSON *rule = cJSON_CreateObject();

    cJSON_AddItemToArray(ingress, rule);
    return rule;
}

/* The rule's one peer, still empty. */
static cJSON *add_peer(cJSON *rule)
{
    cJSON *peer = cJSON_CreateObject();

    cJSON_AddItemToArray(cJSON_AddArrayToObject(rule, "from"), peer);
    return peer;
}

static void network_policy_add_port(cJSON *rule, int number)
{
    cJSON *port = cJSON_CreateObject();

    cJSON_AddItemToArray(cJSON_AddArrayToObject(rule, "ports"), port);
    cJSON_AddStringToObject(port, "protocol", "TCP");
    cJSON_AddNumberToObject(port, "port", number);
}

/* Namespace and pod label in one peer: both must hold. The agent's port is all that it needs. */
static void add_operator(cJSON *rule, const char *namespace_)
{
    cJSON *peer = add_peer(rule);

    add_selector(peer, "namespaceSelector", labels_of(NAMESPACE_LABEL, namespace_));
    add_selector(peer, "podSelector", labels_of(OPERATOR_POD_LABEL, OPERATOR_POD_NAME));
    network_policy_add_port(rule, CHANNEL_PORT);
}

int network_policy_fill(const struct objects_config *config, const struct tj *tj,
                        const struct cluster_layout *l, cJSON *object, struct err *err)
{
    static const char *const types[] = {"Ingress"};
    const char *extra = tj->job->network.extra_ingress;
    cJSON *spec = cJSON_AddObjectToObject(object, "spec"), *ingress;
    cJSON *more = NULL;

    (void)l;
    add_selector(spec, "podSelector", owner_selector(tj));
    cJSON_AddItemToObject(spec, "policyTypes", cJSON_CreateStringArray(types, 1));
    ingress = cJSON_AddArrayToObject(spec, "ingress");
    add_selector(add_peer(network_policy_add_rule(ingress)), "podSelector", owner_selector(tj));
    if (config->operator_namespace)
        add_operator(network_policy_add_rule(ingress), config->operator_namespace);
    if (!extra)
        return 0;
    if (json_parse(&more, extra, strlen(extra), "spec.networkPolicy.extraIngress", err))
        return -1;
    while (more->child)
        cJSON_AddItemToArray(ingress, cJSON_DetachItemFromArray(more, 0));
    cJSON_Delete(more);
    return 0;
}

/* Whether one port of a rule is, or may be, this one. A name stands for a port of the container. */
static bool port_matches(const cJSON *item, int port)
{
    const char *protocol = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "protocol"));
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(item, "port");
    const cJSON *last = cJSON_GetObjectItemCaseSensitive(item, "endPort");

    if (protocol && strcmp(protocol, "TCP") != 0)
        return false;
    if (!cJSON_IsNumber(first))
        return true;
    return port >= first->valuedouble &&
           port <= (cJSON_IsNumber(last) ? last->valuedouble : first->valuedouble);
}

static bool rule_opens(const cJSON *rule, int port)
{
    const cJSON *ports = cJSON_GetObjectItemCaseSensitive(rule, "ports"), *item;

    cJSON_ArrayForEach(item, ports)
    {
        if (port_matches(item, port))
            return true;
    }
    return !ports || !ports->child;
}

bool network_policy_denies(const struct objects_config *config, const struct tj *tj, int port)
{
    const char *extra = tj->job ? tj->job->network.extra_ingress : NULL;
    AUTO(auto_json) cJSON *rules = NULL;
    const cJSON *rule;
    struct err err;

    if (!owned_wanted(tj, OWNED_NETWORK_POLICY) || !config->operator_namespace ||
        port == CHANNEL_PORT)
        return false;
    if (extra && json_parse(&rules, extra, strlen(extra), "spec.networkPolicy.extraIngress", &err))
        return false;
    cJSON_ArrayForEach(rule, rules)
    {
        if (rule_opens(rule, port))
            return false;
    }
    return true;
}
