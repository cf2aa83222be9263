#include "operator/controller/accepted_templates.h"

#include "operator/controller/job_state.h"
#include "paceline/buf.h"
#include "paceline/mem.h"

#define KNOWN_MS 60000

static uint64_t templates_hash_of(const struct tj *tj, enum cluster_role role)
{
    const struct job_role *r = &tj->job->replicas[role];
    AUTO(buf_release) struct buf text;

    buf_init(&text, 0);
    buf_printf(&text, "%s\n%d %d %d\n%s\n%s\n%s\n%s\n%s\n%s", tj->meta.namespace_, (int)role,
               (int)r->restart, (int)tj->job->scheduling.gang, r->template_ ? r->template_ : "",
               tj->job->scheduling.scheduler ? tj->job->scheduling.scheduler : "",
               tj->job->scheduling.priority_class ? tj->job->scheduling.priority_class : "",
               tj->job->scheduling.queue ? tj->job->scheduling.queue : "",
               tj->job->labels ? tj->job->labels : "",
               tj->job->annotations ? tj->job->annotations : "");
    return hash_text(text.data);
}

bool accepted_templates_known(const struct accepted_templates *t, const struct tj *tj,
                              enum cluster_role role, int64_t mono_ms)
{
    uint64_t hash = tj->stripped ? 0 : templates_hash_of(tj, role);

    if (tj->stripped) /* nothing is left to tell it from others */
        return false;
    for (int i = 0; i < N_TEMPLATES; i++)
        if (t->known[i].hash == hash && mono_ms < t->known[i].until_mono_ms)
            return true;
    return false;
}

void accepted_templates_note(struct accepted_templates *t, const struct tj *tj,
                             enum cluster_role role, int64_t mono_ms)
{
    if (tj->stripped)
        return;
    t->known[t->next].hash = templates_hash_of(tj, role);
    t->known[t->next].until_mono_ms = mono_ms + KNOWN_MS;
    t->next = (t->next + 1) % N_TEMPLATES;
}
