#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"
#include "paceline/nearest.h"
#include "paceline/suggest.h"

#define NO_OPERAND "no-operand"
#define OPERANDS "operands"

enum cli_option_kind { FLAG, TEXT, COUNT, SET };

#define FIELD(f) offsetof(struct options, f)
static const struct cli_option {
    const char *name;
    size_t offset; /* in struct options */
    enum cli_option_kind kind;
    char letter; /* for short; 0: none */
} option_defs[] = {
    {"set", 0, SET, 0},
    {"workers", FIELD(workers), TEXT, 0},
    {"threads", FIELD(threads), TEXT, 0},
    {"out", FIELD(out), TEXT, 'o'},
    {"spec", FIELD(spec), TEXT, 0},
    {"input", FIELD(input), TEXT, 0},
    {"t-grad", FIELD(t_grad), TEXT, 0},
    {"t-comm", FIELD(t_comm), TEXT, 0},
    {"type", FIELD(type), TEXT, 0},
    {"server", FIELD(server), TEXT, 0},
    {"algorithm", FIELD(algorithm), TEXT, 0},
    {"model", FIELD(model), TEXT, 0},
    {"calibrate", FIELD(calibrate), TEXT, 0},
    {"output", FIELD(output), TEXT, 0},
    {"scale", FIELD(scale), TEXT, 0},
    {"on", FIELD(on), TEXT, 0},
    {"namespace", FIELD(namespace_), TEXT, 'n'},
    {"context", FIELD(context), TEXT, 0},
    {"to", FIELD(to), TEXT, 0},
    {"mirror", FIELD(mirror), TEXT, 0},
    {"batches", FIELD(batches), COUNT, 0},
    {"batch-size", FIELD(batch_size), COUNT, 0},
    {"steps", FIELD(steps), COUNT, 0},
    {"limit", FIELD(limit), COUNT, 0},
    {"top", FIELD(top), COUNT, 0},
    {"patience", FIELD(patience), COUNT, 0},
    {"seeds", FIELD(seeds), COUNT, 0},
    {"resume", FIELD(resume), FLAG, 0},
    {"keep", FIELD(keep), FLAG, 0},
    {"check", FIELD(check), FLAG, 0},
    {"json", FIELD(json), FLAG, 0},
    {"force", FIELD(force), FLAG, 0},
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

/* "--name", "--name=value" or "-n"; *len: of all but the value. */
static const struct cli_option *options_find(const char *argument, const char *allowed, size_t *len)
{
    *len = strcspn(argument, "=");
    for (size_t i = 0; i < ARRAY_LEN(option_defs); i++) {
        const struct cli_option *d = &option_defs[i];
        bool is_long = strlen(d->name) + 2 == *len && memcmp(argument, "--", 2) == 0 &&
                       memcmp(argument + 2, d->name, *len - 2) == 0;
        bool is_short = d->letter && *len == 2 && argument[1] == d->letter;

        if ((is_long || is_short) && is_allowed(allowed, d->name, strlen(d->name)))
            return d;
    }
    return NULL;
}

/* Reports an unknown option and suggests another option, or a field of the job. */
static int unknown_option(const char *command, const char *argument, size_t len,
                          const char *allowed)
{
    AUTO(auto_free) char *word = xasprintf("%.*s", (int)len, argument);
    const char *names[ARRAY_LEN(option_defs)] = {0}, *near, *path = NULL, *bare = word;
    size_t n = 0;

    bare += strspn(bare, "-");
    for (size_t i = 0; i < ARRAY_LEN(option_defs); i++)
        if (is_allowed(allowed, option_defs[i].name, strlen(option_defs[i].name)))
            names[n++] = option_defs[i].name;
    near = nearest(bare, names, n);
    if (!near && is_allowed(allowed, "set", 3))
        path = suggest_path(bare);
    if (near)
        return cli_usage_error(command, "unknown option %s; did you mean --%s?", word, near);
    if (path)
        return cli_usage_error(command, "unknown option %s; did you mean --set %s=...?", word,
                               path + (strncmp(path, "spec.", 5) == 0 ? 5 : 0));
    return cli_usage_error(command, "unknown option %s", word);
}

static int options_store(struct options *o, const char *command, const struct cli_option *def,
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

static int take_operand(struct options *o, const char *command, const char *word,
                        const char *allowed)
{
    const bool none = is_allowed(allowed, NO_OPERAND, strlen(NO_OPERAND));
    const bool many = is_allowed(allowed, OPERANDS, strlen(OPERANDS));

    if (none || (o->operand && !many))
        return cli_usage_error(command, "one argument too many: %s", word);
    if (!o->operand)
        o->operand = word;
    o->operands = xrealloc(o->operands, (o->n_operands + 1) * sizeof *o->operands);
    o->operands[o->n_operands++] = word;
    return EXIT_OK;
}

/* Takes argv[*i], and the argument after it where it is the value. */
static int take_option(struct options *o, char **argv, int *i, const char *allowed)
{
    const char *argument = argv[*i], *value = strchr(argument, '=');
    size_t len;
    const struct cli_option *def = options_find(argument, allowed, &len);

    if (!def)
        return unknown_option(argv[0], argument, len, allowed);
    if (def->kind == FLAG && value)
        return cli_usage_error(argv[0], "--%s takes no value", def->name);
    if (def->kind != FLAG && !value && !argv[*i + 1])
        return cli_usage_error(argv[0], "--%s needs a value", def->name);
    if (value)
        value++;
    else if (def->kind != FLAG)
        value = argv[++*i];
    return options_store(o, argv[0], def, value);
}

/* The word after the command's name in its usage: JOB, CHECKPOINT. */
static int missing_operand(const char *command, const char *usage)
{
    const char *at = strstr(usage, command);
    const char *word = at ? at + strlen(command) + 1 : usage;

    return cli_usage_error(command, "%.*s is missing", (int)strcspn(word, " "), word);
}

bool options_parse(struct options *o, int argc, char **argv, const char *allowed, const char *usage,
                   int *exit_code)
{
    bool options = true; /* until "--" */
    bool operand = !is_allowed(allowed, NO_OPERAND, strlen(NO_OPERAND));

    *o = (struct options){0};
    *exit_code = EXIT_OK;
    for (int i = 1; i < argc && *exit_code == EXIT_OK; i++) {
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            fputs(usage, stdout);
            return false;
        }
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            *exit_code = take_option(o, argv, &i, allowed);
        else
            *exit_code = take_operand(o, argv[0], argv[i], allowed);
    }
    if (*exit_code == EXIT_OK && operand && !o->operand)
        *exit_code = missing_operand(argv[0], usage);
    return *exit_code == EXIT_OK;
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
    cli_sets_add(&o->sets, o->owned[o->n_owned++]);
}

void options_release(struct options *o)
{
    cli_sets_release(&o->sets);
    for (size_t i = 0; i < o->n_owned; i++)
        free(o->owned[i]);
    free(o->owned);
    free(o->operands);
    *o = (struct options){0};
}
