#include "operator/controller/list_page.h"

#define FIRST_PAGE 10 /* objects whose size nobody knows yet; etcd takes 1.5 MB each */
#define PAGE_BYTES ((uint64_t)4 << 20)

void list_page_begin(struct list_page *p)
{
    p->later = false;
    if (!p->size || p->size > FIRST_PAGE)
        p->size = FIRST_PAGE;
}

int list_page_limit(const struct list_page *p, int most) { return p->size < most ? p->size : most; }

void list_page_arrived(struct list_page *p, int most, int n, uint64_t bytes)
{
    uint64_t each = n ? bytes / (uint64_t)n : 0, fit = PAGE_BYTES / (each ? each : 1);
    uint64_t twice = 2 * (uint64_t)list_page_limit(p, most);

    if (fit > twice)
        fit = twice;
    if (p->ceiling && fit > (uint64_t)p->ceiling)
        fit = (uint64_t)p->ceiling;
    p->size = fit ? (int)fit : 1;
    p->later = true;
}

void list_page_failed(struct list_page *p, int most, uint64_t bytes)
{
    int size = list_page_limit(p, most);

    p->size = size > 1 ? size / 2 : 1;
    if (p->later || bytes) /* an API server that is away says nothing of sizes */
        p->ceiling = p->size;
}

void list_page_complete(struct list_page *p) { p->ceiling = 0; }
