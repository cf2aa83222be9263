#include "operator/objects/tf_config.h"

#include "operator/objects/objects.h"

/* TFJob sorts the roles of its cluster by name. */
static const enum cluster_role tf_config_order[N_CLUSTER_ROLES] = {ROLE_CHIEF, ROLE_EVALUATOR,
                                                                   ROLE_PS, ROLE_WORKER};

bool tf_config_is_set(const struct cluster_layout *l)
{
    return !l->launched && (l->dynamic || cluster_layout_processes(l) > 1);
}

/* ["host:port",...] of a role. */
static void tf_config_add_hosts(const struct cluster_layout *l, enum cluster_role role,
                                struct buf *out)
{
    char after[24];

    snprintf(after, sizeof after, ":%d\"", l->ports[role]);
    buf_puts(out, "[");
    cluster_layout_each(l, role, "\"", after, ",", out);
    buf_puts(out, "]");
}

void tf_config_servers(const struct cluster_layout *l, struct buf *out)
{
    tf_config_add_hosts(l, ROLE_PS, out);
}

static bool tf_config_lists(const struct cluster_layout *l, enum cluster_role role)
{
    return l->replicas[role] > 0 && (role != ROLE_EVALUATOR || l->list_evaluator);
}

void tf_config_cluster(const struct cluster_layout *l, struct buf *out)
{
    const char *before = "{";

    for (size_t i = 0; i < N_CLUSTER_ROLES; i++) {
        enum cluster_role role = tf_config_order[i];

        if (!tf_config_lists(l, role))
            continue;
        buf_printf(out, "%s\"%s\":", before, cluster_role_names[role]);
        tf_config_add_hosts(l, role, out);
        before = ",";
    }
    buf_puts(out, *before == '{' ? "{}" : "}");
}

/*
 * The cluster of a process of a Dynamic job: workers come and go, so each knows itself, the
 * servers and, of the roles that have one process at most, all. TFJob gives chief and evaluator an
 * empty cluster, and a server a list of itself alone, in which only the first has its own place;
 * both are no use to TensorFlow.
 */
static void tf_config_add_sparse(const struct cluster_layout *l, const struct tf_process *p,
                                 bool by_name, struct buf *out)
{
    buf_puts(out, "{\"worker\":{");
    if (p->role == ROLE_WORKER) {
        buf_puts(out, "\"");
        buf_puts(out, p->index);
        buf_puts(out, "\":\"");
        cluster_layout_address(l, p->host, out);
        buf_printf(out, ":%d\"", l->ports[ROLE_WORKER]);
    }
    buf_puts(out, "},\"ps\":");
    if (by_name)
        buf_puts(out, "$(PACELINE_PS)");
    else
        tf_config_servers(l, out);
    if (tf_config_lists(l, ROLE_CHIEF)) {
        buf_puts(out, ",\"chief\":");
        tf_config_add_hosts(l, ROLE_CHIEF, out);
    }
    if (tf_config_lists(l, ROLE_EVALUATOR)) {
        buf_puts(out, ",\"evaluator\":");
        tf_config_add_hosts(l, ROLE_EVALUATOR, out);
    }
    buf_puts(out, "}");
}

void tf_config_print(const struct cluster_layout *l, const struct tf_process *p, bool by_name,
                     struct buf *out)
{
    buf_puts(out, "{\"cluster\":");
    if (l->dynamic)
        tf_config_add_sparse(l, p, by_name, out);
    else if (by_name)
        buf_puts(out, "$(PACELINE_CLUSTER)");
    else
        tf_config_cluster(l, out);
    buf_printf(out, ",\"task\":{\"type\":\"%s\",\"index\":", cluster_role_names[p->role]);
    buf_puts(out, p->index);
    buf_puts(out, l->dynamic ? "}}" : "},\"environment\":\"cloud\"}");
}

void tf_config_text(const struct objects_config *config, const struct tj *tj,
                    enum cluster_role role, int index, struct buf *out)
{
    char number[16], host[NAME_SIZE];
    struct tf_process p = {.role = role, .index = number, .host = host};
    struct cluster_layout l;

    cluster_layout_init(&l, tj, config->cluster_domain);
    if (!tf_config_is_set(&l))
        return;
    cluster_layout_read_others(&l, tj->job, N_CLUSTER_ROLES);
    snprintf(number, sizeof number, "%d", index);
    host_name(host, tj->meta.name, role, index);
    tf_config_print(&l, &p, false, out);
}
