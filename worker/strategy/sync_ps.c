/*
 * ParameterServer, sync, with backup workers (Chen et al. 2016, arXiv 1604.00981): more gradients
 * of an update are begun than it has, and the last ones are dropped, so nobody waits for who is
 * slow. An update is the mean of the first m = training.accumulate gradients of the weights before
 * it, each of a whole batch; m + backupWorkers are begun by as many workers. A worker begins a
 * second one only where fewer than m are under way: others are not there, or still late.
 *
 * A worker asks the first server, the clock, for a batch, pulls the weights from all servers,
 * computes, and offers the gradient to the clock; only if it counts, it is pushed. So all servers
 * sum the same gradients, and a dropped one is not even sent. Its batch is dealt again: in an epoch
 * every batch counts once. (A run that is resumed amid an epoch does not know which ones came back;
 * it begins after as many as have counted.) The last update of an epoch may have to wait: nothing
 * else is left to do.
 *
 * Without backup workers every gradient counts. That is the synchronous server of study 003, whose
 * two schedules strategy.schedule forces: whole gradients and weights, of one worker at a time or
 * of all at once. Gradients are then summed in the tree of the update's batches, so the bytes are
 * those of one worker.
 */
#include <math.h>

#include "paceline/mem.h"
#include "worker/comm/ps_transport.h"
#include "worker/strategy/accumulator.h"
#include "worker/strategy/batch_queue.h"
#include "worker/strategy/servers.h"
#include "worker/strategy/strategies.h"
#include "worker/train/step.h"
#include "worker/train/telemetry/watchdog.h"

enum sync_note_kind { NOTE_ASK, NOTE_PULL, NOTE_OFFER, NOTE_PUSH, NOTE_MEET, N_NOTES };

/* A worker's, to a server. */
struct sync_note {
    enum sync_note_kind kind;
    int orders;              /* ask: rank 0's */
    int64_t version;         /* pull, offer: updates that the weights have */
    uint32_t place;          /* offer, push: of the batch in the update */
    struct totals batch;     /* offer */
    int64_t offered, pushed; /* meet: since the last meeting */
};

/* The clock's to an ask: meet, or a batch; to an offer: whether it counts. */
struct sync_answer {
    uint8_t meet, counts;
    uint32_t gradients; /* of the update */
    uint32_t place;     /* of the batch in it */
    struct position at; /* a batch of it, and how far the training is */
};

/* What the clock knows at a meeting, and sends to all ranks. */
struct sync_meeting {
    struct position at; /* now, or when a batch diverged */
    int orders;
    uint8_t diverged;
    double loss; /* of that batch */
    int64_t pushed, applied, dropped;
    struct transfers transfers;
};

/* A server's view of a worker. */
struct sync_client {
    int64_t wants; /* a version of the weights; -1: none */
    int64_t has;   /* the version that it was given since its last push; -1: none */
    /* The clock's. */
    bool waits; /* its ask is not answered yet */
    bool busy;  /* with this batch, for an update of that version */
    uint32_t batch;
    int64_t version;
    int64_t gave; /* the last version for which a gradient of it counts; -1: none */
    bool owes;    /* that gradient has not been pushed yet */
};

struct sync_ps {
    struct ps_transport *transport;
    bool backs_up; /* else every gradient counts, in its place */
    float *slab;   /* a gradient: a worker's own, or the one that a server takes */
    struct sync_meeting now;
    /* A worker's, since the last meeting. */
    int64_t offered, pushed;
    /* A server's. */
    struct sync_client *clients;
    bool *quiet;                        /* workers that will say nothing before they hear */
    float *sum;                         /* of the running update: */
    uint32_t summed;                    /* so many gradients */
    struct accumulator places;          /* the same, where each has its place */
    int *pusher;                        /* of each place: who pushes it; -1: nobody yet */
    int64_t applied, announced, offers; /* since the last meeting; the last two by the workers */
    int n_met;
    /* The clock's. */
    uint32_t counted;         /* of the running update: gradients that it has, or will have */
    struct totals *offers_of; /* and what their batches add up to */
    uint32_t busy;            /* and those that are under way */
    struct batch_queue queue;
    int64_t deck_epoch;
    int64_t dropped;
    size_t turn; /* debug.pushOrder */
};

static void sync_ps_keep_gradient(void *arg, size_t offset, size_t n)
{
    (void)arg, (void)offset, (void)n;
}

static void forget_pushers(const struct trainer *t, const struct sync_ps *b)
{
    for (int64_t i = 0; i < t->job->training.accumulate; i++)
        b->pusher[i] = -1;
}

