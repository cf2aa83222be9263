/* Processes of the operator: start, step, pause, kill. */
#include "paceline/mem.h"
#include "tests/sim/world.h"

#define STEP_SENDS 5 /* a kill inside a step strikes before one of the first sends */

static const unsigned char master_key[32] = "the simulation's own master key";

static struct moment moment_of(const struct operator_process *op)
{
    const struct sim_world *w = op->w;

    return (struct moment){.wall_ms = w->now_ms + op->skew_ms,
                           .mono_ms = w->now_ms - w->start_ms + 1000 + op->n * 777777};
}

static void on_step(struct sim_world *w, int64_t id)
{
    struct operator_process *op = &w->operators[id % N_OPERATORS];

    if (op->step_epoch == id / N_OPERATORS)
        operator_step(w, op->n);
}

static void on_start(struct sim_world *w, int64_t id)
{
    struct operator_process *op = &w->operators[id % N_OPERATORS];

    if (!op->c && op->epoch == id / N_OPERATORS)
        operator_start(w, op->n);
}

static void end(struct operator_process *op, int64_t restart_ms)
{
    if (op->c)
        controller_free(STEAL(op->c));
    op->epoch++;
    op->step_epoch++;
    op->dying = op->stopping = op->led = false;
    op->paused_until = op->frozen_until = 0;
    world_after(op->w, restart_ms, on_start, op->n + op->epoch * N_OPERATORS);
}

void operator_kill(struct sim_world *w, int n, int64_t restart_ms)
{
    world_trace(w, "op%d killed", n);
    end(&w->operators[n], restart_ms);
}

void operator_start(struct sim_world *w, int n)
{
    struct operator_process *op = &w->operators[n];
    struct controller_config config = w->config;

    snprintf(op->identity, sizeof op->identity, "op%d-%lld", n, (long long)op->epoch);
    config.identity = op->identity;
    config.seed = w->seed * 31 + (uint64_t)op->epoch * 2 + (uint64_t)n;
    world_trace(w, "op%d starts", n);
    w->settled_ms = 0; /* its lists are no requests about nothing */
    config.transport = op;
    op->c = controller_new(&config, &network_ops, op, moment_of(op));
    operator_step(w, n);
}

void operator_step(struct sim_world *w, int n)
{
    struct operator_process *op = &w->operators[n];
    int64_t wait;

    if (!op->c || w->failed)
        return;
    if (op->paused_until > w->now_ms) {
        world_after(w, op->paused_until - w->now_ms, on_step, n + ++op->step_epoch * N_OPERATORS);
        return;
    }
    op->sends = 0;
    controller_step(op->c, moment_of(op));
    if (op->dying) {
        operator_kill(w, n, random_range(&w->faults, 100, 20000));
        return;
    }
    if (op->led != controller_leads(op->c)) {
        op->led = !op->led;
        world_trace(w, "op%d %s", n, op->led ? "leads" : "leads no more");
    }
    if (op->stopping && controller_stopped(op->c)) {
        world_trace(w, "op%d stopped", n);
        truth_stopped(w, op);
        end(op, random_range(&w->faults, 100, 10000));
        return;
    }
    wait = controller_next_ms(op->c, moment_of(op));
    if (op->frozen_until > w->now_ms) /* all of it waits until the process goes on */
        op->paused_until = op->frozen_until;
    world_after(w, wait > 0 ? wait : 1, on_step, n + ++op->step_epoch * N_OPERATORS);
}

struct operator_process *operators_leader(struct sim_world *w)
{
    for (int i = 0; i < w->n_operators; i++) {
        struct operator_process *op = &w->operators[i];

        if (op->c && controller_leads(op->c) && op->paused_until <= w->now_ms)
            return op;
    }
    return NULL;
}

int operators_leading(const struct sim_world *w)
{
    int n = 0;

    for (int i = 0; i < w->n_operators; i++) {
        const struct operator_process *op = &w->operators[i];

        n += op->c && controller_leads(op->c) && op->paused_until < w->now_ms;
    }
    return n;
}

void operators_start(struct sim_world *w)
{
    struct random *r = &w->schedule;
    bool slow = random_chance(r, 700);

    w->config = (struct controller_config){
        .namespace_ = random_chance(r, 300) ? "ns" : NULL,
        .operator_namespace = OPERATOR_NS,
        .lease_name = "paceline-operator",
        .operator_version = "simulated",
        .elect = true,
        .lease_ms = 15000,
        .renew_ms = 10000,
        .retry_ms = slow ? 4000 : 2000,
        .max_writes = (int)random_range(r, 1, 16),
        .page = random_chance(r, 500) ? (int)random_range(r, 1, 4) : 100,
        .per_second = random_chance(r, 100) ? 20 : 0,
        .burst = 10,
        .request_ms = 5000,
        .master_key = master_key,
        .worker_image = "paceline:simulated",
        .agents = &agents_ops,
    };
    w->n_operators = random_chance(r, 400) ? 2 : 1;
    w->config.elect = w->n_operators == 2 || random_chance(r, 700);
    for (int i = 0; i < w->n_operators; i++) {
        w->operators[i].w = w;
        w->operators[i].n = i;
        world_after(w, random_range(r, 0, 3000), on_start, i);
    }
}

void operators_heal(struct sim_world *w)
{
    for (int i = 0; i < w->n_operators; i++)
        w->operators[i].skew_ms = 0;
}

void operators_release(struct sim_world *w)
{
    for (int i = 0; i < w->n_operators; i++) {
        if (w->operators[i].c)
            controller_free(STEAL(w->operators[i].c));
    }
}
