#include "operator/objects/builtin.h"

#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "operator/objects/wiring.h"
#include "paceline/mem.h"
#include "paceline/net.h"

#define KEY_FOLDER "/etc/paceline-key" /* not below the ConfigMap's, which is read-only */
#define KEY_VOLUME "paceline-key"
#define MIB ((int64_t)1 << 20)
#define SHM_MIB 64
#define MEMORY_MIB 512
#define DEFAULT_GRACE_SECONDS 30 /* Kubernetes' own */

/* Only where the template bounds this resource in no way: the API takes an absent request from the
 * limit, and refuses one above it. */
static void default_request(cJSON *container, const char *resource, const char *quantity)
{
    cJSON *resources = tree_object(container, "resources");

    if (!tree_get(tree_get(resources, "limits"), resource))
        tree_default_text(tree_object(resources, "requests"), resource, quantity);
}

/*
 * MiB of /dev/shm: what container runtimes give, and checkpoints in memory: those that are kept,
 * the best, and one that is being written, each of the weights and at most two optimiser slots.
 */
static int64_t shared_memory_mib(const struct job *job)
{
    struct net net;
    struct err err;
    int64_t bytes = 0;

    if (job_network(job, (struct shape){1, 28, 28}, &net, &err) == 0) {
        bytes = (job->checkpoint.keep + 2) * 3 * (int64_t)sizeof(float) * (int64_t)net.params;
        net_release(&net);
    }
    return SHM_MIB + (bytes + MIB - 1) / MIB;
}

static void add_shared_memory(int64_t mib, cJSON *spec, cJSON *container)
{
    AUTO(auto_free) char *size = xasprintf("%lldMi", (long long)mib);
    cJSON *empty;

    if (!volumes_mount(container, "paceline-shm", "/dev/shm", false))
        return;
    empty = tree_object(volumes_get(spec, "paceline-shm"), "emptyDir");
    cJSON_AddStringToObject(empty, "medium", "Memory");
    cJSON_AddStringToObject(empty, "sizeLimit", size);
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

/* What the agent must know of its pod (docs/agent.md). */
static void add_environment(const cJSON *spec, cJSON *container)
{
    const cJSON *grace = tree_get(spec, "terminationGracePeriodSeconds");
    AUTO(auto_free)
    char *seconds =
        xasprintf("%d", cJSON_IsNumber(grace) ? grace->valueint : DEFAULT_GRACE_SECONDS);
    cJSON *pod = cJSON_CreateObject(), *time = cJSON_CreateObject();

    tree_set_text(tree_object(tree_object(pod, "valueFrom"), "fieldRef"), "fieldPath",
                  "metadata.name");
    add_variable(container, "PACELINE_POD", pod);
    cJSON_AddStringToObject(time, "value", seconds);
    add_variable(container, "PACELINE_GRACE_SECONDS", time);
}

static void add_key(const struct tj *tj, cJSON *spec, cJSON *container)
{
    char name[NAME_SIZE];

    if (!volumes_mount(container, KEY_VOLUME, KEY_FOLDER, true))
        return;
    owned_name(name, tj, OWNED_SECRET, 0);
    tree_set_text(tree_object(volumes_get(spec, KEY_VOLUME), "secret"), "secretName", name);
}

void builtin_apply(const struct objects_config *config, const struct tj *tj, cJSON *spec)
{
    static const char *const args[] = {"serve"};
    int64_t shm = shared_memory_mib(tj->job);
    AUTO(auto_free) char *memory = xasprintf("%lldMi", (long long)(MEMORY_MIB + shm));
    cJSON *containers = tree_list(spec, "containers"), *trainer;

    if (!containers->child)
        cJSON_AddItemToArray(containers, cJSON_CreateObject());
    trainer = containers->child;
    tree_default_text(trainer, "name", "trainer");
    tree_default_text(trainer, "image", config->worker_image);
    tree_default(trainer, "args", cJSON_CreateStringArray(args, ARRAY_LEN(args)));
    default_request(trainer, "cpu", "1");
    default_request(trainer, "memory", memory); /* a memory volume counts */
    add_environment(spec, trainer);
    add_key(tj, spec, trainer);
    volumes_mount_empty(spec, trainer, "paceline-tmp", "/tmp");
    add_shared_memory(shm, spec, trainer);
}