static void init_sums(struct trainer *t, struct sync_ps *b)
{
    const int batches = (int)t->job->training.accumulate;
    const size_t n = t->model.n_floats;

    b->pusher = xcalloc((size_t)batches, sizeof *b->pusher);
    b->offers_of = xcalloc((size_t)batches, sizeof *b->offers_of);
    if (b->backs_up) {
        b->sum = xaligned(n * sizeof *b->sum);
        t->gradient_floats += n;
        return;
    }
    accumulator_init(&b->places, t->kernels->reduce, lane_tree_of_batches(batches, 1), 0, n);
    t->gradient_floats += n * (size_t)b->places.n_slabs;
}

static void sync_ps_init(struct trainer *t)
{
    const size_t n = t->model.n_floats;
    struct sync_ps *b = t->own = xcalloc(1, sizeof *b);

    b->transport = ps_transport_new(t->comm, &t->placement, t->job->strategy.wait_seconds);
    b->clients = xcalloc((size_t)t->workers, sizeof *b->clients);
    b->quiet = xcalloc((size_t)t->workers, sizeof *b->quiet);
    b->backs_up = t->job->strategy.backup_workers > 0;
    if (t->job->strategy.schedule == COMM_ONE_AT_A_TIME)
        ps_transport_use_semaphore(b->transport);
    b->slab = xaligned(n * sizeof *b->slab);
    t->gradient_floats += n;
    if (servers_is_one(t))
        init_sums(t, b);
    batch_queue_init(&b->queue, t->workers + (int)t->job->strategy.backup_workers);
    b->deck_epoch = -1;
    t->sink.ready = sync_ps_keep_gradient;
    t->sink.blocks[0] = b->slab;
    t->sink.n_blocks = t->lanes.n_blocks;
}

static void sync_ps_release(struct trainer *t)
{
    struct sync_ps *b = t->own;

    ps_transport_free(b->transport);
    batch_queue_release(&b->queue);
    free(b->clients);
    free(b->quiet);
    accumulator_release(&b->places);
    free(b->slab);
    free(b->sum);
    free(b->pusher);
    free(b->offers_of);
    free(b);
}

/* --- a server --- */

/* Gradients of the update that t->at is before; the last one of an epoch may have fewer. */
static uint32_t update_size(const struct trainer *t)
{
    const uint32_t left = trainer_batches_per_epoch(t) - t->at.batch;
    const uint32_t most = (uint32_t)t->job->training.accumulate;

    return left < most ? left : most;
}

/* Between two updates only. */
static bool sync_ps_is_over(const struct trainer *t, const struct sync_ps *b)
{
    return t->at.step >= t->until || (!b->counted && (b->now.orders || b->now.diverged));
}

/* Deals a batch to a worker; with one that counts already only where too few are under way. */
static bool sync_ps_deal(struct trainer *t, struct sync_ps *b, struct sync_client *c)
{
    const int64_t backups = c->gave == t->at.step ? 0 : t->job->strategy.backup_workers;

    if (b->counted + b->busy >= update_size(t) + backups || !batch_queue_deal(&b->queue, &c->batch))
        return false;
    c->busy = true;
    c->version = t->at.step;
    b->busy++;
    return true;
}

/* Answers those asks that may be answered now. */
static void sync_ps_grant(struct trainer *t, struct sync_ps *b)
{
    for (int w = 0; w < t->workers; w++) {
        struct sync_client *c = &b->clients[w];
        struct sync_answer a = {
            .meet = sync_ps_is_over(t, b), .gradients = update_size(t), .at = t->at};

        if (!c->waits || !(a.meet || sync_ps_deal(t, b, c)))
            continue;
        a.at.batch = c->batch;
        a.place = c->batch - t->at.batch;
        c->waits = b->quiet[w] = false;
        ps_transport_tell(b->transport, w, &a, sizeof a);
    }
}

static void give(const struct trainer *t, struct sync_ps *b)
{
    for (int w = 0; w < t->workers; w++) {
        struct sync_client *c = &b->clients[w];

        if (c->wants < 0 || c->wants > t->at.step)
            continue;
        c->wants = -1;
        c->has = t->at.step;
        ps_transport_give(b->transport, w, t->model.weights);
    }
}

static void sync_ps_on_ask(struct trainer *t, int worker, const struct sync_note *note)
{
    struct sync_ps *b = t->own;

    b->now.orders |= trainer_read_orders(t, worker, note->orders);
    b->clients[worker].waits = b->quiet[worker] = true;
    b->turn++;
    sync_ps_grant(t, b);
}

