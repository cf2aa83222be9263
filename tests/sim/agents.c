/* Connections of operators to agents: latency, order, loss, silence. */
#include "operator/agents/agent_ops.h"

#include "operator/objects/keys.h"
#include "paceline/mem.h"
#include "tests/sim/agents.h"
#include "tests/sim/value.h"

struct parcel { /* a message on its way; json NULL: the end */
    struct parcel *next;
    int64_t due_ms;
    cJSON *json;
    const char *why;
};
enum direction { TO_AGENT, TO_OPERATOR, N_DIRECTIONS };

struct agent_link {
    struct sim_world *w;
    int64_t id;
    int n;         /* operator */
    int64_t epoch; /* of its process */
    char address[64];
    unsigned char key[KEY_BYTES];
    agent_message_fn *message;
    agent_end_fn *end;
    void *arg;
    int process;   /* whose agent; -1: not connected yet */
    bool attached; /* the agent has it as its operator */
    bool mute;     /* half-open: nothing gets through, and nobody is told */
    bool over;     /* for the operator */
    bool busy;     /* inside a callback */
    int64_t silent_ms, lag_ms;
    struct parcel *parcels[N_DIRECTIONS];
    int64_t last_ms[N_DIRECTIONS]; /* when the newest is due */
    int64_t sent;                  /* the newest generation launched through it */
};

void agents_new(struct sim_world *w) { w->agents = xcalloc(1, sizeof *w->agents); }

static void drop_parcels(struct agent_link *l, enum direction d)
{
    while (l->parcels[d]) {
        struct parcel *p = l->parcels[d];

        l->parcels[d] = p->next;
        cJSON_Delete(p->json);
        free(p);
    }
}

static void link_free(struct agent_link *l)
{
    struct agents *a = l->w->agents;

    for (size_t i = 0; i < a->n_links; i++)
        if (a->links[i] == l)
            a->links[i--] = a->links[--a->n_links];
    drop_parcels(l, TO_AGENT);
    drop_parcels(l, TO_OPERATOR);
    free(l);
}

void agents_free(struct sim_world *w)
{
    while (w->agents->n_links)
        link_free(w->agents->links[0]);
    free((void *)w->agents->links);
    free(w->agents->runs);
    free(w->agents->agents);
    free(w->agents);
}

static struct agent_link *link_of(struct sim_world *w, int64_t id)
{
    for (size_t i = 0; i < w->agents->n_links; i++)
        if (w->agents->links[i]->id == id)
            return w->agents->links[i];
    return NULL;
}

static struct agent_link *link_to(struct sim_world *w, int process)
{
    for (size_t i = 0; i < w->agents->n_links; i++)
        if (w->agents->links[i]->attached && w->agents->links[i]->process == process)
            return w->agents->links[i];
    return NULL;
}

/* Packets do not get through. */
static bool cut_off(const struct agent_link *l)
{
    const struct sim_world *w = l->w;

    return l->mute || w->agents->cut_until_ms[l->n] > w->now_ms ||
           (l->process >= 0 && w->nodes[w->processes[l->process].node].down);
}

static bool stopped(const struct agent_link *l)
{
    return l->w->operators[l->n].paused_until > l->w->now_ms;
}

static void on_pump(struct sim_world *w, int64_t id);

static void post(struct agent_link *l, enum direction d, cJSON *json, const char *why)
{
    struct sim_world *w = l->w;
    const struct operator_process *op = &w->operators[l->n];
    struct parcel **end = &l->parcels[d], *p = xcalloc(1, sizeof *p);

    while (*end)
        end = &(*end)->next;
    *end = p;
    *p =
        (struct parcel){NULL, w->now_ms + random_range(&w->schedule, 1, 40) + l->lag_ms, json, why};
    if (d == TO_AGENT && op->frozen_until > w->now_ms) /* leaves when the process goes on */
        p->due_ms += op->frozen_until - w->now_ms;
    if (p->due_ms < l->last_ms[d])
        p->due_ms = l->last_ms[d];
    l->last_ms[d] = p->due_ms;
    world_after(w, p->due_ms - w->now_ms, on_pump, l->id * N_DIRECTIONS + d);
}

/* The agent's side is over; what it said before still arrives. */
static void hang_up(struct agent_link *l, const char *why)
{
    l->attached = false;
    drop_parcels(l, TO_AGENT);
    post(l, TO_OPERATOR, NULL, why);
}

/* Both sides notice by themselves. */
static void reset(struct agent_link *l, const char *why)
{
    drop_parcels(l, TO_OPERATOR);
    l->mute = false;
    l->lag_ms = 0;
    hang_up(l, why);
}

void agent_say(struct sim_world *w, int process, cJSON *message)
{
    struct agent_link *l = link_to(w, process);

    if (!l) {
        cJSON_Delete(message);
        return;
    }
    w->agents->n_said++;
    if (truth_of(w, w->processes[process].job_uid))
        truth_of(w, w->processes[process].job_uid)->said++;
    post(l, TO_OPERATOR, message, NULL);
}

