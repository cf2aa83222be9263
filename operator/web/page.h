/* The web thread's answer to a path. Pure. */
#ifndef PACELINE_OPERATOR_WEB_PAGE_H
#define PACELINE_OPERATOR_WEB_PAGE_H

#include "operator/web/metrics.h"

#define PAGE_HEALTHY_MS 30000 /* /healthz: the control loop must have turned within */

struct web_page {
    int status; /* HTTP */
    const char *content_type;
};

/*
 * Appends the answer's text to body. s NULL: nothing was published yet. now_ms is of the clock of
 * s->made_mono_ms.
 */
struct web_page page_make(const char *path, bool is_get, const struct snapshot *s, int64_t now_ms,
                          const struct metrics_process *process, struct buf *body);

#endif
