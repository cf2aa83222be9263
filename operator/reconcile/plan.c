#include "operator/reconcile/plan.h"

#include <stdarg.h>
#include <string.h>

#include "operator/api/field.h"

#define EVENT_MAX_MESSAGE 1024 /* the API server takes no more */

void plan_release(struct plan *p)
{
    arena_release(&p->arena);
    *p = (struct plan){0};
}

/* The array, with room for one more of n items. */
static void *plan_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    void *grown;

    if (n < *cap)
        return items;
    *cap = n ? 2 * n : 8;
    grown = arena_alloc(a, *cap * size);
    if (n)
        memcpy(grown, items, n * size);
    return grown;
}

struct action *plan_add(struct plan *p, enum action_type type)
{
    struct action *action;

    p->actions =
        plan_grow(&p->arena, p->actions, p->n_actions, &p->cap_actions, sizeof *p->actions);
    action = &p->actions[p->n_actions++];
    action->type = type;
    return action;
}

void plan_event(struct plan *p, bool warning, const char *key, const char *reason, const char *fmt,
                ...)
{
    va_list args;
    char *message;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    message = arena_alloc(&p->arena, (size_t)n + 1);
    va_start(args, fmt);
    vsnprintf(message, (size_t)n + 1, fmt, args);
    va_end(args);
    text_mend(message);
    message[text_cut(message, EVENT_MAX_MESSAGE)] = '\0';
    p->events = plan_grow(&p->arena, p->events, p->n_events, &p->cap_events, sizeof *p->events);
    p->events[p->n_events++] = (struct job_event){
        .warning = warning,
        .reason = arena_strdup(&p->arena, reason),
        .message = message,
        .key = arena_strdup(&p->arena, key),
    };
}

void plan_requeue(struct plan *p, int64_t at_ms)
{
    if (!p->requeue_ms || at_ms < p->requeue_ms)
        p->requeue_ms = at_ms;
}
