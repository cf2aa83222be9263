#include "operator/objects/agent_pod.h"

#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define KEY_FOLDER "/etc/paceline-key" /* not below the ConfigMap's, which is read-only */
#define DEFAULT_GRACE_SECONDS 30       /* Kubernetes' own */
#define AGENT_FOLDER "/paceline"       /* as the portable agent is linked (Makefile) */
#define AGENT_VOLUME "paceline-agent"
#define SHARED_FOLDER "/dev/shm"
#define SHARED_VOLUME "paceline-shm"

void agent_pod_request(cJSON *container, const char *resource, const char *quantity)
{
    cJSON *resources = tree_object(container, "resources");

    if (!tree_get(tree_get(resources, "limits"), resource))
        tree_default_text(tree_object(resources, "requests"), resource, quantity);
}

static void add_variable(cJSON *container, const char *name, cJSON *variable)
{
    cJSON *env = tree_list(container, "env");

    if (tree_find(env, "name", name)) {
        cJSON_Delete(variable);
        return;
    }
    cJSON_AddStringToObject(variable, "name", name);
    cJSON_AddItemToArray(env, variable);
}

void agent_pod_number(cJSON *container, const char *name, int64_t number)
{
    AUTO(auto_free) char *text = xasprintf("%lld", (long long)number);
    cJSON *variable = cJSON_CreateObject();

    cJSON_AddStringToObject(variable, "value", text);
    add_variable(container, name, variable);
}

static void add_environment(const cJSON *spec, cJSON *container)
{
    const cJSON *grace = tree_get(spec, "terminationGracePeriodSeconds");
    cJSON *pod = cJSON_CreateObject();

    tree_set_text(tree_object(tree_object(pod, "valueFrom"), "fieldRef"), "fieldPath",
                  "metadata.name");
    add_variable(container, "PACELINE_POD", pod);
    agent_pod_number(container, "PACELINE_GRACE_SECONDS",
                     cJSON_IsNumber(grace) ? grace->valueint : DEFAULT_GRACE_SECONDS);
}

static void add_key(const struct objects_config *config, const struct tj *tj, cJSON *spec,
                    cJSON *container)
{
    char name[NAME_SIZE];
    cJSON *secret, *item;

    if (!volumes_mount(container, KEY_VOLUME, KEY_FOLDER, true))
        return;
    secret_name(name, config, tj);
    secret = tree_object(volumes_get(spec, KEY_VOLUME), "secret");
    tree_set_text(secret, "secretName", name);
    /* Named, so that a node refuses a Secret that lacks it, and says so. */
    item = cJSON_CreateObject();
    tree_set_text(item, "key", "key");
    tree_set_text(item, "path", "key");
    cJSON_AddItemToArray(tree_list(secret, "items"), item);
}

void agent_pod_apply(const struct objects_config *config, const struct tj *tj, cJSON *spec,
                     cJSON *container)
{
    add_environment(spec, container);
    add_key(config, tj, spec, container);
}

/* The first one: the others may need the agent's folder for nothing, but none may fill it. */
static void add_installer(const struct objects_config *config, cJSON *spec)
{
    static const char *const args[] = {"install", AGENT_FOLDER};
    cJSON *installer = cJSON_CreateObject();

    cJSON_AddStringToObject(installer, "name", "paceline-agent");
    cJSON_AddStringToObject(installer, "image", config->worker_image);
    cJSON_AddItemToObject(installer, "args", cJSON_CreateStringArray(args, ARRAY_LEN(args)));
    agent_pod_request(installer, "cpu", "10m");
    agent_pod_request(installer, "memory", "32Mi");
    volumes_mount_empty(spec, installer, AGENT_VOLUME, AGENT_FOLDER);
    cJSON_InsertItemInArray(tree_list(spec, "initContainers"), 0, installer);
}

/* Ranks of one pod meet in it; runtimes give 64 MiB. */
static void agent_pod_add_shared_memory(cJSON *spec, cJSON *container)
{
    if (volumes_mount(container, SHARED_VOLUME, SHARED_FOLDER, false))
        tree_set_text(tree_object(volumes_get(spec, SHARED_VOLUME), "emptyDir"), "medium",
                      "Memory");
}

void agent_pod_wrap(const struct objects_config *config, const struct tj *tj, int64_t ranks,
                    cJSON *spec)
{
    static const char *const words[] = {AGENT_FOLDER "/paceline-agent", "serve", "--scratch",
                                        AGENT_FOLDER "/run", "--"};
    cJSON *container = tree_list(spec, "containers")->child;
    cJSON *command = cJSON_CreateStringArray(words, ARRAY_LEN(words)), *own;

    own = tree_list(container, "command");
    while (own->child)
        cJSON_AddItemToArray(command, cJSON_DetachItemFromArray(own, 0));
    tree_set(container, "command", command);
    agent_pod_apply(config, tj, spec, container);
    agent_pod_number(container, "PACELINE_RANKS", ranks);
    volumes_mount_empty(spec, container, AGENT_VOLUME, AGENT_FOLDER);
    if (ranks > 1)
        agent_pod_add_shared_memory(spec, container);
    add_installer(config, spec);
}
