/*
 * Pods. The pod of a role is built once as a tree, with placeholders where pods differ, and printed
 * once (twice, where that of worker 0 has more than the others); a pod is then that text with the
 * placeholders filled in.
 */
#include <string.h>

#include "operator/objects/agent_pod.h"
#include "operator/objects/builtin.h"
#include "operator/objects/cluster_layout.h"
#include "operator/objects/environment.h"
#include "operator/objects/objects.h"
#include "operator/objects/owner.h"
#include "operator/objects/scheduling.h"
#include "operator/objects/security.h"
#include "operator/objects/template.h"
#include "operator/objects/tree.h"
#include "operator/objects/volumes.h"
#include "paceline/json.h"
#include "paceline/mem.h"

/* A byte that UTF-8 never has (template_parse refuses it), and a letter. All of them stand in
 * strings of the JSON, and what takes their place needs no escape there. */
#define MARK '\xff'
#define MARK_NAME "\xffN"
#define MARK_HOST "\xffH"
#define MARK_INDEX "\xffI"
#define MARK_INCARNATION \
    "\xff"               \
    "C"
#define MARK_RANK "\xffR"

struct pod_maker {
    struct buf text, first; /* first: of index 0; empty: as the others */
    char *job;
    enum cluster_role role;
    int64_t first_rank;
};

static void carry_metadata(const cJSON *template_, cJSON *meta)
{
    const cJSON *from = tree_get(template_, "metadata");
    cJSON *finalizers = tree_get(from, "finalizers"), *own;

    if (tree_get(from, "annotations"))
        tree_move(tree_object(meta, "annotations"), tree_get(from, "annotations"));
    tree_move(tree_object(meta, "labels"), tree_get(from, "labels"));
    own = tree_list(meta, "finalizers");
    cJSON_AddItemToArray(own, cJSON_CreateString(TRACKING_FINALIZER));
    for (cJSON *f = finalizers ? finalizers->child : NULL, *next; f; f = next) {
        next = f->next;
        if (!cJSON_IsString(f) || strcmp(f->valuestring, TRACKING_FINALIZER) != 0)
            cJSON_AddItemToArray(own, cJSON_DetachItemViaPointer(finalizers, f));
    }
}

static void label(const struct tj *tj, enum cluster_role role, cJSON *meta)
{
    cJSON *labels = tree_object(meta, "labels");

    tree_set_text(labels, LABEL_MANAGED_BY, MANAGED_BY);
    tree_set_text(labels, LABEL_JOB, tj->meta.name);
    tree_set_text(labels, LABEL_ROLE, cluster_role_names[role]);
    tree_set_text(labels, LABEL_INDEX, MARK_INDEX);
    tree_set_text(labels, LABEL_INCARNATION, MARK_INCARNATION);
}

/* The kubelet restarts containers only where the policy says that it should; the rest is ours. An
 * agent that has ended is replaced by another pod: one that has done its work must not come back.
 */
static const char *restart_policy(const struct job *job, enum cluster_role role)
{
    static const char *const names[] = {
        [RESTART_NEVER] = "Never",
        [RESTART_ON_FAILURE] = "OnFailure",
        [RESTART_ALWAYS] = "Always",
        [RESTART_EXIT_CODE] = "Never",
    };

    return names[job_launched(job) ? RESTART_NEVER : job->replicas[role].restart];
}

static void add_config_volume(const struct tj *tj, const struct cluster_layout *l, cJSON *spec)
{
    char name[NAME_SIZE];

    owned_name(name, tj, OWNED_CONFIG_MAP, l->generation);
    tree_set_text(tree_object(volumes_get(spec, CONFIG_VOLUME), "configMap"), "name", name);
}

static void wire(const struct tj *tj, const struct cluster_layout *l, enum cluster_role role,
                 cJSON *spec)
{
    struct tf_process p = {.role = role, .index = MARK_INDEX, .host = MARK_HOST};
    bool mounted = false;

    for (cJSON *c = tree_get(spec, "containers")->child; c; c = c->next) {
        environment_apply(l, &p, MARK_RANK, c);
        if (tree_find(tree_get(c, "volumeMounts"), "name", CONFIG_VOLUME))
            mounted = true;
    }
    if (mounted)
        add_config_volume(tj, l, spec);
}

