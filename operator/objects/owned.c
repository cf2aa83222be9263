/* The kinds of objects that a job owns besides pods: where they live, what they are called. */
#include <stdio.h>
#include <string.h>

#include "operator/objects/keys.h"
#include "operator/objects/kinds.h"
#include "operator/objects/owner.h"
#include "operator/objects/scheduling.h"
#include "operator/objects/tf_config.h"
#include "paceline/json.h"
#include "paceline/mem.h"

struct owned_row {
    const char *api_version, *kind, *plural;
    bool reads_templates; /* its maker wants ports or slots */
    int (*fill)(const struct objects_config *config, const struct tj *tj,
                const struct cluster_layout *l, cJSON *object, struct err *err);
};

static const struct owned_row kinds[N_OWNED] = {
    [OWNED_SERVICE] = {"v1", "Service", "services", true, service_fill},
    [OWNED_SECRET] = {"v1", "Secret", "secrets", false, secret_fill},
    [OWNED_CONFIG_MAP] = {"v1", "ConfigMap", "configmaps", true, config_map_fill},
    [OWNED_NETWORK_POLICY] = {"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", false,
                              network_policy_fill},
    [OWNED_POD_GROUP] = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", false,
                         pod_group_fill},
};
static const struct owned_row plugins_pod_group = {"scheduling.x-k8s.io/v1alpha1", "PodGroup",
                                                   "podgroups", false, pod_group_fill};

static const struct owned_row *owned_kind_of(const struct tj *tj, enum owned_kind kind)
{
    bool plugins = tj && tj->job && tj->job->scheduling.gang == GANG_SCHEDULER_PLUGINS;

    return kind == OWNED_POD_GROUP && plugins ? &plugins_pod_group : &kinds[kind];
}

void secret_name(char out[NAME_SIZE], const struct objects_config *config, const struct tj *tj)
{
    char digits[KEY_DIGITS_SIZE];

    key_digits(digits, config->master_key, tj->meta.uid);
    snprintf(out, NAME_SIZE, "%s-key-%s", tj->meta.name, digits);
}

void owned_name(char out[NAME_SIZE], const struct tj *tj, enum owned_kind kind, int64_t generation)
{
    switch (kind) {
    case OWNED_CONFIG_MAP:
    case OWNED_POD_GROUP:
        scheduling_group_name(out, tj, generation);
        break;
    case OWNED_SERVICE:
    case OWNED_NETWORK_POLICY:
    case OWNED_SECRET: /* secret_name */
    case N_OWNED:
        snprintf(out, NAME_SIZE, "%s", tj->meta.name);
        break;
    }
}

void owned_path(struct buf *out, const struct tj *tj, const char *ns, enum owned_kind kind)
{
    const struct owned_row *k = owned_kind_of(tj, kind);

    buf_puts(out, strchr(k->api_version, '/') ? "/apis/" : "/api/");
    buf_puts(out, k->api_version);
    if (ns)
        buf_printf(out, "/namespaces/%s", ns);
    buf_printf(out, "/%s", k->plural);
}

bool owned_wanted(const struct tj *tj, enum owned_kind kind)
{
    if (!tj->job)
        return false;
    if (kind == OWNED_NETWORK_POLICY)
        return tj->job->network.type == NETWORK_JOB;
    if (kind == OWNED_POD_GROUP)
        return tj->job->scheduling.gang == GANG_VOLCANO ||
               tj->job->scheduling.gang == GANG_SCHEDULER_PLUGINS;
    return true;
}

int owned_body(const struct objects_config *config, const struct tj *tj, enum owned_kind kind,
               struct buf *out, struct err *err)
{
    const struct owned_row *k = owned_kind_of(tj, kind);
    AUTO(auto_json) cJSON *object = NULL;
    char name[NAME_SIZE];
    struct cluster_layout l;

    cluster_layout_init(&l, tj, config->cluster_domain);
    if (k->reads_templates && !l.launched)
        cluster_layout_read_others(&l, tj->job, N_CLUSTER_ROLES);
    if (kind == OWNED_SECRET)
        secret_name(name, config, tj);
    else
        owned_name(name, tj, kind, l.generation);
    object = owner_object(tj, k->api_version, k->kind, name);
    if (k->fill(config, tj, &l, object, err))
        return -1;
    json_print(object, 0, out);
    if (kind == OWNED_SECRET)
        json_wipe(object);
    return 0;
}