static void refuse(struct agent_link *l, const cJSON *world, const char *why)
{
    cJSON *m = cJSON_CreateObject();

    val_set_str(m, "type", "refused");
    val_set_int(m, "generation", val_int(world, "generation"));
    val_set_str(m, "message", why);
    world_trace(l->w, "%s refuses %lld: %s", l->w->processes[l->process].name,
                (long long)val_int(world, "generation"), why);
    agent_say(l->w, l->process, m);
    truth_of(l->w, l->w->processes[l->process].job_uid)->failed++;
}

static void take_world(struct agent_link *l, const cJSON *message)
{
    struct sim_world *w = l->w;
    const struct sim_process *p = &w->processes[l->process];
    int64_t generation = val_int(message, "generation");

    if (generation <= agent_at(w, l->process)->seen)
        refuse(l, message, "its generation is not above every one seen");
    else if (run_is_kept(w, p))
        refuse(l, message, "the training is done");
    else if (scenario_run(w, p, generation).refused)
        refuse(l, message, "hosts: found none of them");
    else
        run_begin(w, l->process, message);
}

static void take(struct agent_link *l, const cJSON *message)
{
    const char *type = val_str(message, "type");
    int64_t generation = val_int(message, "generation");

    if (strcmp(type, "world") == 0)
        take_world(l, message);
    else if (strcmp(type, "stop") == 0)
        run_stop(l->w, l->process, generation);
    else if (strcmp(type, "kill") == 0)
        run_kill(l->w, l->process, generation);
    else
        world_fail(l->w, "an agent was sent \"%s\"", type);
}

/* Gives the operator the message, or the end, after which the link is gone. */
static void deliver(struct agent_link *l, const struct parcel *p)
{
    struct sim_world *w = l->w;
    int n = l->n;

    l->busy = true;
    if (p->json) {
        l->message(l->arg, p->json);
    } else {
        l->over = true;
        l->end(l->arg, p->why);
    }
    l->busy = false;
    if (l->over)
        link_free(l);
    operator_step(w, n);
}

static void on_pump(struct sim_world *w, int64_t id)
{
    enum direction d = id % N_DIRECTIONS;
    struct agent_link *l = link_of(w, id / N_DIRECTIONS);
    struct parcel *p = l ? l->parcels[d] : NULL;

    if (!p || p->due_ms > w->now_ms || l->busy)
        return;
    if ((d == TO_OPERATOR && stopped(l)) || (cut_off(l) && p->json)) {
        world_after(w, 100, on_pump, id);
        return;
    }
    l->parcels[d] = p->next;
    if (p->next)
        world_after(w, p->next->due_ms - w->now_ms, on_pump, id);
    if (d == TO_OPERATOR)
        deliver(l, p);
    else if (l->attached)
        take(l, p->json);
    cJSON_Delete(p->json);
    free(p);
}

/* Five seconds without a ping: both give the connection up. */
static void on_silence(struct sim_world *w, int64_t id)
{
    struct agent_link *l = link_of(w, id);

    if (!l || !l->silent_ms || w->now_ms < l->silent_ms + SILENCE_MS || !l->attached)
        return;
    reset(l, "it has been silent for 5 s");
}

static void watch_link(struct agent_link *l)
{
    struct sim_world *w = l->w;

    if (!w->processes[l->process].running && !cut_off(l)) {
        hang_up(l, "it has ended");
    } else if (!cut_off(l) && !stopped(l)) {
        l->silent_ms = 0;
        if (truth_of(w, w->processes[l->process].job_uid))
            truth_of(w, w->processes[l->process].job_uid)->linked_ms = w->now_ms;
    } else if (!l->silent_ms) {
        l->silent_ms = w->now_ms;
        world_after(w, SILENCE_MS, on_silence, l->id);
    }
}

void agents_each_event(struct sim_world *w)
{
    for (size_t i = 0; i < w->agents->n_links; i++)
        if (w->agents->links[i]->attached)
            watch_link(w->agents->links[i]);
    runs_each_event(w);
}

/* One operator at a time; it is told what this pod knows. */
static void attach(struct agent_link *l, int process)
{
    struct sim_world *w = l->w;
    struct agent_link *before = link_to(w, process);
    const struct sim_run *r = run_at(w, process);
    cJSON *hello = cJSON_CreateObject();

    if (before)
        hang_up(before, "another operator has come");
    l->attached = true;
    val_set_str(hello, "type", "hello");
    val_set_int(hello, "protocol", 1);
    val_set_str(hello, "pod", w->processes[process].name);
    val_set_int(hello, "generation", agent_at(w, process)->seen);
    val_set_int(hello, "run", r ? r->generation : 0);
    agent_say(w, process, hello);
    if (!r)
        return;
    agent_say(w, process, run_message(w, r));
    if (r->foreign)
        return;
    if (r->stage == RUN_STAGES)
        agent_say(w, process, run_started(r));
    if (r->switched && r->from < r->switch_step)
        agent_say(w, process, run_switched(r));
    if (r->step > r->from)
        agent_say(w, process, run_progress(r));
}

