/*
 * Bounded staleness: decides which worker may begin another batch, from how far each worker is and
 * how long it takes. Pure: the clock is an argument.
 *
 * SSP (Ho et al. 2013): a worker that is more than `low` batches ahead of the slowest waits until
 * it no longer is. DSSP (Zhao et al. 2019, arXiv 1908.11848): when the fastest worker would have to
 * wait, it gets a credit of as many batches as bring one of its pushes closest to one of the
 * slowest worker's. So it waits where that costs least. With low = high there is no credit, and
 * DSSP is SSP.
 */
#ifndef PACELINE_STALENESS_H
#define PACELINE_STALENESS_H

#include <stdbool.h>
#include <stdint.h>

/* A worker's pace. */
struct runner {
    int64_t done;   /* batches */
    double began;   /* when the batch under way, or the next one, began */
    bool timed;     /* took is known */
    double took;    /* seconds of the last batch, without waiting */
    int64_t credit; /* batches that it may begin whatever its lead */
    bool waits;     /* it waits to begin a batch */
};

struct staleness {
    struct runner *runners;
    int n;
    int64_t low, high;
};

/* No worker begins a batch more than `high` batches ahead; 0 <= low <= high. */
void staleness_init(struct staleness *p, int workers, int64_t low, int64_t high);
void staleness_release(struct staleness *p);
/* Call when all workers have met: nobody waits any more, and earlier times are forgotten. */
void staleness_restart(struct staleness *p);

/* How many batches the worker is ahead of the slowest. */
int64_t staleness_lead(const struct staleness *p, int worker);
/* Begins a batch of the worker if it may; returns whether it did. Otherwise the worker waits: call
 * this again after each push. */
bool staleness_begin(struct staleness *p, int worker, double now);
/* The worker's gradient has arrived. */
void staleness_push(struct staleness *p, int worker, double now);
/* The worker's share has no samples for this many turns; they count as done batches. */
void staleness_skip(struct staleness *p, int worker, uint32_t turns);
/* The worker stops waiting, because no batch is left. */
void staleness_leave(struct staleness *p, int worker);

#endif
