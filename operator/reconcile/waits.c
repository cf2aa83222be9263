/*
 * Why a pod does not run. Mostly its status says so; not where the kubelet cannot mount a volume or
 * make a sandbox: only events tell of that, so those of the first such pod are asked for.
 */
#include <string.h>

#include "operator/reconcile/look.h"

bool pod_is_mute(const struct pod *p)
{
    return p->phase == POD_PENDING && p->scheduled && !p->begun && !p->reason &&
           !p->meta.deletion_ms;
}

static bool is_asked_about(const struct look *l, const struct pod *p)
{
    return l->o->events.pod && strcmp(l->o->events.pod, p->meta.uid) == 0;
}

bool pod_is_explained(const struct look *l, const struct pod *p)
{
    return p->reason || (pod_is_mute(p) && is_asked_about(l, p));
}

const char *pod_wait(const struct look *l, const struct pod *p)
{
    if (p->reason)
        return arena_printf(&l->plan->arena, "%s%s%s", p->reason, p->message ? ": " : "",
                            p->message ? p->message : "");
    if (!pod_is_explained(l, p))
        return NULL;
    if (l->o->events.sentence)
        return l->o->events.sentence;
    return arena_printf(&l->plan->arena, "node %s has not begun it within %d s", p->node,
                        POD_MUTE_MS / 1000);
}

/* The first pod that is wanted and waits. */
static const struct pod *first_waiting(const struct look *l)
{
    for (size_t i = 0; i < l->n_pods; i++) {
        const struct pod *p = l->pods[i];

        if (p->phase == POD_PENDING && !p->meta.deletion_ms && look_expects(l, p->role, p->index) &&
            p->incarnation == l->roles[p->role].slots[p->index].incarnation)
            return p;
    }
    return NULL;
}

void rule_waits(struct look *l)
{
    const struct pod *p = first_waiting(l);
    int64_t at;

    if (!p || !pod_is_mute(p))
        return;
    at = (p->started_ms ? p->started_ms : p->meta.created_ms) + POD_MUTE_MS;
    if (is_asked_about(l, p) && at < l->o->events.asked_ms + POD_ASK_MS)
        at = l->o->events.asked_ms + POD_ASK_MS;
    if (l->now < at)
        plan_requeue(l->plan, at);
    else
        plan_add(l->plan, ACTION_READ_EVENTS)->pod = p;
}
