/*
 * StrategySwitch: after which epoch the second strategy takes over, and how much momentum there is
 * from then on. Pure.
 *
 * plateau: with the mean losses L_0 .. L_(w-1) of the last w epochs, w being the window,
 *     s = 1/(w-1) * sum over i from 1 of |L_i - L_(i-1)| / L_(i-1)
 * and the switch comes with s <= threshold. By Provatas et al., IEEE Access 13, 2025, who switch
 * when the model is stable; window 6 and 0.01 are known at second hand only.
 */
#ifndef PACELINE_SWITCH_POINT_H
#define PACELINE_SWITCH_POINT_H

#include <stdint.h>

#include "paceline/spec.h"

#define LOSSES_MAX 16 /* the largest window */

/* The newest last; zeroed: none. */
struct losses {
    double of_epoch[LOSSES_MAX];
    int n;
};

/* Keeps at most `window` of them. */
void losses_add(struct losses *l, int window, double loss);
/* s; NaN until the window is full. No change of a loss of zero counts as none. */
double losses_change(const struct losses *l, int window);

enum switch_reason { SWITCH_NOT, SWITCH_FRACTION, SWITCH_EPOCH, SWITCH_PLATEAU, SWITCH_FALLBACK };
const char *switch_reason_name(enum switch_reason reason);

/* Whether to switch after this many epochs of so many in all, which need not be whole. A fraction
 * is rounded to an epoch, and leaves each strategy at least one; with fewer than two epochs there
 * is no switch. */
enum switch_reason switch_due(const struct job_switch *s, double epochs, int64_t epoch,
                              const struct losses *l);

/* By what the momentum in use is multiplied in the epoch that has so many after the switch. */
double switch_momentum(const struct job_switch *s, int64_t since);

#endif
