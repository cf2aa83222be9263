#include "operator/objects/scheduling.h"

#include <stdio.h>
#include <string.h>

#include "operator/objects/owner.h"
#include "operator/objects/tree.h"
#include "paceline/mem.h"

void scheduling_group_name(char out[NAME_SIZE], const struct tj *tj, int64_t generation)
{
    snprintf(out, NAME_SIZE, "%s-%lld", tj->meta.name, (long long)(generation ? generation : 1));
}

int64_t scheduling_min_members(const struct tj *tj, const struct cluster_layout *l)
{
    int64_t all = cluster_layout_processes(l), least = all;

    if (tj->job->scheduling.min_available > 0)
        least = tj->job->scheduling.min_available;
    else if (l->dynamic && tj->job->min_workers > 0)
        least = all - l->replicas[ROLE_WORKER] + tj->job->min_workers;
    return least < all ? least : all;
}

/* Whether a toleration covers the taint, by the rule of the DefaultTolerationSeconds admission. */
static bool tolerates(const cJSON *tolerations, const char *taint)
{
    for (const cJSON *t = tolerations->child; t; t = t->next) {
        const char *key = tree_text(t, "key"), *effect = tree_text(t, "effect");
        bool any_key = !key || !*key, any_effect = !effect || !*effect;

        if ((any_key || strcmp(key, taint) == 0) &&
            (any_effect || strcmp(effect, "NoExecute") == 0))
            return true;
    }
    return false;
}

static void add_tolerations(cJSON *spec, int64_t seconds)
{
    static const char *const taints[] = {"node.kubernetes.io/not-ready",
                                         "node.kubernetes.io/unreachable"};
    cJSON *list = tree_list(spec, "tolerations");

    for (size_t i = 0; i < ARRAY_LEN(taints); i++) {
        cJSON *t;

        if (tolerates(list, taints[i]))
            continue;
        t = cJSON_CreateObject();
        cJSON_AddStringToObject(t, "key", taints[i]);
        cJSON_AddStringToObject(t, "operator", "Exists");
        cJSON_AddStringToObject(t, "effect", "NoExecute");
        cJSON_AddNumberToObject(t, "tolerationSeconds", (double)seconds);
        cJSON_AddItemToArray(list, t);
    }
}

/* Over hosts, where there is room: a lost node then takes few pods along. */
static void add_spread(const struct tj *tj, cJSON *spec)
{
    cJSON *list, *rule, *selector;

    if (tree_get(spec, "affinity") || tree_get(spec, "topologySpreadConstraints"))
        return;
    list = tree_list(spec, "topologySpreadConstraints");
    rule = cJSON_CreateObject();
    cJSON_AddItemToArray(list, rule);
    cJSON_AddNumberToObject(rule, "maxSkew", 1);
    cJSON_AddStringToObject(rule, "topologyKey", "kubernetes.io/hostname");
    cJSON_AddStringToObject(rule, "whenUnsatisfiable", "ScheduleAnyway");
    selector = cJSON_AddObjectToObject(rule, "labelSelector");
    cJSON_AddItemToObject(selector, "matchLabels", owner_selector(tj));
}

static void add_gang(const struct tj *tj, const struct cluster_layout *l, enum cluster_role role,
                     cJSON *meta)
{
    const char *queue = tj->job->scheduling.queue;
    char group[NAME_SIZE], total[24];

    scheduling_group_name(group, tj, l->generation);
    switch (tj->job->scheduling.gang) {
    case GANG_NONE:
        break;
    case GANG_VOLCANO:
        tree_set_text(tree_object(meta, "annotations"), "scheduling.k8s.io/group-name", group);
        tree_set_text(tree_object(meta, "annotations"), "volcano.sh/task-spec",
                      cluster_role_names[role]);
        break;
    case GANG_SCHEDULER_PLUGINS:
        tree_set_text(tree_object(meta, "labels"), "scheduling.x-k8s.io/pod-group", group);
        break;
    case GANG_KUEUE:
        snprintf(total, sizeof total, "%lld", (long long)cluster_layout_processes(l));
        tree_set_text(tree_object(meta, "labels"), "kueue.x-k8s.io/pod-group-name", group);
        tree_set_text(tree_object(meta, "annotations"), "kueue.x-k8s.io/pod-group-total-count",
                      total);
        if (queue)
            tree_set_text(tree_object(meta, "labels"), "kueue.x-k8s.io/queue-name", queue);
        break;
    }
}

void scheduling_apply(const struct tj *tj, const struct cluster_layout *l, enum cluster_role role,
                      cJSON *meta, cJSON *spec)
{
    static const char *const schedulers[] = {
        [GANG_VOLCANO] = "volcano",
        [GANG_SCHEDULER_PLUGINS] = "scheduler-plugins-scheduler", /* its chart's name */
        [GANG_KUEUE] = NULL,
    };
    const char *scheduler = tj->job->scheduling.scheduler;

    if (!scheduler)
        scheduler = schedulers[tj->job->scheduling.gang];
    if (scheduler)
        tree_default_text(spec, "schedulerName", scheduler);
    if (tj->job->scheduling.priority_class)
        tree_default_text(spec, "priorityClassName", tj->job->scheduling.priority_class);
    add_tolerations(spec, tj->job->run_policy.node_loss_seconds);
    add_spread(tj, spec);
    add_gang(tj, l, role, meta);
}
