#include "worker/strategy/staleness.h"

#include <math.h>

#include "paceline/mem.h"

void staleness_init(struct staleness *p, int workers, int64_t low, int64_t high)
{
    *p = (struct staleness){.n = workers, .low = low, .high = high};
    p->runners = xcalloc((size_t)workers, sizeof *p->runners);
}

void staleness_release(struct staleness *p) { free(p->runners); }

void staleness_restart(struct staleness *p)
{
    for (int w = 0; w < p->n; w++)
        p->runners[w] = (struct runner){.done = p->runners[w].done};
}

int64_t staleness_lead(const struct staleness *p, int worker)
{
    int64_t least = p->runners[worker].done;

    for (int w = 0; w < p->n; w++)
        least = p->runners[w].done < least ? p->runners[w].done : least;
    return p->runners[worker].done - least;
}

static bool is_fastest(const struct staleness *p, const struct runner *r)
{
    for (int w = 0; w < p->n; w++)
        if (p->runners[w].done > r->done)
            return false;
    return true;
}

/* Of the slowest workers, for all of which the fast one waits, the one that pushes last; NULL:
 * there is one whose pace is not known. */
static const struct runner *find_slowest(const struct staleness *p)
{
    const struct runner *slowest = NULL;

    for (int w = 0; w < p->n; w++) {
        const struct runner *r = &p->runners[w];

        if (staleness_lead(p, w) > 0)
            continue;
        if (!r->timed)
            return NULL;
        if (!slowest || r->began + r->took > slowest->began + slowest->took)
            slowest = r;
    }
    return slowest;
}

/* How far a time is from the nearest of the next pushes, `most` + 1 at most, of a worker that goes
 * on as it did. */
static double staleness_distance(const struct runner *r, int64_t most, double time)
{
    const double first = r->began + r->took;
    double k = r->took > 0 ? round((time - first) / r->took) : 0;

    k = fmin(fmax(k, 0), (double)most);
    return fabs(first + k * r->took - time);
}

/* The paper's synchronisation controller: with both workers' next pushes predicted from their last
 * ones, after how many more batches, `most` at most, waiting is shortest. */
static int64_t choose_credit(const struct staleness *p, const struct runner *r, int64_t most,
                             double now)
{
    const struct runner *slowest = find_slowest(p);
    double least = INFINITY;
    int64_t best = 0;

    for (int64_t i = 0; slowest && r->timed && i <= most; i++) {
        double d = staleness_distance(slowest, most, now + (double)i * r->took);

        if (d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

bool staleness_begin(struct staleness *p, int worker, double now)
{
    struct runner *r = &p->runners[worker];
    const int64_t lead = staleness_lead(p, worker);

    /* Others only catch up, so credit for `high` - lead + 1 batches never leads beyond high. */
    if (lead > p->low && lead <= p->high && !r->credit && !r->waits && is_fastest(p, r))
        r->credit = choose_credit(p, r, p->high - lead + 1, now);
    r->waits = !r->credit && lead > p->low;
    if (r->waits)
        return false;
    r->credit -= r->credit > 0;
    r->began = now;
    return true;
}

void staleness_push(struct staleness *p, int worker, double now)
{
    struct runner *r = &p->runners[worker];

    r->done++;
    r->took = now - r->began;
    r->began = now;
    r->timed = true;
}

void staleness_skip(struct staleness *p, int worker, uint32_t turns)
{
    p->runners[worker].done += turns;
}

void staleness_leave(struct staleness *p, int worker) { p->runners[worker].waits = false; }
