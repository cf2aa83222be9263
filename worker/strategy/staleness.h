/*
 * How far each worker is and how long it takes, and so who may begin another batch. Pure: the clock
 * is an argument.
 *
 * SSP (Ho et al. 2013): a worker that is more than `low` batches ahead of the slowest waits until
 * it no longer is. DSSP (Zhao et al. 2019, arXiv 1908.11848): the fastest one, where it would have
 * to wait, is let go on for as many batches as bring one of its pushes nearest to one of the
 * slowest worker's, so that it waits where that costs least. With low = high there is no such
 * credit, and DSSP is SSP.
 */
#ifndef PACELINE_STALENESS_H
#define PACELINE_STALENESS_H

#include <stdbool.h>
#include <stdint.h>

/* A worker's pace. */
struct runner {
    int64_t done;   /* batches */
    double began;   /* the one that is under way, or to come */
    bool timed;     /* took is known */
    double took;    /* for the last one; waiting apart */
    int64_t credit; /* batches that it may begin whatever its lead is */
    bool waits;     /* to begin one */
};

struct staleness {
    struct runner *runners;
    int n;
    int64_t low, high;
};

/* No worker begins a batch more than `high` batches ahead; 0 <= low <= high. */
void staleness_init(struct staleness *p, int workers, int64_t low, int64_t high);
void staleness_release(struct staleness *p);
/* All have met: nobody waits, and the times of before say nothing of what comes. */
void staleness_restart(struct staleness *p);

/* Batches that the worker is ahead of the slowest. */
int64_t staleness_lead(const struct staleness *p, int worker);
/* Whether the worker may begin a batch, which it then does; else it waits, and is to be asked about
 * again after each push. */
bool staleness_begin(struct staleness *p, int worker, double now);
/* Its gradient is there. */
void staleness_push(struct staleness *p, int worker, double now);
/* Its share has nothing for so many turns: they count as batches, for those who compare. */
void staleness_skip(struct staleness *p, int worker, uint32_t turns);
/* It does not wait any more: there is no batch left. */
void staleness_leave(struct staleness *p, int worker);

#endif
