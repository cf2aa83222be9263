/* The ConfigMap that a generation's processes share: the effective spec, the cluster, the hostfile.
 */
#include <stdio.h>
#include <string.h>

#include "operator/objects/kinds.h"
#include "operator/objects/tf_config.h"
#include "paceline/mem.h"

#define CONFIG_MAP_MAX ((size_t)1 << 20) /* the API server's bound on all values together */
#define ENV_MAX ((size_t)128 << 10)      /* the kernel's (MAX_ARG_STRLEN): name, '=', value, NUL */

static size_t config_map_add_value(cJSON *data, const char *key, const struct buf *value)
{
    cJSON_AddStringToObject(data, key, value->data);
    return value->len;
}

static size_t add_spec(const struct tj *tj, cJSON *data)
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    job_to_json(tj->job, &text);
    return config_map_add_value(data, KEY_SPEC, &text);
}

static size_t add_made(const struct cluster_layout *l, cJSON *data, const char *key,
                       void (*make)(const struct cluster_layout *l, struct buf *out))
{
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    make(l, &text);
    return config_map_add_value(data, key, &text);
}

/* The longest TF_CONFIG is that of a role's last process. cluster: how many bytes of it the kubelet
 * puts in the place of its name. */
static int check_tf_config(const struct cluster_layout *l, size_t cluster, struct err *err)
{
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES; r++) {
        AUTO(buf_release) struct buf text = {0};
        char index[24], host[NAME_SIZE];
        struct tf_process p = {.role = r, .index = index, .host = host};
        size_t bytes;

        if (!l->replicas[r])
            continue;
        buf_init(&text, 0);
        snprintf(index, sizeof index, "%lld", (long long)l->replicas[r] - 1);
        host_name(host, l->job, r, (int)l->replicas[r] - 1);
        tf_config_print(l, &p, true, &text);
        bytes = sizeof "TF_CONFIG=" + text.len + cluster -
                strlen(l->dynamic ? "$(PACELINE_PS)" : "$(PACELINE_CLUSTER)");
        if (bytes > ENV_MAX)
            return err_set(err, ERR_INVALID,
                           "spec.replicas: TF_CONFIG of %lld processes takes %zu bytes; Linux "
                           "allows an environment variable %zu: use fewer replicas, a shorter "
                           "name, or scalePolicy Dynamic, whose workers do not list each other",
                           (long long)cluster_layout_processes(l), bytes, ENV_MAX);
    }
    return 0;
}

int config_map_fill(const struct objects_config *config, const struct tj *tj,
                    const struct cluster_layout *l, cJSON *object, struct err *err)
{
    cJSON *data = cJSON_AddObjectToObject(object, "data");
    size_t bytes = add_spec(tj, data), cluster = 0;

    (void)config;
    cJSON_AddTrueToObject(object, "immutable");
    if (tf_config_is_set(l) && l->dynamic)
        cluster = add_made(l, data, KEY_SERVERS, tf_config_servers);
    else if (tf_config_is_set(l))
        cluster = add_made(l, data, KEY_CLUSTER, tf_config_cluster);
    bytes += cluster;
    if (cluster_layout_has_hostfile(l))
        bytes += add_made(l, data, KEY_HOSTFILE, cluster_layout_hostfile);
    if (bytes > CONFIG_MAP_MAX)
        return err_set(err, ERR_INVALID,
                       "spec: with its list of %lld processes it takes %zu bytes; a ConfigMap "
                       "holds %zu: use fewer replicas or smaller templates",
                       (long long)cluster_layout_processes(l), bytes, CONFIG_MAP_MAX);
    return tf_config_is_set(l) ? check_tf_config(l, cluster, err) : 0;
}
