#include "paceline/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "paceline/err.h"

#define CACHE_LINE ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20) /* slabs of at least this size ask for huge pages */

void (*mem_abort_hook)(int exit_code);
size_t *mem_planned;

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "out of memory: %zu bytes could not be allocated\n", bytes);
    if (mem_abort_hook)
        mem_abort_hook(EXIT_UNEXPECTED);
    exit(EXIT_UNEXPECTED);
}

void *xmalloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        out_of_memory(bytes);
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        out_of_memory(size && n > SIZE_MAX / size ? SIZE_MAX : n * size);
    return p;
}

void *xrealloc(void *p, size_t bytes)
{
    void *grown = realloc(p, bytes ? bytes : 1);

    if (!grown)
        out_of_memory(bytes);
    return grown;
}

char *xstrdup(const char *s)
{
    size_t bytes = strlen(s) + 1;

    return memcpy(xmalloc(bytes), s, bytes);
}

char *xasprintf(const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        out_of_memory(strlen(fmt));
    return text;
}

void *xaligned(size_t bytes)
{
    size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : CACHE_LINE;
    size_t rounded = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *p = NULL;

    if (mem_planned) {
        *mem_planned += rounded;
        return xcalloc(1, CACHE_LINE);
    }

    if (rounded < bytes || posix_memalign(&p, align, rounded ? rounded : CACHE_LINE))
        out_of_memory(bytes);
    if (align == HUGE_PAGE) /* advice: nothing depends on its success */
        (void)madvise(p, rounded / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return memset(p, 0, rounded);
}

void auto_free(void *pp) { free(*(void **)pp); }

void auto_fclose(FILE **f)
{
    if (*f)
        fclose(*f);
}

void auto_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
