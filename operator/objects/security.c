#include "operator/objects/security.h"

#include <string.h>

#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"

static bool is_root(const cJSON *context)
{
    const cJSON *user = tree_get(context, "runAsUser");

    return cJSON_IsNumber(user) && user->valuedouble == 0;
}

static bool has_item(const cJSON *list, const char *text)
{
    for (const cJSON *c = list ? list->child : NULL; c; c = c->next)
        if (cJSON_IsString(c) && strcmp(c->valuestring, text) == 0)
            return true;
    return false;
}

static void pod_defaults(cJSON *spec)
{
    cJSON *context = tree_object(spec, "securityContext");
    cJSON *seccomp = cJSON_CreateObject();

    tree_default(spec, "automountServiceAccountToken", cJSON_CreateFalse());
    if (!is_root(context))
        tree_default(context, "runAsNonRoot", cJSON_CreateTrue());
    cJSON_AddStringToObject(seccomp, "type", "RuntimeDefault");
    tree_default(context, "seccompProfile", seccomp);
}

/* The API server refuses a container that may not escalate but is privileged or so capable. */
static bool must_escalate(const cJSON *context)
{
    return cJSON_IsTrue(tree_get(context, "privileged")) ||
           has_item(tree_get(tree_get(context, "capabilities"), "add"), "CAP_SYS_ADMIN");
}

static void container_defaults(cJSON *spec, cJSON *container)
{
    cJSON *context = tree_object(container, "securityContext");
    cJSON *capabilities = tree_object(context, "capabilities");

    if (is_root(context))
        tree_default(context, "runAsNonRoot", cJSON_CreateFalse());
    if (!must_escalate(context))
        tree_default(context, "allowPrivilegeEscalation", cJSON_CreateFalse());
    if (!tree_get(capabilities, "drop"))
        cJSON_AddItemToArray(tree_list(capabilities, "drop"), cJSON_CreateString("ALL"));
    if (tree_default(context, "readOnlyRootFilesystem", cJSON_CreateTrue()))
        volumes_mount_empty(spec, container, "paceline-tmp", "/tmp");
}

void security_defaults(cJSON *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};

    pod_defaults(spec);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cJSON *c = tree_get(spec, lists[i]);

        for (c = c ? c->child : NULL; c; c = c->next)
            container_defaults(spec, c);
    }
}
