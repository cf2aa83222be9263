/* The command line of the commands that work on files. */
#ifndef PACELINE_CLI_OPTIONS_H
#define PACELINE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/cli.h"

struct options {
    const char *operand;       /* the first argument that is no option */
    struct word_list operands; /* all of them; one, where the command does not allow more */
    const char *out, *spec, *input, *workers, *threads;
    const char *t_grad, *t_comm, *type, *server, *algorithm, *model, *output, *calibrate, *scale;
    const char *on, *namespace_, *context;                           /* a cluster */
    const char *to, *mirror;                                         /* data */
    int64_t steps, limit, top, batches, batch_size, patience, seeds; /* 0: not given */
    bool resume, keep, check, json, markdown, force;
    struct word_list sets;
    char **owned; /* texts of options_set */
    size_t n_owned;
};

/*
 * The table of a command has a row for each option that it takes, with its text for --help: these
 * make the rows. The compiler compares the type of the member of struct options with the kind of
 * value.
 */
#define OPTION_INTO(field, type) \
    .offset = offsetof(struct options, field) + 0 * sizeof(*(type *){&((struct options *)0)->field})
#define OPTION_ROW(name_, kind_, field, type, value_, help_) \
    .name = (name_), .kind = (kind_), OPTION_INTO(field, type), .value = (value_), .help = (help_)
#define TEXT_OPTION(name, field, value, help)                           \
    {                                                                   \
        OPTION_ROW(name, OPTION_TEXT, field, const char *, value, help) \
    }
#define COUNT_OPTION(name, field, value, help)                                \
    {                                                                         \
        OPTION_ROW(name, OPTION_COUNT, field, int64_t, value, help), .min = 1 \
    }
#define FLAG_OPTION(name, field, help)                         \
    {                                                          \
        OPTION_ROW(name, OPTION_FLAG, field, bool, NULL, help) \
    }
#define SET_OPTION(help)                                                           \
    {                                                                              \
        OPTION_ROW("set", OPTION_LIST, sets, struct word_list, "PATH=VALUE", help) \
    }
#define JSON_OPTION(help) FLAG_OPTION("json", json, help)
#define OUT_OPTION(value, help)                                                       \
    {                                                                                 \
        OPTION_ROW("out", OPTION_TEXT, out, const char *, value, help), .letter = 'o' \
    }
#define NAMESPACE_OPTION(value, help)                                                              \
    {                                                                                              \
        OPTION_ROW("namespace", OPTION_TEXT, namespace_, const char *, value, help), .letter = 'n' \
    }
#define OPTION_SECTION(heading) \
    {                           \
        .help = (heading)       \
    } /* of the rows after it */

/* Members of the command's struct command_line: its rows; how many operands it takes at most, and
 * the name of the one that must be there, or NULL. A command without the latter takes no operand.
 */
#define COMMAND_OPTIONS(rows_) .rows = (rows_), .n_rows = ARRAY_LEN(rows_)
#define COMMAND_OPERANDS(max, first) \
    .operands = offsetof(struct options, operands), .max_operands = (max), .operand = (first)

/*
 * Parses argv (argv[0] is the command). False when the command ends here, with its exit code: after
 * --help, which was printed, or after a problem, which was printed. Strings are argv's.
 */
bool options_parse(struct options *o, int argc, char **argv, const struct command_line *line,
                   int *exit_code);

/* Adds an override that comes after those of the command line, as "training.threads=2". */
void options_set(struct options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void options_release(struct options *o); /* also fit for AUTO */

#endif
