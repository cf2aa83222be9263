#include "worker/train/switch_point.h"

#include <math.h>
#include <string.h>

void losses_add(struct losses *l, int window, double loss)
{
    const int keep = l->n < window ? l->n : window - 1;

    memmove(l->of_epoch, l->of_epoch + l->n - keep, (size_t)keep * sizeof *l->of_epoch);
    l->of_epoch[keep] = loss;
    l->n = keep + 1;
}

double losses_change(const struct losses *l, int window)
{
    double sum = 0;

    if (l->n < window)
        return NAN;
    for (int i = 1; i < window; i++) {
        double before = l->of_epoch[i - 1], change = fabs(l->of_epoch[i] - before);

        sum += change == 0 ? 0 : change / before;
    }
    return sum / (window - 1);
}

const char *switch_reason_name(enum switch_reason reason)
{
    static const char *const names[] = {[SWITCH_NOT] = "none",
                                        [SWITCH_FRACTION] = "fraction",
                                        [SWITCH_EPOCH] = "epoch",
                                        [SWITCH_PLATEAU] = "plateau",
                                        [SWITCH_FALLBACK] = "fallback"};

    return names[reason];
}

/* The epoch after which a fraction of them is done. */
static double epoch_of(double fraction, double epochs)
{
    double last = ceil(epochs) - 1;

    return fmin(fmax(round(fraction * epochs), 1), last);
}

enum switch_reason switch_due(const struct job_switch *s, double epochs, int64_t epoch,
                              const struct losses *l)
{
    const double done = (double)epoch;

    if (done >= epochs)
        return SWITCH_NOT;
    switch (s->when) {
    case WHEN_EPOCH:
        return epoch >= s->epoch ? SWITCH_EPOCH : SWITCH_NOT;
    case WHEN_FRACTION:
        return done >= epoch_of(s->fraction, epochs) ? SWITCH_FRACTION : SWITCH_NOT;
    case WHEN_PLATEAU:
        if (losses_change(l, (int)s->window) <= s->threshold)
            return SWITCH_PLATEAU;
        return done >= epoch_of(s->fraction, epochs) ? SWITCH_FALLBACK : SWITCH_NOT;
    }
    return SWITCH_NOT;
}

double switch_momentum(const struct job_switch *s, int64_t since)
{
    if (s->momentum != MOMENTUM_RAMP || since >= s->ramp_epochs)
        return 1;
    return s->factor + (1 - s->factor) * (double)since / (double)s->ramp_epochs;
}