static int64_t ranks_of(const struct job *job, const struct cluster_layout *l)
{
    return job->mpi.ranks_per_worker > 0 ? job->mpi.ranks_per_worker : l->slots[ROLE_WORKER];
}

static cJSON *pod_maker_build(const struct objects_config *config, const struct tj *tj,
                              const struct cluster_layout *l, enum cluster_role role, bool first,
                              cJSON *template_)
{
    cJSON *pod = owner_object(tj, "v1", "Pod", MARK_NAME), *meta = tree_get(pod, "metadata");
    cJSON *spec = cJSON_DetachItemFromObjectCaseSensitive(template_, "spec");

    cJSON_AddItemToObject(pod, "spec", spec);
    carry_metadata(template_, meta);
    label(tj, role, meta);
    if (job_builtin(tj->job))
        builtin_apply(config, tj, first, spec);
    else if (l->launched)
        agent_pod_wrap(config, tj, ranks_of(tj->job, l), spec);
    wire(tj, l, role, spec);
    scheduling_apply(tj, l, role, meta, spec);
    security_defaults(spec);
    tree_default(spec, "enableServiceLinks", cJSON_CreateFalse());
    tree_set_text(spec, "restartPolicy", restart_policy(tj->job, role));
    tree_set_text(spec, "hostname", MARK_HOST);
    tree_set_text(spec, "subdomain", tj->meta.name);
    return pod;
}

/* l: of the other roles. */
static int print_pod(const struct objects_config *config, const struct tj *tj,
                     struct cluster_layout *l, enum cluster_role role, bool first, struct buf *out,
                     struct err *err)
{
    AUTO(auto_json) cJSON *template_ = NULL, *pod = NULL;

    if (template_parse(&template_, tj->job, role, err))
        return -1;
    if (tj->job->replicas[role].template_)
        cluster_layout_read(l, role, template_);
    pod = pod_maker_build(config, tj, l, role, first, template_);
    json_print(pod, 0, out);
    return 0;
}

struct pod_maker *pod_maker_new(const struct objects_config *config, const struct tj *tj,
                                enum cluster_role role, struct err *err)
{
    struct pod_maker *m = xcalloc(1, sizeof *m);
    struct cluster_layout l;

    cluster_layout_init(&l, tj, config->cluster_domain);
    if (!l.launched) /* whose pods hear of no other role */
        cluster_layout_read_others(&l, tj->job, role);
    buf_init(&m->text, 0);
    buf_init(&m->first, 0);
    if (print_pod(config, tj, &l, role, false, &m->text, err) ||
        (role == ROLE_WORKER && job_builtin(tj->job) && tj->job->output.volume &&
         print_pod(config, tj, &l, role, true, &m->first, err))) {
        pod_maker_free(m);
        return NULL;
    }
    m->job = xstrdup(tj->meta.name);
    m->role = role;
    m->first_rank = cluster_layout_first_rank(&l, role);
    return m;
}

void pod_maker_free(struct pod_maker *m)
{
    if (!m)
        return;
    buf_release(&m->text);
    buf_release(&m->first);
    free(m->job);
    free(m);
}

void pod_maker_body(const struct pod_maker *m, int index, int64_t incarnation, struct buf *out)
{
    const struct buf *printed = index == 0 && m->first.len ? &m->first : &m->text;
    const char *text = printed->data, *end = text + printed->len, *mark;
    char name[NAME_SIZE], host[NAME_SIZE], number[24];

    pod_name(name, m->job, m->role, index, incarnation);
    host_name(host, m->job, m->role, index);
    for (; (mark = memchr(text, MARK, (size_t)(end - text))); text = mark + 2) {
        int64_t value = 0;

        buf_add(out, text, (size_t)(mark - text));
        if (mark[1] == MARK_NAME[1]) {
            buf_puts(out, name);
            continue;
        }
        if (mark[1] == MARK_HOST[1]) {
            buf_puts(out, host);
            continue;
        }
        if (mark[1] == MARK_INDEX[1])
            value = index;
        else if (mark[1] == MARK_RANK[1])
            value = m->first_rank + index;
        else
            value = incarnation;
        snprintf(number, sizeof number, "%lld", (long long)value);
        buf_puts(out, number);
    }
    buf_add(out, text, (size_t)(end - text));
}
