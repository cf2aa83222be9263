#include "operator/controller/agent_conns.h"

#include <stdio.h>
#include <string.h>

#include "operator/controller/state.h"
#include "operator/core/backoff.h"
#include "operator/objects/keys.h"
#include "operator/objects/objects.h"
#include "operator/objects/tree.h"
#include "paceline/json.h"
#include "paceline/mem.h"

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS 5000
#define STEADY_MS 10000 /* a connection that lasted so long was none that fails at once */
#define DOUBT_MS 1000
#define DOUBT_MAX_MS 3000 /* more between two looks: this process stood still */
#define DOUBTS 5
#define PROBE_AFTER_MS 10000 /* network plugins take a while until a new pod is guarded */
#define PROBE_AGAIN_MS 1000
#define UNREACHABLE_MS 10000 /* without a word from the agent of a pod that runs */

/* How far a run is, as far as a run that goes on must change it. */
struct mark {
    int64_t generation, step;
    enum run_phase phase;
    char stage[32];
};

struct agent_conn {
    struct agent_conns *all;
    struct agent_conn *next;
    char *key, *uid;
    char pod[NAME_SIZE], address[64];
    struct agent_link *connection; /* NULL: none, wait until again_mono_ms */
    bool greeted;                  /* the agent has said hello, so messages may be sent */
    struct run_report report;
    struct mark mark; /* of the report, over connections */
    int failures;
    int64_t since_mono_ms, again_mono_ms, moved_mono_ms;
    int64_t greeted_mono_ms;
    int doubts; /* looks at a run that told nothing new for too long */
    int64_t doubted_mono_ms;
    bool probing;
    int64_t probing_for; /* this launch generation */
    int64_t probed;      /* the launch generation whose probe has ended; 0: none has */
    char why[600];
    char unenforced[600]; /* what the probe of that generation has found; "": nothing */
};

struct agent_conns {
    struct controller *c;
    struct agent_conn *first;
};

struct agent_conns *agent_conns_new(struct controller *c)
{
    struct agent_conns *all = xcalloc(1, sizeof *all);

    all->c = c;
    return all;
}

static void hang_up(struct agent_conn *k)
{
    struct controller *c = k->all->c;

    if (k->connection)
        c->config.agents->close(c->config.transport, k->connection);
    k->connection = NULL;
    k->greeted = false;
}

static void agent_conn_free(struct agent_conn *k)
{
    hang_up(k);
    free(k->key);
    free(k->uid);
    free(k);
}

void agent_conns_drop_all(struct agent_conns *all)
{
    while (all->first) {
        struct agent_conn *k = all->first;

        all->first = k->next;
        agent_conn_free(k);
    }
}

void agent_conns_free(struct agent_conns *all)
{
    agent_conns_drop_all(all);
    free(all);
}

static struct agent_conn **agent_conn_slot_of(struct agent_conns *all, const char *key)
{
    struct agent_conn **slot = &all->first;

    while (*slot && strcmp((*slot)->key, key) != 0)
        slot = &(*slot)->next;
    return slot;
}

void agent_conns_drop(struct agent_conns *all, const char *key)
{
    struct agent_conn **slot = agent_conn_slot_of(all, key), *k = *slot;

    if (!k)
        return;
    *slot = k->next;
    agent_conn_free(k);
}

static void touch(const struct agent_conn *k)
{
    workqueue_add(k->all->c->queue, k->key, k->all->c->now.mono_ms);
}

/* A new connection is told again what was known: that is no progress. */
static void note_move(struct agent_conn *k)
{
    const struct run_report *r = &k->report;
    struct mark *m = &k->mark;

    if (!run_report_complete(r) || (m->generation == r->generation && m->step >= r->step &&
                                    m->phase == r->phase && strcmp(m->stage, r->stage) == 0))
        return;
    *m = (struct mark){r->generation, r->step, r->phase, ""};
    snprintf(m->stage, sizeof m->stage, "%s", r->stage);
    k->moved_mono_ms = k->all->c->now.mono_ms;
}

