/* An arena: many small allocations that are freed together. Never fails (xmalloc). */
#ifndef PACELINE_ARENA_H
#define PACELINE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head; /* all zero: empty */
};

void *arena_alloc(struct arena *a, size_t bytes);   /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a); /* also fit for AUTO */

#endif