static bool lets_in(const struct agent_link *l, const struct sim_process *p)
{
    unsigned char key[KEY_BYTES];

    key_derive(key, l->w->config.master_key, p->job_uid);
    return memcmp(key, l->key, sizeof key) == 0;
}

static void on_time_out(struct sim_world *w, int64_t id)
{
    struct agent_link *l = link_of(w, id);

    if (l && !l->attached && !l->parcels[TO_OPERATOR])
        post(l, TO_OPERATOR, NULL, "timed out");
}

static void on_connect(struct sim_world *w, int64_t id)
{
    struct agent_link *l = link_of(w, id);
    int process = l ? process_at(w, l->address) : -1;
    const struct sim_process *p = process >= 0 ? &w->processes[process] : NULL;

    if (!l || l->over)
        return;
    l->process = process;
    if (!p || cut_off(l))
        return;
    if (w->operators[l->n].epoch != l->epoch)
        world_fail(w, "op%d was killed and its connections live", l->n);
    else if (!p->running || w->now_ms < p->started_ms + 300)
        post(l, TO_OPERATOR, NULL, "connection refused");
    else if (!lets_in(l, p))
        post(l, TO_OPERATOR, NULL, "its key is not the job's");
    else
        attach(l, process);
}

static struct agent_link *link_open(void *net, const struct agent_target *target,
                                    agent_message_fn *message, agent_end_fn *end, void *arg)
{
    struct operator_process *op = net;
    struct sim_world *w = op->w;
    struct agents *a = w->agents;
    struct agent_link *l = xcalloc(1, sizeof *l);

    *l = (struct agent_link){.w = w,
                             .id = ++a->ids,
                             .n = op->n,
                             .epoch = op->epoch,
                             .message = message,
                             .end = end,
                             .arg = arg,
                             .process = -1};
    snprintf(l->address, sizeof l->address, "%s", target->address);
    memcpy(l->key, target->key, sizeof l->key);
    if (a->n_links == a->cap_links) {
        a->cap_links = a->cap_links ? 2 * a->cap_links : 16;
        a->links = xrealloc((void *)a->links, a->cap_links * sizeof(struct agent_link *));
    }
    a->links[a->n_links++] = l;
    if (!faults_of_connection(w))
        world_after(w, random_range(&w->schedule, 2, 60), on_connect, l->id);
    world_after(w, SILENCE_MS, on_time_out, l->id);
    return l;
}

static void link_send(void *net, struct agent_link *l, const cJSON *message)
{
    struct operator_process *op = net;
    struct sim_world *w = op->w;
    int64_t generation = val_int(message, "generation");
    bool launch = strcmp(val_str(message, "type"), "world") == 0;

    faults_of_launch(w, op);
    if (op->dying)
        return;
    if (l->over || (launch && l->sent == generation))
        world_fail(w, "op%d sent %lld %s", op->n, (long long)generation,
                   l->over ? "after the end" : "twice");
    if (launch)
        l->sent = generation;
    world_trace(w, "op%d sends %s %lld", op->n, val_str(message, "type"), (long long)generation);
    if (l->attached)
        post(l, TO_AGENT, cJSON_Duplicate(message, true), NULL);
}

static void link_close(void *net, struct agent_link *l)
{
    (void)net;
    l->over = true;
    l->attached = false;
    if (!l->busy)
        link_free(l);
}

const struct agent_ops agents_ops = {link_open, link_send, link_close, NULL};

const char *agents_unsettled(struct sim_world *w)
{
    for (size_t i = 0; i < w->agents->n_links; i++) {
        const struct agent_link *l = w->agents->links[i];
        const struct store_object *job =
            l->process < 0
                ? NULL
                : store_find_uid(&w->api.store, KIND_JOB, w->processes[l->process].job_uid);

        if (!w->operators[l->n].c || w->operators[l->n].epoch != l->epoch)
            return "an operator that is gone has a connection";
        if (l->attached && (!job || job_terminal(job->v->json)))
            return "an operator has a connection to a job that is over";
    }
    return NULL;
}

void agents_fault(struct sim_world *w, enum fault kind)
{
    struct agents *a = w->agents;
    struct agent_link *l;

    if (!a->n_links)
        return;
    l = a->links[random_next(&w->faults) % a->n_links];
    if (kind == FAULT_LINK_PARTITION) {
        world_fault(w, kind);
        a->cut_until_ms[l->n] = w->now_ms + random_range(&w->faults, 500, 30000);
    } else if (l->attached) {
        world_fault(w, kind);
        if (kind == FAULT_LINK_CUT)
            reset(l, "connection reset by peer");
        else if (kind == FAULT_LINK_HALF)
            l->mute = true;
        else
            l->lag_ms = random_range(&w->faults, 100, 4000);
    }
}

void agents_heal(struct sim_world *w)
{
    memset(w->agents->cut_until_ms, 0, sizeof w->agents->cut_until_ms);
    for (size_t i = 0; i < w->agents->n_links; i++)
        w->agents->links[i]->lag_ms = 0;
}
