#include "cli/base/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "paceline/command_line.h"
#include "paceline/mem.h"
#include "paceline/suggest.h"

#define INTO(f) .offset = offsetof(struct options, f)
static const struct option_row rows[] = {
    {"set", OPTION_LIST, INTO(sets)},
    {"workers", OPTION_TEXT, INTO(workers)},
    {"threads", OPTION_TEXT, INTO(threads)},
    {"out", OPTION_TEXT, INTO(out), .letter = 'o'},
    {"spec", OPTION_TEXT, INTO(spec)},
    {"input", OPTION_TEXT, INTO(input)},
    {"t-grad", OPTION_TEXT, INTO(t_grad)},
    {"t-comm", OPTION_TEXT, INTO(t_comm)},
    {"type", OPTION_TEXT, INTO(type)},
    {"server", OPTION_TEXT, INTO(server)},
    {"algorithm", OPTION_TEXT, INTO(algorithm)},
    {"model", OPTION_TEXT, INTO(model)},
    {"calibrate", OPTION_TEXT, INTO(calibrate)},
    {"output", OPTION_TEXT, INTO(output)},
    {"scale", OPTION_TEXT, INTO(scale)},
    {"on", OPTION_TEXT, INTO(on)},
    {"namespace", OPTION_TEXT, INTO(namespace_), .letter = 'n'},
    {"context", OPTION_TEXT, INTO(context)},
    {"to", OPTION_TEXT, INTO(to)},
    {"mirror", OPTION_TEXT, INTO(mirror)},
    {"batches", OPTION_COUNT, INTO(batches), .min = 1},
    {"batch-size", OPTION_COUNT, INTO(batch_size), .min = 1},
    {"steps", OPTION_COUNT, INTO(steps), .min = 1},
    {"limit", OPTION_COUNT, INTO(limit), .min = 1},
    {"top", OPTION_COUNT, INTO(top), .min = 1},
    {"patience", OPTION_COUNT, INTO(patience), .min = 1},
    {"seeds", OPTION_COUNT, INTO(seeds), .min = 1},
    {"resume", OPTION_FLAG, INTO(resume)},
    {"keep", OPTION_FLAG, INTO(keep)},
    {"check", OPTION_FLAG, INTO(check)},
    {"json", OPTION_FLAG, INTO(json)},
    {"markdown", OPTION_FLAG, INTO(markdown)},
    {"force", OPTION_FLAG, INTO(force)},
};

static const char *field_like(const char *word)
{
    const char *path = suggest_path(word);

    return path && strncmp(path, "spec.", 5) == 0 ? path + 5 : path;
}

bool options_parse(struct options *o, int argc, char **argv, const char *allowed, const char *usage,
                   int *exit_code)
{
    const char *operand = strstr(usage, argv[0]); /* what follows the command's name there */
    const struct command_line line = {
        .rows = rows,
        .n_rows = ARRAY_LEN(rows),
        .allowed = allowed,
        .operands = offsetof(struct options, operands),
        .max_operands = strstr(allowed, "no-operand") ? 0
                        : strstr(allowed, "operands") ? SIZE_MAX
                                                      : 1,
        .operand = strstr(allowed, "maybe-operand") ? NULL
                   : operand                        ? operand + strlen(argv[0]) + 1
                                                    : usage,
        .before = usage,
        .field_like = field_like,
    };
    AUTO(buf_release) struct buf answer;
    struct err err;
    int rc;

    *o = (struct options){0};
    buf_init(&answer, 0);
    rc = command_line_read(&line, o, argc, argv, &answer, &err);
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
