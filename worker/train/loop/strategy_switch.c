#include "worker/train/loop/strategy_switch.h"

#include "worker/train/telemetry/events.h"

static const struct job_switch *change_of(const struct trainer *t)
{
    return &t->job->strategy.change;
}

/* The optimiser's share of the last update, in the epoch that begins. */
static void set_momentum(struct trainer *t)
{
    if (!t->at.switched.step)
        return;
    t->optimizer.config.momentum =
        t->job->training.optimizer.momentum *
        switch_momentum(change_of(t), t->at.epoch - t->at.switched.epoch);
}

/* Scales the optimiser's velocity, which remembers earlier updates. */
static void scale_velocity(struct trainer *t, float factor)
{
    float *velocity = optimizer_velocity(&t->optimizer);

    for (size_t i = 0; velocity && i < t->optimizer.n_floats; i++)
        velocity[i] = factor == 0 ? 0 : velocity[i] * factor;
}

static void add_switch(const struct trainer *t, cJSON *e)
{
    cJSON_AddNumberToObject(e, "epoch", (double)t->at.switched.epoch);
    cJSON_AddNumberToObject(e, "step", (double)t->at.switched.step);
    cJSON_AddStringToObject(e, "reason", switch_reason_name(t->at.switched.reason));
}

static void strategy_switch_send(struct trainer *t, enum switch_reason reason)
{
    const double start = trainer_seconds();
    const struct job_switch *s = change_of(t);
    cJSON *e = event_new("switch");

    t->at.switched = (struct switched){t->at.step, t->at.epoch, reason};
    add_switch(t, e);
    if (t->strategy->report)
        t->strategy->report(t, e);
    if (s->momentum == MOMENTUM_RESET || s->momentum == MOMENTUM_SCALE)
        scale_velocity(t, s->momentum == MOMENTUM_SCALE ? (float)s->factor : 0);
    if (s->how == HOW_RELAUNCH) {
        t->orders |= ORDER_STOP; /* whoever resumes enters the other */
        cJSON_AddTrueToObject(e, "relaunch");
    } else {
        trainer_enter(t, t->strategies[1]);
        cJSON_AddNumberToObject(e, "seconds", trainer_seconds() - start);
    }
    if (comm_rank(t->comm) == 0)
        event_send(e);
    else
        cJSON_Delete(e);
}

/* All ranks have just ended an epoch, or have not begun the first. */
static void consider(struct trainer *t)
{
    const double epochs = (double)t->steps / trainer_updates_per_epoch(t);
    enum switch_reason reason = switch_due(change_of(t), epochs, t->at.epoch, &t->at.losses);

    if (!t->at.switched.step && reason != SWITCH_NOT)
        strategy_switch_send(t, reason);
}

void strategy_switch_end_epoch(struct trainer *t, double loss)
{
    const struct job_switch *s = change_of(t);

    if (!t->strategies[1])
        return;
    if (s->when == WHEN_PLATEAU)
        losses_add(&t->at.losses, (int)s->window, loss);
    consider(t);
    set_momentum(t);
}

void strategy_switch_begin(struct trainer *t)
{
    if (!t->strategies[1] || t->at.batch != 0)
        return;
    consider(t);
    set_momentum(t);
}

void strategy_switch_resume(struct trainer *t)
{
    if (!t->strategies[1] || !t->at.switched.step)
        return;
    trainer_enter(t, t->strategies[1]);
    set_momentum(t);
}

void strategy_switch_report(const struct trainer *t, cJSON *event)
{
    cJSON *s = t->strategies[1] ? cJSON_AddObjectToObject(event, "switch") : NULL;

    if (!s)
        return;
    cJSON_AddBoolToObject(s, "fired", t->at.switched.step > 0);
    if (t->at.switched.step)
        add_switch(t, s);
}
