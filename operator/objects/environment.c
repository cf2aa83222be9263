#include "operator/objects/environment.h"

#include <stdio.h>
#include <string.h>

#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "paceline/mem.h"

#define HOSTFILE_PATH CONFIG_FOLDER "/" KEY_HOSTFILE

static cJSON *variable(const char *name, const char *value)
{
    cJSON *v = cJSON_CreateObject();

    cJSON_AddStringToObject(v, "name", name);
    if (value)
        cJSON_AddStringToObject(v, "value", value);
    return v;
}

static void environment_add_default(cJSON *ours, const cJSON *own, const char *name,
                                    const char *value)
{
    if (!tree_find(own, "name", name))
        cJSON_AddItemToArray(ours, variable(name, value));
}

static void remove_all(cJSON *list, const char *name)
{
    cJSON *v;

    while ((v = tree_find(list, "name", name)))
        cJSON_Delete(cJSON_DetachItemViaPointer(list, v));
}

static void add_last(cJSON *env, cJSON *value)
{
    remove_all(env, tree_text(value, "name"));
    cJSON_AddItemToArray(env, value);
}

static void add_tf_config(const struct cluster_layout *l, const struct tf_process *p, cJSON *env)
{
    AUTO(buf_release) struct buf text;
    cJSON *cluster = variable(l->dynamic ? "PACELINE_PS" : "PACELINE_CLUSTER", NULL);
    cJSON *ref =
        cJSON_AddObjectToObject(cJSON_AddObjectToObject(cluster, "valueFrom"), "configMapKeyRef");
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%s-%lld", l->job, (long long)l->generation);
    cJSON_AddStringToObject(ref, "name", name);
    cJSON_AddStringToObject(ref, "key", l->dynamic ? KEY_SERVERS : KEY_CLUSTER);
    add_last(env, cluster);
    buf_init(&text, 0);
    tf_config_print(l, p, true, &text);
    add_last(env, variable("TF_CONFIG", text.data));
}

/*
 * mpirun by name: without these it would start every rank in the one container where it was
 * called and call that a success. Open MPI 5 reads the second pair. Names stay whole because a
 * host's first label alone does not resolve in a pod.
 */
static void add_mpi(cJSON *ours, const cJSON *own)
{
    environment_add_default(ours, own, "OMPI_MCA_orte_default_hostfile", HOSTFILE_PATH);
    environment_add_default(ours, own, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    environment_add_default(ours, own, "PRTE_MCA_prte_default_hostfile", HOSTFILE_PATH);
    environment_add_default(ours, own, "PRTE_MCA_prte_keep_fqdn_hostnames", "true");
}

static void add_ranks(const struct cluster_layout *l, const char *rank, cJSON *ours,
                      const cJSON *own)
{
    char world[24];

    environment_add_default(ours, own, "RANK", rank);
    if (l->dynamic)
        return; /* what is true today is wrong after the next scaling */
    snprintf(world, sizeof world, "%lld", (long long)cluster_layout_world(l));
    environment_add_default(ours, own, "WORLD_SIZE", world);
    environment_add_default(ours, own, "PACELINE_HOSTFILE", HOSTFILE_PATH);
    if (cluster_layout_world(l) > 1)
        add_mpi(ours, own);
}

static void add_master(const struct cluster_layout *l, cJSON *ours, const cJSON *own)
{
    AUTO(buf_release) struct buf address;
    char host[NAME_SIZE], port[16];

    buf_init(&address, 0);
    host_name(host, l->job, l->master, 0);
    cluster_layout_address(l, host, &address);
    snprintf(port, sizeof port, "%d", l->master_port);
    environment_add_default(ours, own, "MASTER_ADDR", address.data);
    environment_add_default(ours, own, "MASTER_PORT", port);
}

void environment_apply(const struct cluster_layout *l, const struct tf_process *p, const char *rank,
                       cJSON *container)
{
    cJSON *own = tree_list(container, "env"), *ours = cJSON_CreateArray();
    bool ranked = cluster_layout_first_rank(l, p->role) >= 0;

    environment_add_default(ours, own, "PACELINE_JOB", l->job);
    environment_add_default(ours, own, "PACELINE_ROLE", cluster_role_names[p->role]);
    environment_add_default(ours, own, "PACELINE_INDEX", p->index);
    if (!l->launched) {
        add_master(l, ours, own);
        if (ranked)
            add_ranks(l, rank, ours, own);
    }
    while (own->child)
        cJSON_AddItemToArray(ours, cJSON_DetachItemFromArray(own, 0));
    if (tf_config_is_set(l))
        add_tf_config(l, p, ours);
    tree_set(container, "env", ours);
    if (l->launched || (ranked && cluster_layout_has_hostfile(l)))
        volumes_mount(container, CONFIG_VOLUME, CONFIG_FOLDER, true);
}
