/* The command line of the commands that work on files. */
#ifndef PACELINE_CLI_OPTIONS_H
#define PACELINE_CLI_OPTIONS_H

#include <stdbool.h>
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
 * Parses argv (argv[0] is the command). allowed: the names of the options that this command takes,
 * separated by spaces. With "no-operand" among them the command takes no operand, with
 * "maybe-operand" at most one, with "operands" one or more, else one. usage: "usage: paceline
 * COMMAND OPERAND ...". False when the command ends here, with its exit code: after --help, which
 * prints usage, or after a problem, which was printed. Strings are argv's.
 */
bool options_parse(struct options *o, int argc, char **argv, const char *allowed, const char *usage,
                   int *exit_code);

/* Adds an override that comes after those of the command line, as "training.threads=2". */
void options_set(struct options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void options_release(struct options *o); /* also fit for AUTO */

#endif
