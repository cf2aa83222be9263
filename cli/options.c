#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"

enum kind { FLAG, TEXT, COUNT, SET };

static const struct option_def {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct options */
} option_defs[] = {
    {"set", SET, 0},
    {"workers", TEXT, offsetof(struct options, workers)},
    {"threads", TEXT, offsetof(struct options, threads)},
    {"out", TEXT, offsetof(struct options, out)},
    {"spec", TEXT, offsetof(struct options, spec)},
    {"input", TEXT, offsetof(struct options, input)},
    {"steps", COUNT, offsetof(struct options, steps)},
    {"limit", COUNT, offsetof(struct options, limit)},
    {"resume", FLAG, offsetof(struct options, resume)},
    {"json", FLAG, offsetof(struct options, json)},
};

/* Whether one of the names separated by spaces is the n bytes at name. */
static bool is_allowed(const char *allowed, const char *name, size_t n)
{
    for (const char *a = allowed; *a; a += strspn(a, " ")) {
        size_t len = strcspn(a, " ");

        if (len == n && memcmp(a, name, n) == 0)
            return true;
        a += len;
    }
    return false;
}

static const struct option_def *find(const char *argument, const char *allowed, size_t *len)
{
    *len = strcspn(argument, "=");
    for (size_t i = 0; i < ARRAY_LEN(option_defs); i++)
        if (strlen(option_defs[i].name) == *len &&
            memcmp(option_defs[i].name, argument, *len) == 0 && is_allowed(allowed, argument, *len))
            return &option_defs[i];
    return NULL;
}

static int store(struct options *o, const char *command, const struct option_def *def,
                 const char *value)
{
    char *field = (char *)o + def->offset, *end;
    long long count;

    switch (def->kind) {
    case FLAG:
        *(bool *)field = true;
        break;
    case TEXT:
        *(const char **)field = value;
        break;
    case SET:
        cli_sets_add(&o->sets, value);
        break;
    case COUNT:
        errno = 0;
        count = strtoll(value, &end, 10);
        if (errno || end == value || *end || count < 1)
            return cli_usage_error(command, "--%s is \"%s\"; it takes a whole number from 1",
                                   def->name, value);
        *(int64_t *)field = count;
        break;
    }
    return EXIT_OK;
}

/* Takes argv[*i], and the argument after it where it is the value. */
static int take_option(struct options *o, char **argv, int *i, const char *allowed)
{
    const char *argument = argv[*i] + 2, *value = strchr(argument, '=');
    size_t len;
    const struct option_def *def = find(argument, allowed, &len);

    if (!def)
        return cli_usage_error(argv[0], "unknown option --%.*s", (int)len, argument);
    if (def->kind == FLAG && value)
        return cli_usage_error(argv[0], "--%s takes no value", def->name);
    if (def->kind != FLAG && !value && !argv[*i + 1])
        return cli_usage_error(argv[0], "--%s needs a value", def->name);
    if (value)
        value++;
    else if (def->kind != FLAG)
        value = argv[++*i];
    return store(o, argv[0], def, value);
}

bool options_parse(struct options *o, int argc, char **argv, const char *allowed, const char *usage,
                   int *exit_code)
{
    bool options = true; /* until "--" */

    *o = (struct options){0};
    *exit_code = EXIT_OK;
    for (int i = 1; i < argc && *exit_code == EXIT_OK; i++) {
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            fputs(usage, stdout);
            return false;
        }
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && strncmp(argv[i], "--", 2) == 0)
            *exit_code = take_option(o, argv, &i, allowed);
        else if (o->operand)
            *exit_code = cli_usage_error(argv[0], "one file too many: %s", argv[i]);
        else
            o->operand = argv[i];
    }
    if (*exit_code == EXIT_OK && !o->operand)
        *exit_code = cli_usage_error(argv[0], "which file?");
    return *exit_code == EXIT_OK;
}

void options_set(struct options *o, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    o->owned = xrealloc(o->owned, (o->n_owned + 1) * sizeof *o->owned);
    o->owned[o->n_owned] = xstrdup(text);
    cli_sets_add(&o->sets, o->owned[o->n_owned++]);
}

void options_release(struct options *o)
{
    cli_sets_release(&o->sets);
    for (size_t i = 0; i < o->n_owned; i++)
        free(o->owned[i]);
    free(o->owned);
    *o = (struct options){0};
}
