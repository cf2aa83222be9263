/*
 * ParameterServer, async and bounded: Downpour (Dean et al. 2012). A worker asks the first server,
 * the clock, for a batch, pulls the weights from all servers, and pushes the gradient; servers
 * apply it as it arrives. The clock deals the batches in order, so a fast worker has more of them;
 * bounded: not to one that is too far ahead of the slowest (pace.h). All meet where the loop has to
 * be in one place: at the end of an epoch, for a checkpoint, to stop. "A worker" may be a group of
 * them (group.h), of which the first speaks.
 */
#include <math.h>

#include "paceline/mem.h"
#include "worker/comm/exchange.h"
#include "worker/strategy/group.h"
#include "worker/strategy/pace.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/strategies.h"
#include "worker/train/step.h"
#include "worker/train/watchdog.h"

#define BINS 64 /* of histograms; what is beyond counts in the last */

enum note_kind { NOTE_ASK, NOTE_PULL, NOTE_PUSH, NOTE_MEET, N_NOTES };

/* A worker's, to a server. */
struct note {
    enum note_kind kind;
    int orders;          /* ask: rank 0's */
    int64_t pushed;      /* meet: gradients since the last meeting */
    uint32_t idle;       /* push, meet: turns without samples before it, of the worker's share */
    struct totals batch; /* push */
};

/* The clock's answer to an ask. */
struct answer {
    bool meet;
    uint32_t idle;
    struct position at; /* a batch of it, and how far the training is */
};

struct histogram {
    int64_t count[BINS], most;
};

/* What the clock knows at a meeting, and then everybody. */
struct knowledge {
    struct position at;
    int orders;
    bool diverged;
    double loss; /* of the batch that diverged */
    int64_t pushed, applied;
    struct histogram staleness, lead;
    struct transfers transfers;
};

struct downpour {
    struct exchange *exchange;
    struct group group; /* its first slab: a gradient, the group's or one that a server takes */
    struct knowledge now;
    /* A worker's. */
    int64_t pushed; /* since the last meeting */
    uint32_t idle;  /* that servers have not been told of */
    /* A server's. */
    int64_t *seen;     /* per worker: updates that the weights it pulled last had */
    bool *quiet;       /* workers that have met, wait to begin a batch, or do not lead a group */
    struct pace pace;  /* clock; of groups */
    int64_t applied;   /* since the last meeting */
    int64_t announced; /* of them by the workers */
    uint32_t granted;  /* clock: batches of the epoch that are dealt */
    uint32_t *own;     /* clock: of the share of each group the next one; NULL: no shares */
    int n_met;
    size_t turn; /* debug.pushOrder: how many pulls there were */
};

static void count(struct histogram *h, int64_t value)
{
    h->count[value < BINS ? value : BINS - 1]++;
    h->most = value > h->most ? value : h->most;
}

static void init_pace(const struct trainer *t, struct downpour *d)
{
    const bool bounded = t->job->strategy.mode == MODE_BOUNDED;
    const int64_t low = bounded ? t->job->strategy.staleness : INT64_MAX;
    const int64_t high = bounded ? t->job->strategy.max_staleness : 0;

    pace_init(&d->pace, d->group.n, low, high > low ? high : low);
}

static void downpour_init(struct trainer *t)
{
    struct downpour *d = t->own = xcalloc(1, sizeof *d);

    d->exchange = exchange_new(t->comm, &t->placement, t->job->strategy.wait_seconds);
    if (t->job->strategy.transfer_semaphore)
        exchange_use_semaphore(d->exchange);
    d->seen = xcalloc((size_t)t->workers, sizeof *d->seen);
    d->quiet = xcalloc((size_t)t->workers, sizeof *d->quiet);
    group_init(&d->group, t);
    if (t->shares.n)
        d->own = xcalloc((size_t)d->group.n, sizeof *d->own);
    init_pace(t, d);
}

static void downpour_release(struct trainer *t)
{
    struct downpour *d = t->own;

    exchange_free(d->exchange);
    pace_release(&d->pace);
    free(d->seen);
    free(d->quiet);
    free(d->own);
    group_release(&d->group);
    free(d);
}

/* --- a server --- */

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
static void grant(struct trainer *t, struct downpour *d, int worker)
{
    struct answer a = {.at = t->at};
    const int group = worker / d->group.size;
    uint32_t batch;

    a.meet = !find_batch(t, d, group, &batch, &a.idle);
    if (a.meet)
        pace_leave(&d->pace, group);
    d->quiet[worker] = !a.meet && !pace_begin(&d->pace, group, seconds(t, d));
    if (d->quiet[worker])
        return;
    if (!a.meet) {
        a.at.batch = batch;
        count(&d->now.lead, pace_lead(&d->pace, group));
        batch += (uint32_t)d->group.n;
    }
    take_turns(d, group, batch, !a.meet || a.idle);
    pace_skip(&d->pace, group, a.idle);
    exchange_tell(d->exchange, worker, &a, sizeof a);
}

/* Whom one waited for may have been among those who wait, and have no more in this round. */
static void grant_waiting(struct trainer *t, struct downpour *d)
{
    bool some = true;

    while (some) {
        some = false;
        for (int g = 0; g < d->group.n; g++) {
            if (!d->pace.runners[g].waits)
                continue;
            grant(t, d, g * d->group.size);
            some = some || !d->pace.runners[g].waits;
        }
    }
}

static void on_ask(struct trainer *t, int worker, const struct note *note)
{
    struct downpour *d = t->own;

    d->now.orders |= note->orders;
    grant(t, d, worker);
    grant_waiting(t, d); /* it may be over for them, too */
}