/* A server that lags gives the weights once it has them. */
static void sync_ps_on_pull(struct trainer *t, int worker, const struct sync_note *note)
{
    struct sync_ps *b = t->own;

    b->clients[worker].wants = note->version;
    give(t, b);
}

static void on_offer(struct trainer *t, int worker, const struct sync_note *note)
{
    struct sync_ps *b = t->own;
    struct sync_client *c = &b->clients[worker];
    const bool current = note->version == t->at.step;
    const struct sync_answer a = {.counts = current && b->counted < update_size(t)};

    c->busy = false;
    b->busy -= current;
    if (a.counts) {
        b->offers_of[b->backs_up ? b->counted : note->place] = note->batch;
        b->counted++;
        c->gave = t->at.step;
        c->owes = true;
    } else {
        b->dropped++;
        if (current)
            batch_queue_return(&b->queue, c->batch);
    }
    if (a.counts && !isfinite(note->batch.loss) && !b->now.diverged) {
        b->now.diverged = true;
        b->now.loss = note->batch.loss;
        b->now.at = t->at;
    }
    ps_transport_tell(b->transport, worker, &a, sizeof a);
}

/* Those who are still busy are too late. */
static void drop_late(const struct trainer *t, struct sync_ps *b)
{
    for (int w = 0; w < t->workers; w++)
        if (b->clients[w].busy && b->clients[w].version == t->at.step)
            batch_queue_return(&b->queue, b->clients[w].batch);
    b->counted = b->busy = 0;
}

static void sync_ps_update(struct trainer *t, struct sync_ps *b)
{
    const uint32_t gradients = b->summed;
    struct totals sum = {0};

    for (uint32_t i = 0; i < b->counted; i++)
        step_add(&sum, b->offers_of[i]);
    step_add(&t->at.epoch_totals, sum);
    ps_transport_settle(b->transport);
    optimizer_begin_step(&t->optimizer, t->at.step + 1, trainer_learning_rate(t), 1);
    servers_update(t, b->backs_up ? b->sum : b->places.slabs);
    drop_late(t, b);
    forget_pushers(t, b);
    b->summed = 0;
    t->at.step++;
    t->at.batch += gradients;
    give(t, b);
    sync_ps_grant(t, b);
}

/* The first gradients that come, in that order. */
static void take_next(const struct trainer *t, struct sync_ps *b, int worker)
{
    ps_transport_take(b->transport, worker, b->summed ? b->slab : b->sum);
    if (b->summed++)
        t->kernels->reduce->add(b->sum, b->slab, t->model.n_floats);
}

/* Of those that have been announced, all up to the first place that has not. */
static void take_in_place(const struct trainer *t, struct sync_ps *b)
{
    const uint32_t size = update_size(t);

    for (; b->summed < size && b->pusher[b->summed] >= 0; b->summed++) {
        const int batch = (int)b->summed;

        ps_transport_take(b->transport, b->pusher[batch],
                          accumulator_begin(&b->places, batch, (int)size));
        accumulator_add(&b->places, 0, t->model.n_floats);
    }
}

static void sync_ps_on_push(struct trainer *t, int worker, const struct sync_note *note)
{
    struct sync_ps *b = t->own;

    b->applied++;
    b->clients[worker].has = -1;
    b->clients[worker].owes = false;
    if (b->backs_up) {
        take_next(t, b, worker);
    } else {
        b->pusher[note->place] = worker;
        take_in_place(t, b);
    }
    if (b->summed == update_size(t))
        sync_ps_update(t, b);
}

static void sync_ps_on_meet(struct trainer *t, int worker, const struct sync_note *note)
{
    struct sync_ps *b = t->own;

    b->quiet[worker] = true;
    b->announced += note->pushed;
    b->offers += note->offered;
    b->n_met++;
}

/* The place of the batch that the clock dealt to a worker. */
static uint32_t dealt_place(const struct trainer *t, const struct sync_client *c)
{
    return c->batch - t->at.batch;
}

/* A gradient becomes a part of the running update, so it must be of its weights, and only once.
 * Only the clock knows which offers it has accepted. */
static void check_push(const struct trainer *t, const struct sync_ps *b, int worker,
                       const struct sync_note *note)
{
    const struct sync_client *c = &b->clients[worker];

    if (servers_is_clock(t) && !c->owes)
        comm_refuse(t->comm, worker, "a gradient that the clock did not accept");
    if (c->has != t->at.step)
        comm_refuse(t->comm, worker, "a gradient of weights that it was not given");
    if (b->backs_up)
        return;
    if (servers_is_clock(t) && note->place != dealt_place(t, c))
        comm_refuse(t->comm, worker, "a gradient of place %u; allowed: %u", note->place,
                    dealt_place(t, c));
    if (b->pusher[note->place] >= 0)
        comm_refuse(t->comm, worker, "a gradient of place %u, which rank %d has sent", note->place,
                    b->pusher[note->place]);
}

