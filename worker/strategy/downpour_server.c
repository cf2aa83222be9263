/* A server's side of downpour.c; the first server is the clock. */
#include <math.h>

#include "paceline/mem.h"
#include "worker/strategy/downpour.h"
#include "worker/strategy/servers.h"
#include "worker/train/step.h"
#include "worker/train/telemetry/watchdog.h"

static void server_count(struct batch_histogram *h, int64_t value)
{
    h->count[value < BINS ? value : BINS - 1]++;
    h->most = value > h->most ? value : h->most;
}

static void init_bound(const struct trainer *t, struct downpour *d)
{
    const bool bounded = t->job->strategy.mode == MODE_BOUNDED;
    const int64_t low = bounded ? t->job->strategy.staleness : INT64_MAX;
    const int64_t high = bounded ? t->job->strategy.max_staleness : 0;

    staleness_init(&d->bound, d->group.n, low, high > low ? high : low);
}

/* Room for a gradient of its shards, in their places of a slab. */
static float *room_of_shards(struct trainer *t)
{
    const struct placement *p = &t->placement;

    for (int i = 0; i < p->n; i++)
        if (placement_owner(p, &p->shards[i]) == comm_rank(t->comm))
            t->gradient_floats += p->shards[i].n;
    return xaligned(t->model.n_floats * sizeof(float));
}

void server_init(struct trainer *t, struct downpour *d)
{
    d->taken = servers_is_one(t) ? d->group.slabs : room_of_shards(t);
    d->seen = xcalloc((size_t)t->workers, sizeof *d->seen);
    d->quiet = xcalloc((size_t)t->workers, sizeof *d->quiet);
    if (t->shares.n)
        d->own = xcalloc((size_t)d->group.n, sizeof *d->own);
    init_bound(t, d);
}

void server_release(struct downpour *d)
{
    if (d->taken != d->group.slabs)
        free(d->taken);
    staleness_release(&d->bound);
    free(d->seen);
    free(d->quiet);
    free(d->own);
}

/* Batches of the epoch up to here are dealt before all meet. One that was dealt makes those before
 * it due, also where each is of somebody's share: so a position is a number. */
static uint32_t end_of_round(const struct trainer *t, const struct downpour *d)
{
    return d->now.orders || d->now.diverged
               ? d->granted
               : (uint32_t)(t->began.batch + (t->until - t->began.step));
}

/* Moves on to the group's next batch, past turns in which its share has no more samples; whether
 * there is one in this round. */
static bool find_batch(const struct trainer *t, const struct downpour *d, int group,
                       uint32_t *batch, uint32_t *idle)
{
    const uint32_t end = end_of_round(t, d);

    *idle = 0;
    *batch = d->own ? d->own[group] : d->granted;
    for (; d->own && *batch < end && !batcher_samples(t->batches, *batch, 1); ++*idle)
        *batch += (uint32_t)d->group.n;
    return *batch < end;
}

/* The group's turns before `next` are over; some: these are more than before. */
static void take_turns(struct downpour *d, int group, uint32_t next, bool some)
{
    const uint32_t end = next - (uint32_t)d->group.n + 1;

    if (!d->own) {
        d->granted += some;
        return;
    }
    d->own[group] = next;
    if (some && end > d->granted)
        d->granted = end;
}

static void begin_shares(const struct trainer *t, struct downpour *d)
{
    const uint32_t n = (uint32_t)d->group.n, first = t->began.batch;

    for (uint32_t g = 0; d->own && g < n; g++)
        d->own[g] = first + (g + n - first % n) % n;
}

/* debug.pushOrder scripts the time, too: it is counted in turns. */
static double seconds(const struct trainer *t, const struct downpour *d)
{
    return t->job->debug.n_push_order ? (double)d->turn : trainer_seconds();
}

/* Answers an ask, if it may be answered now. */
static void server_grant(struct trainer *t, struct downpour *d, int worker)
{
    struct async_answer a = {.at = d->at};
    const int group = worker / d->group.size;
    uint32_t batch;

    a.meet = !find_batch(t, d, group, &batch, &a.idle);
    if (a.meet)
        staleness_leave(&d->bound, group);
    d->quiet[worker] = !a.meet && !staleness_begin(&d->bound, group, seconds(t, d));
    if (d->quiet[worker])
        return;
    if (!a.meet) {
        a.at.batch = batch;
        server_count(&d->now.lead, staleness_lead(&d->bound, group));
        batch += (uint32_t)d->group.n;
    }
    take_turns(d, group, batch, !a.meet || a.idle);
    staleness_skip(&d->bound, group, a.idle);
    ps_transport_answer(d->transport, worker, &a, sizeof a);
}

/* Whom one waited for may have been among those who wait, and have no more in this round. */
static void grant_waiting(struct trainer *t, struct downpour *d)
{
    bool some = true;

    while (some) {
        some = false;
        for (int g = 0; g < d->group.n; g++) {
            if (!d->bound.runners[g].waits)
                continue;
            server_grant(t, d, g * d->group.size);
            some = some || !d->bound.runners[g].waits;
        }
    }
}