static void agent_conn_on_message(void *arg, const cJSON *message)
{
    struct agent_conn *k = arg;
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(message, "type"));

    if (!run_report_take(&k->report, message))
        return;
    if (type && strcmp(type, "hello") == 0 && !k->greeted) {
        k->greeted = true;
        k->greeted_mono_ms = k->all->c->now.mono_ms;
    }
    note_move(k);
    touch(k);
}

static void agent_conn_explain(struct agent_conn *k, const char *why)
{
    snprintf(k->why, sizeof k->why,
             "the agent of pod %s at %s cannot be reached: %.200s; the operator must be let in to "
             "pods (it runs in the cluster, and NetworkPolicies allow it)",
             k->pod, k->address, why);
}

static void agent_conn_on_end(void *arg, const char *why)
{
    struct agent_conn *k = arg;
    struct controller *c = k->all->c;

    k->probing = false;
    if (k->greeted)
        k->since_mono_ms = c->now.mono_ms;
    if (k->greeted && c->now.mono_ms - k->greeted_mono_ms >= STEADY_MS)
        k->failures = 0;
    k->connection = NULL;
    k->greeted = false;
    k->again_mono_ms =
        c->now.mono_ms + backoff_ms(k->failures++, RETRY_FIRST_MS, RETRY_MAX_MS, &c->random);
    agent_conn_explain(k, why);
    touch(k);
}

static void agent_conn_dial(struct agent_conn *k)
{
    struct controller *c = k->all->c;
    unsigned char key[KEY_BYTES];

    key_derive(key, c->config.master_key, k->uid);
    k->report = (struct run_report){0};
    k->connection =
        c->config.agents->open(c->config.transport, &(struct agent_target){k->address, key},
                               agent_conn_on_message, agent_conn_on_end, k);
    explicit_bzero(key, sizeof key);
}

/* Worker 0's pod that runs, or NULL. */
static const struct pod *chief_of(const struct observed *o)
{
    int64_t incarnation = status_incarnation(&o->tj->status, ROLE_WORKER, 0);

    for (size_t i = 0; i < o->n_pods; i++) {
        const struct pod *p = o->pods[i];

        if (p->role == ROLE_WORKER && p->index == 0 && p->incarnation == incarnation &&
            p->phase == POD_RUNNING && p->ip && !p->meta.deletion_ms)
            return p;
    }
    return NULL;
}

static struct agent_conn *agent_conn_to(struct agent_conns *all, const char *key,
                                        const struct tj *tj, const struct pod *chief)
{
    struct agent_conn *k = *agent_conn_slot_of(all, key);

    if (k && strcmp(k->uid, tj->meta.uid) == 0 && strcmp(k->pod, chief->meta.name) == 0 &&
        strcmp(k->address, chief->ip) == 0)
        return k;
    agent_conns_drop(all, key);
    k = xcalloc(1, sizeof *k);
    *k = (struct agent_conn){.all = all,
                             .next = all->first,
                             .key = xstrdup(key),
                             .uid = xstrdup(tj->meta.uid),
                             .since_mono_ms = all->c->now.mono_ms,
                             .moved_mono_ms = all->c->now.mono_ms};
    snprintf(k->pod, sizeof k->pod, "%s", chief->meta.name);
    snprintf(k->address, sizeof k->address, "%s", chief->ip);
    all->first = k;
    agent_conn_explain(k, "no answer");
    agent_conn_dial(k);
    return k;
}

/*
 * So quiet for progressDeadlineSeconds? Programs that are not ours always are. What arrived while
 * this process stood still has not been heard yet, so it is listened to for some more seconds,
 * which it must live through.
 */