static void check_offer(const struct trainer *t, const struct sync_ps *b, int worker,
                        const struct sync_note *note)
{
    const struct sync_client *c = &b->clients[worker];

    if (!c->busy)
        comm_refuse(t->comm, worker, "a gradient of a batch that it was not given");
    if (note->version != c->version)
        comm_refuse(t->comm, worker, "a gradient of version %lld; allowed: %lld",
                    (long long)note->version, (long long)c->version);
    if (!b->backs_up && note->place != dealt_place(t, c))
        comm_refuse(t->comm, worker, "a gradient of place %u; allowed: %u", note->place,
                    dealt_place(t, c));
}

/* Checks the indices and counts of a note before they are used. */
static void sync_ps_check_note(const struct trainer *t, const struct sync_ps *b, int worker,
                               const struct sync_note *note)
{
    const int64_t places = t->job->training.accumulate;

    if ((unsigned)note->kind >= N_NOTES)
        comm_refuse(t->comm, worker, "a note of kind %d; allowed: 0 to %d", (int)note->kind,
                    N_NOTES - 1);
    if ((note->kind == NOTE_OFFER || note->kind == NOTE_PUSH) && !b->backs_up &&
        note->place >= places)
        comm_refuse(t->comm, worker, "a gradient of place %u; allowed: 0 to %lld", note->place,
                    (long long)places - 1);
    if (note->kind == NOTE_OFFER)
        check_offer(t, b, worker, note);
    if (note->kind == NOTE_PUSH)
        check_push(t, b, worker, note);
}

static void sync_ps_serve(struct trainer *t, struct sync_ps *b)
{
    static void (*const on_note[])(struct trainer *, int,
                                   const struct sync_note *) = {[NOTE_ASK] = sync_ps_on_ask,
                                                                [NOTE_PULL] = sync_ps_on_pull,
                                                                [NOTE_OFFER] = on_offer,
                                                                [NOTE_PUSH] = sync_ps_on_push,
                                                                [NOTE_MEET] = sync_ps_on_meet};

    b->now.orders = b->n_met = 0;
    b->applied = b->announced = b->offers = b->dropped = 0;
    b->turn = 0;
    for (int w = 0; w < t->workers; w++) {
        b->clients[w] = (struct sync_client){.wants = -1, .has = -1, .gave = -1};
        b->quiet[w] = false;
    }
    if (b->deck_epoch != t->at.epoch)
        batch_queue_fill(&b->queue, t->at.batch, trainer_batches_per_epoch(t));
    b->deck_epoch = t->at.epoch;
    forget_pushers(t, b);
    while (b->n_met < t->workers) {
        struct sync_note note;
        int turn = servers_is_clock(t) ? servers_turn(t, &b->turn, b->quiet) : -1;
        int worker = ps_transport_hear(b->transport, turn, &note, sizeof note);

        sync_ps_check_note(t, b, worker, &note);
        on_note[note.kind](t, worker, &note);
        watchdog_feed(t->at.step + 1);
    }
    ps_transport_settle(b->transport);
    b->now.pushed += b->offers;
    b->now.applied += b->applied;
    b->now.dropped += b->dropped;
}

/* --- a worker --- */

static void sync_ps_tell_servers(const struct trainer *t, const struct sync_note *note)
{
    const struct sync_ps *b = t->own;

    for (int s = 0; s < t->placement.servers; s++)
        ps_transport_tell(b->transport, t->placement.first + s, note, sizeof *note);
}

/* Checks the answer of the clock, and that a batch belongs to an update within the epoch. */
static void check_answer(const struct trainer *t, const struct sync_answer *a, bool is_batch)
{
    const int64_t most = t->job->training.accumulate;

    comm_check_flag(t->comm, t->placement.first, a->meet, "whether to meet");
    comm_check_flag(t->comm, t->placement.first, a->counts, "whether a gradient counts");
    if (!is_batch || a->meet)
        return;
    trainer_check_position(t, t->placement.first, &a->at);
    if (a->gradients > most ||
        (t->job->strategy.backup_workers == 0 && (a->place >= most || a->place > a->at.batch)))
        comm_refuse(t->comm, t->placement.first,
                    "batch %u as place %u of an update of %u gradients; allowed: %lld", a->at.batch,
                    a->place, a->gradients, (long long)most);
}

static struct sync_answer sync_ps_ask_clock(const struct trainer *t, const struct sync_note *note)
{
    const struct sync_ps *b = t->own;
    struct sync_answer a;

