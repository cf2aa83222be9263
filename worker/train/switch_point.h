/*
 * StrategySwitch: decides after which epoch the second strategy takes over, and which momentum is
 * used from then on. Pure.
 *
 * plateau: with the mean losses L_0 .. L_(w-1) of the last w epochs, w being the window,
 *     s = 1/(w-1) * sum over i from 1 of |L_i - L_(i-1)| / L_(i-1)
 * and the switch comes when s <= threshold. By Provatas et al., IEEE Access 13, 2025, who switch
 * when the model is stable; window 6 and 0.01 are known at second hand only.
 */
#ifndef PACELINE_SWITCH_POINT_H
#define PACELINE_SWITCH_POINT_H

#include <stdint.h>

#include "paceline/spec.h"

#define LOSSES_MAX 16 /* the largest window */

/* The newest is the last; all zero: none yet. */
struct losses {
    double of_epoch[LOSSES_MAX];
    int n;
};

/* Keeps at most `window` of them. */
void losses_add(struct losses *l, int window, double loss);
/* s; NaN until the window is full. A loss that stays zero counts as no change. */
double losses_change(const struct losses *l, int window);

enum switch_reason { SWITCH_NOT, SWITCH_FRACTION, SWITCH_EPOCH, SWITCH_PLATEAU, SWITCH_FALLBACK };
const char *switch_reason_name(enum switch_reason reason);

/* Whether to switch after epoch `epoch`, and why. epochs is the number of all epochs, and may be
 * fractional. A fraction in the job is rounded to an epoch and leaves each strategy at least one.
 * With fewer than two epochs there is no switch. */
enum switch_reason switch_due(const struct job_switch *s, double epochs, int64_t epoch,
                              const struct losses *l);

/* The factor of the momentum in an epoch that begins `since` epochs after the switch. */
double switch_momentum(const struct job_switch *s, int64_t since);

#endif
