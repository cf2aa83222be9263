#include "operator/controller/recorder.h"

#include "operator/controller/requests.h"
#include "operator/controller/state.h"
#include "paceline/log.h"
#include "paceline/mem.h"

#define MAX_WAITING 2000
#define AGAIN_MS 10000 /* a look for an event that was not taken, when no other is due */

struct waiting {
    struct recorder *r;
    char *job_key, *event_key, *story; /* the last for the log */
};

void recorder_init(struct recorder *r, struct controller *c) { *r = (struct recorder){.c = c}; }

/* A refused event is forgotten, so that the job's next look sends it again; one that exists is
 * there from before a restart. */
static void recorder_on_answer(void *arg, enum answer answer, const cJSON *body,
                               const char *message)
{
    struct waiting *w = arg;
    struct controller *c = w->r->c;
    struct job_state *m = job_states_find(c->job_states, w->job_key);

    (void)body;
    w->r->n_waiting--;
    if (answer == ANSWER_OK)
        log_info("%s job=%s", w->story, w->job_key);
    if (answer != ANSWER_OK && answer != ANSWER_EXISTS && answer != ANSWER_INVALID) {
        log_debug("event not written job=%s: %s", w->job_key, message);
        if (m) {
            job_state_event_forget(m, w->event_key);
            workqueue_add_at(c->queue, w->job_key, c->now.mono_ms + AGAIN_MS);
        }
    }
    free(w->job_key);
    free(w->event_key);
    free(w->story);
    free(w);
}

static void record(struct recorder *r, const struct tj *tj, struct job_state *m,
                   const struct job_event *e)
{
    struct controller *c = r->c;
    struct waiting *w;
    struct buf body;

    if (job_state_event_known(m, e->key))
        return;
    if (r->n_waiting >= MAX_WAITING || !limit_take(&m->event_limit, c->now.mono_ms)) {
        workqueue_add_at(c->queue, m->key, c->now.mono_ms + AGAIN_MS);
        return;
    }
    job_state_event_keep(m, e->key);
    buf_init(&body, 0);
    event_body(tj, e, MANAGED_BY, c->now.wall_ms, &body);
    w = xcalloc(1, sizeof *w);
    *w = (struct waiting){.r = r,
                          .job_key = xstrdup(m->key),
                          .event_key = xstrdup(e->key),
                          .story = xasprintf("%s: %s", e->reason, e->message)};
    r->n_waiting++;
    dispatcher_add_last(&c->dispatcher, request_create_event(tj->meta.namespace_, &body),
                        recorder_on_answer, w);
}

void recorder_take(struct recorder *r, const struct tj *tj, struct job_state *m,
                   const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_events; i++)
        record(r, tj, m, &plan->events[i]);
}
