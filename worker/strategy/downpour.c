/*
 * ParameterServer, async and bounded: Downpour (Dean et al. 2012). A worker asks the first server,
 * the clock, for a batch, pulls the weights from all servers, and pushes the gradient; servers
 * apply it as it arrives. The clock deals the batches in order, so a fast worker has more of them;
 * bounded: not to one that is too far ahead of the slowest (staleness.h). All meet where the loop
 * has to be in one place: at the end of an epoch, for a checkpoint, to stop. "A worker" may be a
 * group of them (group.h), of which the first speaks.
 *
 * Without replicas.ps each worker is a server as well, of a share of the parameters: it answers
 * between kernels and while it waits. The model's weights are then the server's, and the worker
 * computes with those that it pulled.
 *
 * Here is a worker's side, and what both have; downpour_server.c has a server's.
 */
#include "worker/strategy/downpour.h"
#include "paceline/mem.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/strategies.h"
#include "worker/train/step.h"

static void poll_transport(void *arg) { ps_transport_poll(arg); }

/* A worker that is a server as well. */
static void init_both(struct trainer *t, struct downpour *d)
{
    const size_t n = t->model.n_floats;

    d->pulled = xaligned(n * sizeof *d->pulled);
    t->gradient_floats += n;
    t->pass.weights = d->pulled;
    t->pass.poll = poll_transport;
    t->pass.poll_arg = d->transport;
    t->serves = true;
}

static void downpour_init(struct trainer *t)
{
    struct downpour *d = t->own = xcalloc(1, sizeof *d);

    d->transport = ps_transport_new(t->comm, &t->placement, t->job->strategy.wait_seconds);
    if (t->job->strategy.transfer_semaphore)
        ps_transport_use_semaphore(d->transport);
    group_init(&d->group, t);
    if (servers_has_shards(t))
        server_init(t, d);
    if (servers_has_shards(t) && !servers_is_one(t))
        init_both(t, d);
}

static void downpour_release(struct trainer *t)
{
    struct downpour *d = t->own;

    ps_transport_free(d->transport);
    server_release(d);
    group_release(&d->group);
    free(d->pulled);
    free(d);
}

static void downpour_tell_servers(const struct trainer *t, const struct async_note *note)
{
    const struct downpour *d = t->own;

    for (int s = 0; s < t->placement.servers; s++)
        ps_transport_tell(d->transport, t->placement.first + s, note, sizeof *note);
}

static void downpour_compute(struct trainer *t, struct downpour *d, const struct position *at)
{
    struct async_note note = {.kind = NOTE_PUSH, .idle = d->idle};

    batcher_seek(t->batches, at->epoch, at->batch);
    note.batch = group_compute(&d->group, t);
    if (!group_leads(&d->group, comm_rank(t->comm)))
        return;
    downpour_tell_servers(t, &note);
    ps_transport_push(d->transport, d->group.slabs);
    d->pushed++;
    d->idle = 0;
}

/* A group's first rank: the clock's answer to its ask. */
static struct async_answer downpour_ask_clock(const struct trainer *t, const struct downpour *d)
{
    const struct async_note ask = {.kind = NOTE_ASK, .orders = t->wish};
    struct async_answer a;

    ps_transport_tell(d->transport, t->placement.first, &ask, sizeof ask);
    ps_transport_await(d->transport, t->placement.first, &a, sizeof a);
    return a;
}

/* Weights to compute with. */
static void downpour_pull(struct trainer *t, struct downpour *d, bool leads)
{
    float *weights = d->pulled ? d->pulled : t->model.weights;

    if (leads) {
        downpour_tell_servers(t, &(struct async_note){.kind = NOTE_PULL});
        ps_transport_pull(d->transport, weights);
    }
    group_tell(&d->group, weights, t->model.n_floats * sizeof *weights);
}

/* A batch, if the clock has one: false: it is time to meet. */
static bool downpour_work(struct trainer *t, struct downpour *d)
{
    const bool leads = group_leads(&d->group, comm_rank(t->comm));
    struct async_answer a = leads ? downpour_ask_clock(t, d) : (struct async_answer){0};

    group_tell(&d->group, &a, sizeof a);
    comm_check_flag(t->comm, t->placement.first, a.meet, "whether to meet");
    if (!a.meet)
        trainer_check_position(t, t->placement.first, &a.at);
    d->idle += a.idle;
    if (a.meet) {
        if (leads)
            downpour_tell_servers(
                t, &(struct async_note){.kind = NOTE_MEET, .pushed = d->pushed, .idle = d->idle});
        d->pushed = d->idle = 0;
        return false;
    }
    t->at.step = a.at.step;
    t->at.epoch_totals = a.at.epoch_totals;
    downpour_pull(t, d, leads);
    downpour_compute(t, d, &a.at);
    return true;
}

/* --- both --- */

/* Everybody learns what the clock knows. */
static int downpour_meet(struct trainer *t, struct downpour *d, struct err *err)
{
    const bool lost = d->applied != d->announced;

    servers_count_transfers(t, d->transport, &d->now.transfers);
    comm_broadcast(t->comm, &d->now, sizeof d->now, t->placement.first);
    trainer_check_position(t, t->placement.first, &d->now.at);
    t->at = d->now.at;
    t->orders = trainer_read_orders(t, t->placement.first, d->now.orders);
    comm_check_flag(t->comm, t->placement.first, d->now.diverged, "whether the loss diverged");
    if (d->now.diverged)
        return step_diverged(t, d->now.loss, err);
    if (comm_max(t->comm, lost))
        return err_set(err, ERR_DAMAGED,
                       "step %lld: a server has applied more or fewer gradients than were pushed",
                       (long long)t->at.step);
    return 0;
}

static int downpour_step(struct trainer *t, struct err *err)
{
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    struct downpour *d = t->own;
    int rc = 0;

    if (t->together) {
        t->began = t->at;
        if (servers_has_shards(t))
            server_begin(t, d);
    }
    t->together = servers_is_one(t) || !downpour_work(t, d);
    if (t->together && servers_has_shards(t))
        server_end(t, d);
    if (t->together)
        rc = downpour_meet(t, d, err);
    phases_leave(&t->phases, was);
    return rc;
}

static void add_histogram(cJSON *e, const char *name, const struct batch_histogram *h)
{
    cJSON *list = cJSON_AddArrayToObject(e, name);

    for (int i = 0; i < BINS && i <= h->most; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)h->count[i]));
}

static void downpour_report(const struct trainer *t, cJSON *done)
{
    const struct downpour *d = t->own;

    cJSON_AddNumberToObject(done, "pushed", (double)d->now.pushed);
    cJSON_AddNumberToObject(done, "applied", (double)d->now.applied);
    add_histogram(done, "staleness", &d->now.staleness);
    add_histogram(done, "lead", &d->now.lead);
    servers_report_transfers(&d->now.transfers, done);
}

const struct strategy downpour = {
    .share = group_share,
    .takes = servers_takes,
    .draws = true,
    .init = downpour_init,
    .release = downpour_release,
    .step = downpour_step,
    .gather = servers_gather,
    .collect = servers_collect,
    .report = downpour_report,
};
