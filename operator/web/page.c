#include "operator/web/page.h"

#include <inttypes.h>
#include <string.h>

#include "paceline/mem.h"

struct page_request {
    const struct snapshot *snapshot;
    int64_t now_ms;
    const struct metrics_process *process;
};

static int metrics_page(const struct page_request *r, struct buf *body)
{
    metrics_encode(r->snapshot, r->process, body);
    return 200;
}

/* Also without a leader and without an API server: a restart would mend neither. */
static int health_page(const struct page_request *r, struct buf *body)
{
    int64_t age_ms;

    if (!r->snapshot) {
        buf_puts(body, "the control loop has not started yet\n");
        return 503;
    }
    age_ms = r->now_ms - r->snapshot->made_mono_ms;
    if (age_ms > PAGE_HEALTHY_MS || !r->snapshot->healthy) {
        buf_printf(body, "the control loop has not turned for %" PRId64 " s\n", age_ms / 1000);
        return 503;
    }
    buf_puts(body, "ok\n");
    return 200;
}

static int readiness_page(const struct page_request *r, struct buf *body)
{
    if (r->snapshot && r->snapshot->synced) {
        buf_puts(body, "ok\n");
        return 200;
    }
    buf_puts(body, "not every kind of object was listed from the Kubernetes API yet\n");
    return 503;
}

static const struct path {
    const char *path, *content_type;
    int (*make)(const struct page_request *r, struct buf *body);
} paths[] = {
    {"/metrics", METRICS_CONTENT_TYPE, metrics_page},
    {"/healthz", "text/plain; charset=utf-8", health_page},
    {"/readyz", "text/plain; charset=utf-8", readiness_page},
};

struct web_page page_make(const char *path, bool is_get, const struct snapshot *s, int64_t now_ms,
                          const struct metrics_process *process, struct buf *body)
{
    const struct page_request request = {s, now_ms, process};
    struct web_page page = {404, "text/plain; charset=utf-8"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (strcmp(path, paths[i].path) != 0)
            continue;
        if (is_get) {
            page.status = paths[i].make(&request, body);
            page.content_type = paths[i].content_type;
            return page;
        }
        page.status = 405;
    }
    buf_puts(body, page.status == 405 ? "only GET is served here\n"
                                      : "here are /metrics, /healthz and /readyz\n");
    return page;
}
