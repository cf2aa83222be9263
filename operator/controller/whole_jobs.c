#include "operator/controller/whole_jobs.h"

#include <string.h>

#include "operator/controller/action.h"

#define REVIEW_MS 1000

static bool same_namespace(const struct executor *a, const struct executor *b)
{
    size_t n = strcspn(a->key, "/") + 1;

    return strncmp(a->key, b->key, n) == 0;
}

struct holders {
    const struct executor *of[MAX_WHOLE_JOBS];
    int n;
};

static bool has_its_half(const struct holders *holders, const struct executor *ex)
{
    int held = 0;

    for (int i = 0; i < holders->n; i++)
        held += same_namespace(holders->of[i], ex);
    return held >= MAX_WHOLE_JOBS / 2;
}

/* The plan whose turn it is: the oldest of a namespace below its half, else the oldest; or NULL. */
static struct executor *next_waiting(const struct controller *c)
{
    struct holders holders = {0};
    struct executor *best = NULL;
    bool best_late = false;

    for (const struct executor *ex = c->executors; ex; ex = ex->next)
        if (ex->holds_place)
            holders.of[holders.n++] = ex;
    for (struct executor *ex = c->executors; ex; ex = ex->next) {
        bool late = ex->waits && has_its_half(&holders, ex);

        if (!ex->waits || (best && late > best_late))
            continue;
        if (!best || late < best_late || ex->turn < best->turn) {
            best = ex;
            best_late = late;
        }
    }
    return best;
}

/* The state of the executor's job, or NULL if another job has its name by now. */
static struct job_state *job_state_of(const struct executor *ex)
{
    struct job_state *m = job_states_find(ex->c->job_states, ex->key);

    return m && strcmp(m->uid, ex->uid) == 0 ? m : NULL;
}

static void stop_waiting(struct executor *ex)
{
    ex->c->n_waiting -= ex->waits;
    ex->waits = false;
}

static void place_fill(struct controller *c)
{
    while (c->n_waiting && c->n_whole_jobs < MAX_WHOLE_JOBS) {
        struct executor *ex = next_waiting(c);
        struct job_state *m = job_state_of(ex);

        stop_waiting(ex);
        if (m)
            m->turn = 0;
        ex->holds_place = true;
        c->n_whole_jobs++;
        dispatcher_wake(&c->dispatcher, &ex->source);
    }
}

bool whole_jobs_take(struct executor *ex)
{
    struct controller *c = ex->c;
    struct job_state *m = job_state_of(ex);

    if (ex->holds_place || ex->waits)
        return ex->holds_place;
    ex->turn = m && m->turn ? m->turn : ++c->last_turn;
    if (m)
        m->turn = ex->turn;
    ex->waits = true;
    c->n_waiting++;
    place_fill(c);
    return ex->holds_place;
}

void whole_jobs_give_back(struct executor *ex)
{
    stop_waiting(ex);
    if (!ex->holds_place)
        return;
    for (int i = 0; i < N_CLUSTER_ROLES; i++) {
        pod_maker_free(ex->makers[i]);
        ex->makers[i] = NULL;
    }
    tj_free(ex->whole);
    ex->whole = NULL;
    ex->holds_place = false;
    ex->c->n_whole_jobs--;
    place_fill(ex->c);
}

bool whole_jobs_is_used_up(const struct executor *ex)
{
    return ex->holds_place && ex->n_made >= PLACE_REQUESTS && ex->c->n_waiting;
}

void whole_jobs_step(struct controller *c)
{
    if (!c->n_waiting || c->now.mono_ms < c->review_mono_ms)
        return;
    c->review_mono_ms = c->now.mono_ms + REVIEW_MS;
    for (struct executor *ex = c->executors; ex; ex = ex->next)
        if (ex->waits && workqueue_wanted(c->queue, ex->key)) {
            stop_waiting(ex);
            ex->give_up = ex->conflicted = true;
            dispatcher_wake(&c->dispatcher, &ex->source);
        }
}

int64_t whole_jobs_next_ms(const struct controller *c)
{
    if (!c->n_waiting)
        return -1;
    return c->review_mono_ms > c->now.mono_ms ? c->review_mono_ms - c->now.mono_ms : 0;
}
