#include "operator/reconcile/reconcile.h"

#include "operator/reconcile/look.h"

/* The garbage collector deletes the pods of a job that goes; ours is only to let them. */
static void release_pods(struct look *l)
{
    for (size_t i = 0; i < l->n_pods; i++)
        if (l->pods[i]->tracked && (l->pods[i]->meta.deletion_ms || pod_finished(l->pods[i])))
            plan_add(l->plan, ACTION_RELEASE_POD)->pod = l->pods[i];
}

/* The job cannot be read: one that has not begun fails, one that runs is left alone (false). */
static bool reject(struct look *l)
{
    char key[64];

    if (!l->job && !l->next.world.generation) {
        terminate(l, COND_FAILED, "InvalidSpec", "%s", l->tj->problem);
        return true;
    }
    snprintf(key, sizeof key, "problem-%lld", (long long)l->tj->meta.generation);
    plan_event(l->plan, true, key, l->job ? "DamagedStatus" : "InvalidSpec",
               "%s; the job is left as it is until this is repaired", l->tj->problem);
    return false;
}

/* Whether a condition came, went or flipped. */
static bool flips(const struct look *l)
{
    const struct condition *old = l->tj->status.conditions, *next = l->next.conditions;

    for (int i = 0; i < N_CONDITIONS; i++)
        if (old[i].present != next[i].present || old[i].status != next[i].status)
            return true;
    return false;
}

/* The chief's pod ends in a moment, and with it what its agent knows. */
static bool is_last_word(const struct look *l) { return l->o->run && l->o->run->phase == RUN_DONE; }

/* Writes a changed status: at once what actions depend on, the rest now and then. */
static void publish(struct look *l)
{
    int64_t written_ms = l->o->status_written_ms;
    bool durable = look_changed(l);
    struct tj_status *copy;

    describe(l);
    if (!durable && (l->plan->n_actions || status_equal(&l->tj->status, &l->next)))
        return;
    /* A last write that lies ahead was before the wall clock went back. */
    if (!durable && !flips(l) && !is_last_word(l) && written_ms <= l->now &&
        l->now < written_ms + STATUS_INTERVAL_MS) {
        plan_requeue(l->plan, written_ms + STATUS_INTERVAL_MS);
        return;
    }
    copy = arena_alloc(&l->plan->arena, sizeof *copy);
    status_copy(copy, &l->next, &l->plan->arena);
    l->plan->status = copy;
    l->plan->urgent = durable;
}

/* Rules 3 to 7: what has become of the job. */
static void decide(struct look *l)
{
    rule_completed(l);
    rule_success(l);
    rule_deadline(l);
    if (!status_terminal(&l->next))
        rule_failures(l);
    if (!look_changed(l))
        rule_suspend(l);
    if (!look_changed(l))
        rule_world(l);
    if (!look_changed(l))
        rule_places(l);
    if (!look_changed(l))
        rule_generation(l);
}

void reconcile(const struct observed *o, int64_t now_ms, struct plan *plan)
{
    struct look l;

    if (!tj_is_ours(o->tj))
        return;
    look_init(&l, o, now_ms, plan);
    if (o->tj->meta.deletion_ms) {
        release_pods(&l);
        return;
    }
    if (o->tj->unread)
        return;
    story_tell(&l);
    if (status_terminal(&l.next)) {
        l.spec_applied = true;
        rule_finish(&l);
    } else if (o->tj->problem) {
        if (!reject(&l))
            return;
    } else {
        decide(&l);
        l.spec_applied = !look_changed(&l);
        if (l.spec_applied && l.next.world.generation) {
            rule_pods(&l);
            rule_run(&l);
            rule_waits(&l);
        }
    }
    publish(&l);
}