    ps_transport_tell(b->transport, t->placement.first, note, sizeof *note);
    ps_transport_hear(b->transport, t->placement.first, &a, sizeof a);
    check_answer(t, &a, note->kind == NOTE_ASK);
    return a;
}

/* Whose mean the update is; with backups nobody knows yet which batches it will have. */
static uint32_t update_samples(const struct trainer *t, const struct sync_ps *b,
                               const struct sync_answer *a, uint32_t own)
{
    return b->backs_up ? own * a->gradients
                       : batcher_samples(t->batches, a->at.batch - a->place, a->gradients);
}

static void sync_ps_compute(struct trainer *t, struct sync_ps *b, const struct sync_answer *a)
{
    struct sync_note note = {.kind = NOTE_OFFER, .version = a->at.step, .place = a->place};

    batcher_seek(t->batches, a->at.epoch, a->at.batch);
    const struct batch *batch = step_batch(t);
    step_forward(t, batch, update_samples(t, b, a, batch->n));
    note.batch = step_fold(t, batch->n, t->lane_values);
    step_backward(t, batch);
    b->offered++;
    if (sync_ps_ask_clock(t, &note).counts) {
        sync_ps_tell_servers(t, &(struct sync_note){.kind = NOTE_PUSH, .place = a->place});
        ps_transport_push(b->transport, b->slab);
        b->pushed++;
    }
}

/* A batch, if the clock has one: false: it is time to meet. */
static bool sync_ps_work(struct trainer *t, struct sync_ps *b)
{
    const struct sync_answer a =
        sync_ps_ask_clock(t, &(struct sync_note){.kind = NOTE_ASK, .orders = t->wish});

    if (a.meet) {
        sync_ps_tell_servers(
            t, &(struct sync_note){.kind = NOTE_MEET, .offered = b->offered, .pushed = b->pushed});
        b->offered = b->pushed = 0;
        return false;
    }
    t->at.step = a.at.step;
    t->at.epoch_totals = a.at.epoch_totals;
    sync_ps_tell_servers(t, &(struct sync_note){.kind = NOTE_PULL, .version = a.at.step});
    ps_transport_pull(b->transport, t->model.weights);
    sync_ps_compute(t, b, &a);
    return true;
}

/* --- both --- */

/* Everybody learns what the clock knows. */
static int sync_ps_meet(struct trainer *t, struct sync_ps *b, struct err *err)
{
    bool lost = b->applied != b->announced;

    if (servers_is_clock(t)) {
        if (!b->now.diverged)
            b->now.at = t->at;
        lost |= b->applied + b->dropped != b->offers;
    }
    servers_count_transfers(t, b->transport, &b->now.transfers);
    comm_broadcast(t->comm, &b->now, sizeof b->now, t->workers);
    trainer_check_position(t, t->workers, &b->now.at);
    t->at = b->now.at;
    t->orders = trainer_read_orders(t, t->workers, b->now.orders);
    comm_check_flag(t->comm, t->workers, b->now.diverged, "whether the loss diverged");
    if (b->now.diverged)
        return step_diverged(t, b->now.loss, err);
    if (comm_max(t->comm, lost))
        return err_set(err, ERR_DAMAGED,
                       "step %lld: servers have applied or dropped more or fewer gradients than "
                       "were computed",
                       (long long)t->at.step);
    return 0;
}

static int sync_ps_step(struct trainer *t, struct err *err)
{
    const enum phase was = phases_enter(&t->phases, PHASE_COMMUNICATION);
    struct sync_ps *b = t->own;
    int rc = 0;

    if (t->together)
        t->began = t->at;
    t->together = servers_is_one(t) || !sync_ps_work(t, b);
    if (servers_is_one(t))
        sync_ps_serve(t, b);
    if (t->together)
        rc = sync_ps_meet(t, b, err);
    phases_leave(&t->phases, was);
    return rc;
}

static void sync_ps_report(const struct trainer *t, cJSON *done)
{
    const struct sync_ps *b = t->own;

    cJSON_AddNumberToObject(done, "pushed", (double)b->now.pushed);
    cJSON_AddNumberToObject(done, "applied", (double)b->now.applied);
    cJSON_AddNumberToObject(done, "dropped", (double)b->now.dropped);
    servers_report_transfers(&b->now.transfers, done);
}

const struct strategy sync_ps = {
    .share = servers_share,
    .takes = servers_takes,
    .draws = true,
    .init = sync_ps_init,
    .release = sync_ps_release,
    .step = sync_ps_step,
    .gather = servers_gather,
    .collect = servers_collect,
    .report = sync_ps_report,
};
