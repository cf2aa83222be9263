/* Condition Durable of built-in jobs: whether checkpoints and the model outlive the pods. */
#include "operator/reconcile/look.h"

/* What the chief says counts; until it says something, what was known stays. */
static void describe_volume(struct look *l)
{
    const struct run_report *r = launch_report(l);

    if (r && *r->copy_error)
        condition_set(l, COND_DURABLE, false, DURABLE_FAILED,
                      "the checkpoint of step %lld is in memory only: %s", (long long)r->copy_step,
                      r->copy_error);
    else if (r || !l->next.conditions[COND_DURABLE].present)
        condition_set(l, COND_DURABLE, true, "Volume",
                      "the checkpoints that spec.checkpoint asks for and the model go to folder %s "
                      "of spec.output.volume",
                      l->tj->meta.name);
}

void describe_durable(struct look *l)
{
    if (!l->job || !job_builtin(l->job) || !l->next.world.generation)
        return;
    if (!status_terminal(&l->next)) {
        if (l->job->output.volume)
            describe_volume(l);
        else
            condition_set(l, COND_DURABLE, false, "NoVolume", "%s", DURABLE_NONE);
    } else if (status_is(&l->next, COND_SUCCEEDED) && !l->job->output.volume) {
        condition_set(l, COND_DURABLE, false, "ModelInMemory",
                      "the model is in the memory of worker 0's pod until it is fetched, at most "
                      "for %lld s: `kubectl paceline get-model -n %s %s`",
                      (long long)job_keep_seconds(l->job), l->tj->meta.namespace_,
                      l->tj->meta.name);
    }
}