static void server_on_ask(struct trainer *t, int worker, const struct async_note *note)
{
    struct downpour *d = t->own;

    d->now.orders |= trainer_read_orders(t, worker, note->orders);
    server_grant(t, d, worker);
    grant_waiting(t, d); /* it may be over for them, too */
}

static void server_on_pull(struct trainer *t, int worker, const struct async_note *note)
{
    struct downpour *d = t->own;

    (void)note;
    d->seen[worker] = d->at.step;
    d->turn++;
    ps_transport_give(d->transport, worker, t->model.weights);
}

/* One update, of this server's shards. */
static void apply(struct trainer *t, const struct downpour *d)
{
    const double share = t->job->strategy.divide_rate ? d->group.n : 1;

    const double epochs = (double)d->at.step / trainer_updates_per_epoch(t);

    optimizer_begin_step(&t->optimizer, d->at.step + 1, schedule_rate(t->job, epochs) / share, 1);
    servers_update(t, d->taken);
}

/* To a worker gradients come that leave for all others at once, and so are long on their way: it
 * answers others meanwhile, unless there is an order. */
static bool defer_push(const struct trainer *t, const struct downpour *d, int worker,
                       const struct async_note *note)
{
    struct async_note again = *note;

    if (servers_is_one(t) || note->here || t->job->strategy.transfer_semaphore ||
        t->job->debug.n_push_order)
        return false;
    again.here = true;
    ps_transport_defer(d->transport, worker, &again, sizeof again);
    return true;
}

static void server_on_push(struct trainer *t, int worker, const struct async_note *note)
{
    struct downpour *d = t->own;

    if (d->seen[worker] < 0)
        comm_refuse(t->comm, worker, "a gradient of weights that it was not given");
    if (defer_push(t, d, worker, note))
        return;
    d->at.step += note->idle;
    ps_transport_take(d->transport, worker, d->taken);
    ps_transport_settle(d->transport);
    if (!isfinite(note->batch.loss) && !d->now.diverged) {
        d->now.diverged = true;
        d->now.loss = note->batch.loss;
    }
    if (!d->now.diverged)
        apply(t, d);
    server_count(&d->now.staleness, d->at.step - d->seen[worker]);
    d->seen[worker] = -1;
    step_add(&d->at.epoch_totals, note->batch);
    d->at.step++;
    d->applied++;
    staleness_push(&d->bound, worker / d->group.size, seconds(t, d));
    grant_waiting(t, d);
}

static void server_on_meet(struct trainer *t, int worker, const struct async_note *note)
{
    struct downpour *d = t->own;

    d->at.step += note->idle;
    d->quiet[worker] = true;
    d->announced += note->pushed;
    d->n_met++;
}

static void on_note(struct trainer *t, struct downpour *d, int worker,
                    const struct async_note *note)
{
    static void (*const on[])(struct trainer *, int,
                              const struct async_note *) = {[NOTE_ASK] = server_on_ask,
                                                            [NOTE_PULL] = server_on_pull,
                                                            [NOTE_PUSH] = server_on_push,
                                                            [NOTE_MEET] = server_on_meet};

    if ((unsigned)note->kind >= ARRAY_LEN(on))
        comm_refuse(t->comm, worker, "a note of kind %d; allowed: 0 to %d", (int)note->kind,
                    N_NOTES - 1);
    if (!group_leads(&d->group, worker))
        comm_refuse(t->comm, worker, "a note, but does not lead its group of %d workers",
                    d->group.size);
    comm_check_flag(t->comm, worker, note->here, "whether its gradient is here");
    on[note->kind](t, worker, note);
    watchdog_feed(d->at.step + 1);
}

/* A worker that is a server as well: what others have sent meanwhile. */
static void server_look(void *arg)
{
    struct trainer *t = arg;
    struct downpour *d = t->own;
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    const double since = trainer_seconds();
    struct async_note note;
    int worker;

    while (d->n_met < d->group.n &&
           (worker = ps_transport_heard(d->transport, servers_turn(t, &d->turn, d->quiet), &note,
                                        sizeof note)) >= 0)
        on_note(t, d, worker, &note);
    t->computing += trainer_seconds() - since; /* this was not */
    phases_leave(&t->phases, was);
}

void server_begin(struct trainer *t, struct downpour *d)
{
    d->at = t->at;
    d->granted = t->began.batch;
    d->now.orders = d->n_met = 0;
    d->applied = d->announced = 0;
    d->turn = 0;
    begin_shares(t, d);
    staleness_restart(&d->bound);
    for (int w = 0; w < t->workers; w++) {
        d->quiet[w] = !group_leads(&d->group, w);
        d->seen[w] = -1;
    }
    if (!servers_is_one(t))
        ps_transport_serve(d->transport, server_look, t);
}

void server_end(struct trainer *t, struct downpour *d)
{
    ps_transport_serve(d->transport, NULL, NULL); /* there is nothing else to do now */
    while (d->n_met < d->group.n) {
        struct async_note note;
        int worker = ps_transport_hear(d->transport, servers_turn(t, &d->turn, d->quiet), &note,
                                       sizeof note);

        on_note(t, d, worker, &note);
    }
    ps_transport_settle(d->transport);
    d->at.batch = d->granted;
    d->now.at = d->at;
    d->now.pushed += d->announced;
    d->now.applied += d->applied;
}
