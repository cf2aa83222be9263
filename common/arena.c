#include "paceline/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "paceline/mem.h"

#define BLOCK_BYTES 1000

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    max_align_t bytes[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t unit = sizeof(max_align_t);
    size_t rounded = (bytes + unit - 1) / unit * unit;
    struct arena_block *b = a->head;
    char *p;

    if (!b || b->size - b->used < rounded) {
        size_t size = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES / unit * unit;

        b = xmalloc(sizeof *b + size);
        *b = (struct arena_block){.next = a->head, .size = size};
        a->head = b;
    }
    p = (char *)b->bytes + b->used;
    b->used += rounded;
    memset(p, 0, rounded);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    size_t n;

    if (!s)
        return NULL;
    n = strlen(s) + 1;
    return memcpy(arena_alloc(a, n), s, n);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = arena_alloc(a, (size_t)n + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

void arena_release(struct arena *a)
{
    while (a->head) {
        struct arena_block *b = a->head;

        a->head = b->next;
        free(b);
    }
}