static bool is_stalled(struct agent_conn *k, const struct tj *tj)
{
    int64_t deadline_ms = seconds_ms(tj->job->run_policy.progress_deadline_seconds);
    int64_t now = k->all->c->now.mono_ms, gap = now - k->doubted_mono_ms;

    if (!deadline_ms || !job_builtin(tj->job) || !k->greeted || !run_is_active(&k->report))
        return false;
    if (now - k->moved_mono_ms < deadline_ms) {
        k->doubts = 0;
        workqueue_add_at(k->all->c->queue, k->key, k->moved_mono_ms + deadline_ms);
        return false;
    }
    if (k->doubts == 0 || gap > DOUBT_MAX_MS)
        k->doubts = 1;
    else if (gap >= DOUBT_MS)
        k->doubts++;
    else
        return k->doubts > DOUBTS;
    k->doubted_mono_ms = now;
    workqueue_add_at(k->all->c->queue, k->key, now + DOUBT_MS);
    return k->doubts > DOUBTS;
}

static void on_probe(void *arg, bool connected)
{
    struct agent_conn *k = arg;

    k->probing = false;
    k->probed = k->probing_for;
    *k->unenforced = '\0';
    if (!connected)
        return;
    snprintf(k->unenforced, sizeof k->unenforced,
             "the operator could connect to port %d of pod %s at %s, which the job's NetworkPolicy "
             "does not allow: any pod of the cluster may be able to connect to Open MPI there. The "
             "network plugin does not enforce NetworkPolicies, or another policy opens the port",
             k->report.canary, k->pod, k->address);
    touch(k);
}

/* Whether the job's NetworkPolicy is enforced is tried once for each launch. */
static void probe(struct agent_conn *k, const struct tj *tj)
{
    struct controller *c = k->all->c;
    int64_t generation = tj->status.launch.generation, from = k->greeted_mono_ms + PROBE_AFTER_MS;

    if (!c->config.in_cluster || !generation || !k->greeted || !k->report.canary || k->probing ||
        k->probed == generation || !network_policy_denies(&c->objects, tj, k->report.canary))
        return;
    if (c->now.mono_ms < from) {
        workqueue_add_at(c->queue, k->key, from);
        return;
    }
    k->probing_for = generation;
    k->probing =
        c->config.agents->probe(c->config.transport, k->connection, k->report.canary, on_probe);
    if (!k->probing)
        workqueue_add_at(c->queue, k->key, c->now.mono_ms + PROBE_AGAIN_MS);
}

void agent_conns_observe(struct agent_conns *all, const char *key, struct observed *o)
{
    const struct tj *tj = o->tj;
    bool wanted = all->c->config.agents && tj->job && job_launched(tj->job) && tj_is_ours(tj) &&
                  tj->status.world.generation && !status_terminal(&tj->status) &&
                  !tj->meta.deletion_ms;
    const struct pod *chief = wanted ? chief_of(o) : NULL;
    struct agent_conn *k;

    if (!chief) {
        agent_conns_drop(all, key);
        return;
    }
    k = agent_conn_to(all, key, tj, chief);
    o->run = &k->report;
    o->linked = k->greeted && run_report_complete(&k->report);
    o->quiet_ms = all->c->now.mono_ms - k->moved_mono_ms;
    o->stalled = is_stalled(k, tj);
    probe(k, tj);
    if (*k->unenforced && k->probed == tj->status.launch.generation)
        o->unenforced = k->unenforced;
    if (k->greeted)
        return;
    if (all->c->now.mono_ms - k->since_mono_ms >= UNREACHABLE_MS)
        o->unreachable = k->why;
    else
        workqueue_add_at(all->c->queue, key, k->since_mono_ms + UNREACHABLE_MS);
}

static void agent_conn_add_host(cJSON *hosts, const struct tj *tj, const struct pod *p)
{
    cJSON *item = cJSON_CreateObject();
    char host[NAME_SIZE];

    host_name(host, tj->meta.name, p->role, p->index);
    cJSON_AddStringToObject(item, "pod", p->meta.name);
    cJSON_AddStringToObject(item, "host", host);
    cJSON_AddStringToObject(item, "address", p->ip);
    cJSON_AddItemToArray(hosts, item);
}