static void on_pull(struct trainer *t, int worker, const struct note *note)
{
    struct downpour *d = t->own;

    (void)note;
    d->seen[worker] = t->at.step;
    d->turn++;
    exchange_give(d->exchange, worker, t->model.weights);
}

/* One update, of this server's shards. */
static void apply(struct trainer *t, const struct downpour *d)
{
    const double share = t->job->strategy.divide_rate ? d->group.n : 1;

    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t) / share, 1);
    servers_update(t, d->group.slabs);
}

static void on_push(struct trainer *t, int worker, const struct note *note)
{
    struct downpour *d = t->own;

    t->at.step += note->idle;
    exchange_take(d->exchange, worker, d->group.slabs);
    exchange_settle(d->exchange);
    if (!isfinite(note->batch.loss) && !d->now.diverged) {
        d->now.diverged = true;
        d->now.loss = note->batch.loss;
    }
    if (!d->now.diverged)
        apply(t, d);
    count(&d->now.staleness, t->at.step - d->seen[worker]);
    step_add(&t->at.epoch_totals, note->batch);
    t->at.step++;
    d->applied++;
    pace_push(&d->pace, worker / d->group.size, seconds(t, d));
    grant_waiting(t, d);
}

static void on_meet(struct trainer *t, int worker, const struct note *note)
{
    struct downpour *d = t->own;

    t->at.step += note->idle;
    d->quiet[worker] = true;
    d->announced += note->pushed;
    d->n_met++;
}

static void serve(struct trainer *t, struct downpour *d)
{
    static void (*const on_note[])(struct trainer *, int, const struct note *) = {
        [NOTE_ASK] = on_ask, [NOTE_PULL] = on_pull, [NOTE_PUSH] = on_push, [NOTE_MEET] = on_meet};

    d->granted = t->began.batch;
    d->now.orders = d->n_met = 0;
    d->applied = d->announced = 0;
    d->turn = 0;
    begin_shares(t, d);
    pace_restart(&d->pace);
    for (int w = 0; w < t->workers; w++)
        d->quiet[w] = !group_leads(&d->group, w);
    while (d->n_met < d->group.n) {
        struct note note;
        int worker =
            exchange_hear(d->exchange, servers_turn(t, &d->turn, d->quiet), &note, sizeof note);

        on_note[note.kind](t, worker, &note);
        watchdog_feed(t->at.step + 1);
    }
    exchange_settle(d->exchange);
    t->at.batch = d->granted;
    d->now.pushed += d->announced;
    d->now.applied += d->applied;
}

/* --- a worker --- */

static void tell_servers(const struct trainer *t, const struct note *note)
{
    const struct downpour *d = t->own;

    for (int s = 0; s < t->placement.servers; s++)
        exchange_tell(d->exchange, t->placement.first + s, note, sizeof *note);
}

static void compute(struct trainer *t, struct downpour *d, const struct position *at)
{
    struct note note = {.kind = NOTE_PUSH, .idle = d->idle};

    batcher_seek(t->batches, at->epoch, at->batch);
    note.batch = group_compute(&d->group, t);
    if (!group_leads(&d->group, comm_rank(t->comm)))
        return;
    tell_servers(t, &note);
    exchange_push(d->exchange, d->group.slabs);
    d->pushed++;
    d->idle = 0;
}

/* A group's first rank: the clock's answer to its ask. */
static struct answer ask_clock(const struct trainer *t, const struct downpour *d)
{
    const struct note ask = {.kind = NOTE_ASK, .orders = t->wish};
    struct answer a;

    exchange_tell(d->exchange, t->placement.first, &ask, sizeof ask);
    exchange_hear(d->exchange, t->placement.first, &a, sizeof a);
    return a;
}

/* A batch, if the clock has one: false: it is time to meet. */
static bool work(struct trainer *t, struct downpour *d)
{
    const bool leads = group_leads(&d->group, comm_rank(t->comm));
    struct answer a = leads ? ask_clock(t, d) : (struct answer){0};

    group_tell(&d->group, &a, sizeof a);
    d->idle += a.idle;
    if (a.meet) {
        if (leads)
            tell_servers(t,
                         &(struct note){.kind = NOTE_MEET, .pushed = d->pushed, .idle = d->idle});
        d->pushed = d->idle = 0;
        return false;
    }
    t->at.step = a.at.step;
    t->at.epoch_totals = a.at.epoch_totals;
    if (leads) {
        tell_servers(t, &(struct note){.kind = NOTE_PULL});
        exchange_pull(d->exchange, t->model.weights);
    }
    group_tell(&d->group, t->model.weights, t->model.n_floats * sizeof *t->model.weights);
    compute(t, d, &a.at);
    return true;
}

/* --- both --- */

/* Everybody learns what the clock knows. */
static int meet(struct trainer *t, struct downpour *d, struct err *err)
{
    bool lost = d->applied != d->announced;

    if (servers_is_clock(t))
        d->now.at = t->at;
    servers_count_transfers(t, d->exchange, &d->now.transfers);
    comm_broadcast(t->comm, &d->now, sizeof d->now, t->workers);
    t->at = d->now.at;
    t->orders = d->now.orders;
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

    if (t->together)
        t->began = t->at;
    t->together = servers_is_one(t) || !work(t, d);
    if (servers_is_one(t))
        serve(t, d);
    if (t->together)
        rc = meet(t, d, err);
    phases_leave(&t->phases, was);
    return rc;
}

static void add_histogram(cJSON *e, const char *name, const struct histogram *h)
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
