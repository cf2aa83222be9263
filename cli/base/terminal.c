#include "cli/base/terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "paceline/mem.h"
#include "paceline/text.h"

struct guard {
    FILE *raw, *guarded; /* guarded: NULL when this is no terminal */
    char part[TEXT_CHARACTER_MAX];
    size_t n_part; /* of a character whose rest is not written yet */
};

static struct guard guards[2];

FILE *terminal_raw(FILE *out)
{
    for (size_t i = 0; i < ARRAY_LEN(guards); i++)
        if (guards[i].guarded && guards[i].guarded == out)
            return guards[i].raw;
    return out;
}

static void put_escaped(FILE *raw, const char *bytes, size_t n)
{
    while (n) {
        size_t taken = *bytes == '\n' || *bytes == '\t' ? 1 : text_printable(bytes, n);

        if (taken)
            fwrite(bytes, 1, taken, raw);
        else
            fprintf(raw, "\\x%02x", (unsigned char)*bytes);
        taken = taken ? taken : 1;
        bytes += taken;
        n -= taken;
    }
}

/* A write may end inside a character; its bytes wait for the next one. */
static ssize_t guard_write(void *arg, const char *bytes, size_t n)
{
    struct guard *g = arg;
    size_t at = 0;

    while (at < n) {
        if (!g->n_part && !text_is_partial(bytes + at, n - at)) {
            size_t whole = text_character(bytes + at, n - at);

            whole = whole ? whole : 1;
            put_escaped(g->raw, bytes + at, whole);
            at += whole;
            continue;
        }
        g->part[g->n_part++] = bytes[at++];
        if (!text_is_partial(g->part, g->n_part)) {
            put_escaped(g->raw, g->part, g->n_part);
            g->n_part = 0;
        }
    }
    return fflush(g->raw) == 0 ? (ssize_t)n : -1;
}

static void guard(struct guard *g, FILE **stream, int buffering)
{
    static const cookie_io_functions_t functions = {.write = guard_write};
    FILE *guarded;

    if (!isatty(fileno(*stream)) || !(guarded = fopencookie(g, "w", functions)))
        return;
    setvbuf(guarded, NULL, buffering, BUFSIZ);
    *g = (struct guard){.raw = *stream, .guarded = guarded};
    *stream = guarded;
}

void terminal_guard(void)
{
    guard(&guards[0], &stdout, _IOLBF);
    guard(&guards[1], &stderr, _IONBF);
}
