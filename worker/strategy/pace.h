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
#ifndef PACELINE_PACE_H
#define PACELINE_PACE_H

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

struct pace {
    struct runner *runners;
    int n;
    int64_t low, high;
};

/* No worker begins a batch more than `high` batches ahead; 0 <= low <= high. */
void pace_init(struct pace *p, int workers, int64_t low, int64_t high);
void pace_release(struct pace *p);
/* All have met: nobody waits, and the times of before say nothing of what comes. */
void pace_restart(struct pace *p);

/* Batches that the worker is ahead of the slowest. */
int64_t pace_lead(const struct pace *p, int worker);
/* Whether the worker may begin a batch, which it then does; else it waits, and is to be asked about
 * again behind each push. */
bool pace_begin(struct pace *p, int worker, double now);
/* Its gradient is there. */
void pace_push(struct pace *p, int worker, double now);
/* Its share has nothing for so many turns: they count as batches, for those who compare. */
void pace_skip(struct pace *p, int worker, uint32_t turns);
/* It does not wait any more: there is no batch left. */
void pace_leave(struct pace *p, int worker);

#endif