/* By rank: the workers' pods by index, without those that are left out, then the servers'. */
static cJSON *hosts_of(const struct controller *c, const struct tj *tj)
{
    static const enum cluster_role by_rank[] = {ROLE_WORKER, ROLE_PS};
    cJSON *hosts = cJSON_CreateArray();
    size_t n;
    const struct pod *const *pods = cache_pods_of(c->cache, &tj->meta, &n);

    for (size_t r = 0; r < ARRAY_LEN(by_rank); r++)
        for (int i = 0; i < tj->status.world.replicas[by_rank[r]]; i++) {
            if (by_rank[r] == ROLE_WORKER && index_map_get(&tj->status.launch.without, i))
                continue;
            for (size_t p = 0; p < n; p++)
                if (pods[p]->role == by_rank[r] && pods[p]->index == i && pods[p]->ip &&
                    pods[p]->incarnation == status_incarnation(&tj->status, by_rank[r], i))
                    agent_conn_add_host(hosts, tj, pods[p]);
        }
    return hosts;
}

/* The job as this world runs it; its counts are those of the spec, or there would be no launch. The
 * engine takes the last replicas.ps ranks for servers. */
static cJSON *job_of_world(const struct tj *tj)
{
    AUTO(buf_release) struct buf text;
    struct err err;
    cJSON *job = NULL;

    buf_init(&text, 0);
    job_to_json(tj->job, &text);
    if (json_parse(&job, text.data, text.len, "job", &err))
        return NULL;
    tree_set_text(tree_object(job, "metadata"), "uid", tj->meta.uid);
    return job;
}

static struct agent_conn *greeted(struct agent_conns *all, const char *key)
{
    struct agent_conn *k = *agent_conn_slot_of(all, key);

    return k && k->greeted ? k : NULL;
}

static void agent_conn_tell(struct agent_conn *k, const cJSON *message)
{
    struct controller *c = k->all->c;

    c->config.agents->send(c->config.transport, k->connection, message);
}

void agent_conns_launch(struct agent_conns *all, const char *key, const struct tj *tj,
                        int64_t generation)
{
    struct agent_conn *k = greeted(all, key);
    AUTO(auto_json) cJSON *message = NULL;

    if (!k)
        return;
    message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "type", "world");
    cJSON_AddNumberToObject(message, "generation", (double)generation);
    cJSON_AddItemToObject(message, "job", job_of_world(tj));
    cJSON_AddItemToObject(message, "hosts", hosts_of(all->c, tj));
    agent_conn_tell(k, message);
    k->report.told = generation;
}

/* False: nobody hears it. */
static bool order(struct agent_conn *k, const char *what, int64_t generation)
{
    AUTO(auto_json) cJSON *message = NULL;

    if (!k)
        return false;
    message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "type", what);
    cJSON_AddNumberToObject(message, "generation", (double)generation);
    agent_conn_tell(k, message);
    return true;
}

void agent_conns_stop(struct agent_conns *all, const char *key, int64_t generation)
{
    struct agent_conn *k = greeted(all, key);

    /* The order may have waited, and the run has ended since. Its end is told only once, so it must
     * not be overwritten. */
    if (k && k->report.generation == generation && !run_is_active(&k->report))
        return;
    if (order(k, "stop", generation))
        k->report.phase = RUN_STOPPING;
}

void agent_conns_kill(struct agent_conns *all, const char *key, int64_t generation)
{
    struct agent_conn *k = greeted(all, key);

    if (order(k, "kill", generation))
        k->report.killed = generation;
}

void agent_conns_step(struct agent_conns *all)
{
    for (struct agent_conn *k = all->first; k; k = k->next)
        if (!k->connection && all->c->now.mono_ms >= k->again_mono_ms)
            agent_conn_dial(k);
}

int64_t agent_conns_next_ms(const struct agent_conns *all, int64_t mono_ms)
{
    int64_t next = -1;

    for (const struct agent_conn *k = all->first; k; k = k->next) {
        int64_t wait = k->again_mono_ms > mono_ms ? k->again_mono_ms - mono_ms : 0;

        if (!k->connection && (next < 0 || wait < next))
            next = wait;
    }
    return next;
}
