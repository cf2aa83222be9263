#include "operator/controller/place.h"

#include <string.h>

#include "operator/controller/step.h"

#define REVIEW_MS 1000

static bool same_namespace(const struct run *a, const struct run *b)
{
    size_t n = strcspn(a->key, "/") + 1;

    return strncmp(a->key, b->key, n) == 0;
}

struct holders {
    const struct run *of[MAX_WHOLE_JOBS];
    int n;
};

static bool has_its_half(const struct holders *holders, const struct run *run)
{
    int held = 0;

    for (int i = 0; i < holders->n; i++)
        held += same_namespace(holders->of[i], run);
    return held >= MAX_WHOLE_JOBS / 2;
}

/* The plan whose turn it is: the oldest of a namespace below its half, else the oldest; or NULL. */
static struct run *next_waiting(const struct controller *c)
{
    struct holders holders = {0};
    struct run *best = NULL;
    bool best_late = false;

    for (const struct run *run = c->runs; run; run = run->next)
        if (run->holds_place)
            holders.of[holders.n++] = run;
    for (struct run *run = c->runs; run; run = run->next) {
        bool late = run->waits && has_its_half(&holders, run);

        if (!run->waits || (best && late > best_late))
            continue;
        if (!best || late < best_late || run->turn < best->turn) {
            best = run;
            best_late = late;
        }
    }
    return best;
}

/* The memory of the run's job, or NULL if another job has its name by now. */
static struct memory *memory_of(const struct run *run)
{
    struct memory *m = memories_find(run->c->memories, run->key);

    return m && strcmp(m->uid, run->uid) == 0 ? m : NULL;
}

static void stop_waiting(struct run *run)
{
    run->c->n_waiting -= run->waits;
    run->waits = false;
}

static void fill(struct controller *c)
{
    while (c->n_waiting && c->n_whole_jobs < MAX_WHOLE_JOBS) {
        struct run *run = next_waiting(c);
        struct memory *m = memory_of(run);

        stop_waiting(run);
        if (m)
            m->turn = 0;
        run->holds_place = true;
        c->n_whole_jobs++;
        outbox_wake(&c->outbox, &run->source);
    }
}

bool place_take(struct run *run)
{
    struct controller *c = run->c;
    struct memory *m = memory_of(run);

    if (run->holds_place || run->waits)
        return run->holds_place;
    run->turn = m && m->turn ? m->turn : ++c->last_turn;
    if (m)
        m->turn = run->turn;
    run->waits = true;
    c->n_waiting++;
    fill(c);
    return run->holds_place;
}

void place_give_back(struct run *run)
{
    stop_waiting(run);
    if (!run->holds_place)
        return;
    for (int i = 0; i < N_CLUSTER_ROLES; i++) {
        pod_maker_free(run->makers[i]);
        run->makers[i] = NULL;
    }
    tj_free(run->whole);
    run->whole = NULL;
    run->holds_place = false;
    run->c->n_whole_jobs--;
    fill(run->c);
}

bool place_is_used_up(const struct run *run)
{
    return run->holds_place && run->n_made >= PLACE_REQUESTS && run->c->n_waiting;
}

void place_step(struct controller *c)
{
    if (!c->n_waiting || c->now.mono_ms < c->review_mono_ms)
        return;
    c->review_mono_ms = c->now.mono_ms + REVIEW_MS;
    for (struct run *run = c->runs; run; run = run->next)
        if (run->waits && workqueue_wanted(c->queue, run->key)) {
            stop_waiting(run);
            run->give_up = run->conflicted = true;
            outbox_wake(&c->outbox, &run->source);
        }
}

int64_t place_next_ms(const struct controller *c)
{
    if (!c->n_waiting)
        return -1;
    return c->review_mono_ms > c->now.mono_ms ? c->review_mono_ms - c->now.mono_ms : 0;
}
