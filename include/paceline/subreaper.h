/* Processes that are left to us: this process adopts what its children leave behind. */
#ifndef PACELINE_SUBREAPER_H
#define PACELINE_SUBREAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on orphans of our children become our children (Linux: subreaper). */
void subreaper_adopt(void);

/* Kills and reaps every child, then the children that these leave, until there is none. */
void subreaper_kill(void);

/* The same, but these stay, with what they have started. */
void subreaper_kill_but(const pid_t *keep, size_t n);

/* A look at a process that should end when those that it started have: mpirun, which can wait for
 * itself for ever when a rank is lost while it starts (Open MPI 4.1.4, PMIx 4.2.2). All zero: new.
 */
struct lingering {
    bool had;         /* it has started some */
    int64_t look_ms;  /* the next look is not before */
    int64_t since_ms; /* since when none of them runs; 0: some do */
};
#define LINGER_LOOK_MS 1000
#define LINGER_MS 30000 /* a machine may be slow */

/* Whether no child has run for LINGER_MS, not counting ended ones that it has not waited for. */
bool subreaper_linger(struct lingering *l, pid_t parent, int64_t now_ms);

#endif
