#include "operator/objects/wiring.h"

#include <string.h>

#include "operator/objects/objects.h"
#include "operator/objects/template.h"
#include "operator/objects/tree.h"
#include "paceline/json.h"
#include "paceline/mem.h"

/* TFJob sorts the roles of its cluster by name. */
static const enum cluster_role by_name_order[N_CLUSTER_ROLES] = {ROLE_CHIEF, ROLE_EVALUATOR,
                                                                 ROLE_PS, ROLE_WORKER};

/* Whole CPUs of a quantity: "2", "1500m", 2.5; 0 when it is none or less than one. */
static int whole_cpus(const cJSON *quantity)
{
    const char *text = cJSON_GetStringValue(quantity);
    double n = cJSON_IsNumber(quantity) ? quantity->valuedouble : 0;
    char *end;

    if (text) {
        n = strtod(text, &end);
        if (strcmp(end, "m") == 0)
            n /= 1000;
        else if (*end)
            n = 0;
    }
    return n >= 1 && n <= 65536 ? (int)n : 0;
}

/* Agents start what the first container says. */
static int limit_cpus(const cJSON *template_, bool launched)
{
    const cJSON *list = tree_get(tree_get(template_, "spec"), "containers");
    const cJSON *container = launched && list ? list->child : template_main_container(template_);
    const cJSON *limits = tree_get(tree_get(container, "resources"), "limits");
    int cpus = whole_cpus(tree_get(limits, "cpu"));

    return cpus ? cpus : 1;
}

void wiring_init(struct wiring *w, const struct tj *tj, const char *domain)
{
    const struct job *job = tj->job;
    int64_t generation = tj->status.world.generation;

    *w = (struct wiring){
        .job = tj->meta.name,
        .namespace_ = tj->meta.namespace_,
        .generation = generation ? generation : 1,
        .master_port = MASTER_PORT,
        .launched = job_launched(job),
        .dynamic = job->run_policy.scale == SCALE_DYNAMIC,
        .list_evaluator = job->cluster_spec.list_evaluator,
        .domain = job->cluster_spec.domain ? job->cluster_spec.domain : domain,
    };
    for (size_t r = 0; r < N_CLUSTER_ROLES; r++) {
        w->replicas[r] = generation ? tj->status.world.replicas[r] : job->replicas[r].replicas;
        w->ports[r] = TF_PORT;
        w->slots[r] = 1;
    }
    w->master = w->replicas[ROLE_CHIEF] ? ROLE_CHIEF : ROLE_WORKER;
}

void wiring_read(struct wiring *w, enum cluster_role role, const cJSON *template_)
{
    static const char *const tf_ports[] = {"tfjob-port", "paceline", NULL};
    static const char *const master_ports[] = {"pytorchjob-port", NULL};
    int port = template_port(template_, tf_ports);

    if (port)
        w->ports[role] = port;
    w->slots[role] = limit_cpus(template_, w->launched);
    port = role == w->master ? template_port(template_, master_ports) : 0;
    if (port)
        w->master_port = port;
}

void wiring_read_others(struct wiring *w, const struct job *job, enum cluster_role role)
{
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES; r++) {
        AUTO(auto_json) cJSON *template_ = NULL;
        struct err ignored;

        if (r != role && job->replicas[r].template_ &&
            template_parse(&template_, job, r, &ignored) == 0)
            wiring_read(w, r, template_);
    }
}

int64_t wiring_processes(const struct wiring *w)
{
    int64_t n = 0;

    for (size_t r = 0; r < N_CLUSTER_ROLES; r++)
        n += w->replicas[r];
    return n;
}

int64_t wiring_world(const struct wiring *w)
{
    return w->replicas[ROLE_CHIEF] + w->replicas[ROLE_WORKER];
}

int64_t wiring_first_rank(const struct wiring *w, enum cluster_role role)
{
    if (role == ROLE_CHIEF)
        return 0;
    return role == ROLE_WORKER ? w->replicas[ROLE_CHIEF] : -1;
}

bool wiring_has_tf_config(const struct wiring *w)
{
    return !w->launched && (w->dynamic || wiring_processes(w) > 1);
}

bool wiring_has_hostfile(const struct wiring *w) { return !w->launched && !w->dynamic; }

void wiring_address(const struct wiring *w, const char *host, struct buf *out)
{
    buf_puts(out, host);
    buf_puts(out, ".");
    buf_puts(out, w->job);
    buf_puts(out, ".");
    buf_puts(out, w->namespace_);
    buf_puts(out, ".svc");
    if (w->domain)
        buf_printf(out, ".%s", w->domain);
}

/* before, an index, after: for each process of a role, and a separator between them. Thousands of
 * them: printf is asked for what they share, once. */
