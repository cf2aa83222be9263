/*
 * Memory: allocation that does not fail, owners that free themselves.
 *
 * A local that owns says AUTO(fn); handing ownership over says STEAL(p).
 * x*alloc print the byte count and call the abort hook (the worker's ends all ranks), then exit.
 */
#ifndef PACELINE_MEM_H
#define PACELINE_MEM_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t bytes) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* 64-byte aligned, zeroed, for slabs; freed with free(). Large slabs ask for huge pages. */
void *xaligned(size_t bytes) __attribute__((malloc, returns_nonnull));

/* While set, xaligned adds the bytes that it would take to it, and gives one line of the cache: for
 * who asks the makers of slabs how much they need, and uses none. */
extern size_t *mem_planned;

/* Called with the exit code before a program ends for want of memory. Set once, in main. */
extern void (*mem_abort_hook)(int exit_code);

#define AUTO(fn) __attribute__((cleanup(fn)))

void auto_free(void *pp); /* char *, void *, any heap pointer */
void auto_fclose(FILE **f);
void auto_close(const int *fd);

/* Hands the pointer over: yields it and leaves NULL behind, so that AUTO frees nothing. */
#define STEAL(p)                        \
    __extension__({                     \
        __typeof__(p) steal_tmp_ = (p); \
        (p) = NULL;                     \
        steal_tmp_;                     \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
