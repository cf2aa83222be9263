#include "cli/base/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "paceline/command_line.h"
#include "paceline/mem.h"
#include "paceline/suggest.h"

static const char *field_like(const char *word)
{
    const char *path = suggest_path(word);

    return path && strncmp(path, "spec.", 5) == 0 ? path + 5 : path;
}

bool options_parse(struct options *o, int argc, char **argv, const struct command_line *line,
                   int *exit_code)
{
    struct command_line with_fields = *line;
    AUTO(buf_release) struct buf answer;
    struct err err;
    int rc;

    *o = (struct options){0};
    buf_init(&answer, 0);
    with_fields.field_like = field_like;
    rc = command_line_read(&with_fields, o, argc, argv, &answer, &err);
    *exit_code = rc < 0 ? cli_usage_error(argv[0], "%s", err.msg) : EXIT_OK;
    if (rc > 0)
        fputs(answer.data, stdout);
    o->operand = o->operands.n ? o->operands.items[0] : NULL;
    return rc == 0;
}

void options_set(struct options *o, const char *fmt, ...)
{
    va_list args, again;
    char *text;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = xmalloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    o->owned = xrealloc(o->owned, (o->n_owned + 1) * sizeof *o->owned);
    o->owned[o->n_owned] = text;
    word_list_add(&o->sets, o->owned[o->n_owned++]);
}

void options_release(struct options *o)
{
    word_list_release(&o->sets);
    for (size_t i = 0; i < o->n_owned; i++)
        free(o->owned[i]);
    free(o->owned);
    word_list_release(&o->operands);
    *o = (struct options){0};
}