static void add_processes(const struct wiring *w, enum cluster_role role, const char *before,
                          const char *after, const char *between, struct buf *out)
{
    AUTO(buf_release) struct buf tail;
    char first[NAME_SIZE], number[24];
    size_t head;

    buf_init(&tail, 0);
    host_name(first, w->job, role, 0);
    head = strlen(first) - 1; /* without the index */
    wiring_address(w, "", &tail);
    buf_puts(&tail, after);
    for (int64_t i = 0; i < w->replicas[role]; i++) {
        char *digit = number + sizeof number;

        for (int64_t rest = i; rest || digit == number + sizeof number; rest /= 10)
            *--digit = (char)('0' + rest % 10);
        if (i)
            buf_puts(out, between);
        buf_puts(out, before);
        buf_add(out, first, head);
        buf_add(out, digit, (size_t)(number + sizeof number - digit));
        buf_add(out, tail.data, tail.len);
    }
}

/* ["host:port",...] of a role. */
static void add_hosts(const struct wiring *w, enum cluster_role role, struct buf *out)
{
    char after[24];

    snprintf(after, sizeof after, ":%d\"", w->ports[role]);
    buf_puts(out, "[");
    add_processes(w, role, "\"", after, ",", out);
    buf_puts(out, "]");
}

void wiring_servers(const struct wiring *w, struct buf *out) { add_hosts(w, ROLE_PS, out); }

static bool is_listed(const struct wiring *w, enum cluster_role role)
{
    return w->replicas[role] > 0 && (role != ROLE_EVALUATOR || w->list_evaluator);
}

void wiring_cluster(const struct wiring *w, struct buf *out)
{
    const char *before = "{";

    for (size_t i = 0; i < N_CLUSTER_ROLES; i++) {
        enum cluster_role role = by_name_order[i];

        if (!is_listed(w, role))
            continue;
        buf_printf(out, "%s\"%s\":", before, cluster_role_names[role]);
        add_hosts(w, role, out);
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
static void add_sparse(const struct wiring *w, const struct tf_process *p, bool by_name,
                       struct buf *out)
{
    buf_puts(out, "{\"worker\":{");
    if (p->role == ROLE_WORKER) {
        buf_puts(out, "\"");
        buf_puts(out, p->index);
        buf_puts(out, "\":\"");
        wiring_address(w, p->host, out);
        buf_printf(out, ":%d\"", w->ports[ROLE_WORKER]);
    }
    buf_puts(out, "},\"ps\":");
    if (by_name)
        buf_puts(out, "$(PACELINE_PS)");
    else
        wiring_servers(w, out);
    if (is_listed(w, ROLE_CHIEF)) {
        buf_puts(out, ",\"chief\":");
        add_hosts(w, ROLE_CHIEF, out);
    }
    if (is_listed(w, ROLE_EVALUATOR)) {
        buf_puts(out, ",\"evaluator\":");
        add_hosts(w, ROLE_EVALUATOR, out);
    }
    buf_puts(out, "}");
}

void wiring_tf_config(const struct wiring *w, const struct tf_process *p, bool by_name,
                      struct buf *out)
{
    buf_puts(out, "{\"cluster\":");
    if (w->dynamic)
        add_sparse(w, p, by_name, out);
    else if (by_name)
        buf_puts(out, "$(PACELINE_CLUSTER)");
    else
        wiring_cluster(w, out);
    buf_printf(out, ",\"task\":{\"type\":\"%s\",\"index\":", cluster_role_names[p->role]);
    buf_puts(out, p->index);
    buf_puts(out, w->dynamic ? "}}" : "},\"environment\":\"cloud\"}");
}

void wiring_hostfile(const struct wiring *w, struct buf *out)
{
    static const enum cluster_role by_rank[] = {ROLE_CHIEF, ROLE_WORKER};

    for (size_t r = 0; r < ARRAY_LEN(by_rank); r++) {
        char after[32];

        snprintf(after, sizeof after, " slots=%d\n", w->slots[by_rank[r]]);
        add_processes(w, by_rank[r], "", after, "", out);
    }
}

void tf_config_text(const struct objects_config *config, const struct tj *tj,
                    enum cluster_role role, int index, struct buf *out)
{
    char number[16], host[NAME_SIZE];
    struct tf_process p = {.role = role, .index = number, .host = host};
    struct wiring w;

    wiring_init(&w, tj, config->cluster_domain);
    if (!wiring_has_tf_config(&w))
        return;
    wiring_read_others(&w, tj->job, N_CLUSTER_ROLES);
    snprintf(number, sizeof number, "%d", index);
    host_name(host, tj->meta.name, role, index);
    wiring_tf_config(&w, &p, false, out);
}
