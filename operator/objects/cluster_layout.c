#include "operator/objects/cluster_layout.h"

#include <string.h>

#include "operator/objects/objects.h"
#include "operator/objects/template.h"
#include "operator/objects/tree.h"
#include "paceline/json.h"
#include "paceline/mem.h"

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

void cluster_layout_init(struct cluster_layout *l, const struct tj *tj, const char *domain)
{
    const struct job *job = tj->job;
    int64_t generation = tj->status.world.generation;

    *l = (struct cluster_layout){
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
        l->replicas[r] = generation ? tj->status.world.replicas[r] : job->replicas[r].replicas;
        l->ports[r] = TF_PORT;
        l->slots[r] = 1;
    }
    l->master = l->replicas[ROLE_CHIEF] ? ROLE_CHIEF : ROLE_WORKER;
}

void cluster_layout_read(struct cluster_layout *l, enum cluster_role role, const cJSON *template_)
{
    static const char *const tf_ports[] = {"tfjob-port", "paceline", NULL};
    static const char *const master_ports[] = {"pytorchjob-port", NULL};
    int port = template_port(template_, tf_ports);

    if (port)
        l->ports[role] = port;
    l->slots[role] = limit_cpus(template_, l->launched);
    port = role == l->master ? template_port(template_, master_ports) : 0;
    if (port)
        l->master_port = port;
}

void cluster_layout_read_others(struct cluster_layout *l, const struct job *job,
                                enum cluster_role role)
{
    for (enum cluster_role r = 0; r < N_CLUSTER_ROLES; r++) {
        AUTO(auto_json) cJSON *template_ = NULL;
        struct err ignored;

        if (r != role && job->replicas[r].template_ &&
            template_parse(&template_, job, r, &ignored) == 0)
            cluster_layout_read(l, r, template_);
    }
}

int64_t cluster_layout_processes(const struct cluster_layout *l)
{
    int64_t n = 0;

    for (size_t r = 0; r < N_CLUSTER_ROLES; r++)
        n += l->replicas[r];
    return n;
}

int64_t cluster_layout_world(const struct cluster_layout *l)
{
    return l->replicas[ROLE_CHIEF] + l->replicas[ROLE_WORKER];
}

int64_t cluster_layout_first_rank(const struct cluster_layout *l, enum cluster_role role)
{
    if (role == ROLE_CHIEF)
        return 0;
    return role == ROLE_WORKER ? l->replicas[ROLE_CHIEF] : -1;
}

bool cluster_layout_has_hostfile(const struct cluster_layout *l)
{
    return !l->launched && !l->dynamic;
}

void cluster_layout_address(const struct cluster_layout *l, const char *host, struct buf *out)
{
    buf_puts(out, host);
    buf_puts(out, ".");
    buf_puts(out, l->job);
    buf_puts(out, ".");
    buf_puts(out, l->namespace_);
    buf_puts(out, ".svc");
    if (l->domain)
        buf_printf(out, ".%s", l->domain);
}

/* There may be thousands, so what they share is printed once. */
void cluster_layout_each(const struct cluster_layout *l, enum cluster_role role, const char *before,
                         const char *after, const char *between, struct buf *out)
{
    AUTO(buf_release) struct buf tail;
    char first[NAME_SIZE], number[24];
    size_t head;

    buf_init(&tail, 0);
    host_name(first, l->job, role, 0);
    head = strlen(first) - 1; /* without the index */
    cluster_layout_address(l, "", &tail);
    buf_puts(&tail, after);
    for (int64_t i = 0; i < l->replicas[role]; i++) {
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

void cluster_layout_hostfile(const struct cluster_layout *l, struct buf *out)
{
    static const enum cluster_role by_rank[] = {ROLE_CHIEF, ROLE_WORKER};

    for (size_t r = 0; r < ARRAY_LEN(by_rank); r++) {
        char after[32];

        snprintf(after, sizeof after, " slots=%d\n", l->slots[by_rank[r]]);
        cluster_layout_each(l, by_rank[r], "", after, "", out);
    }
}
