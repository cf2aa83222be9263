/*
 * The command line of a program or of one of its commands: a table of options, what may stand
 * between them, and the text around the table in --help. `--name VALUE` and `--name=VALUE` mean the
 * same, "--" ends the options, the last of two equal options counts, and a name is never
 * abbreviated.
 */
#ifndef PACELINE_COMMAND_LINE_H
#define PACELINE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/buf.h"
#include "paceline/err.h"

/* Words of somebody else, such as argv: the list owns its array only. A NULL follows the last. */
struct word_list {
    const char **items; /* NULL: the list is empty */
    size_t n;
};
void word_list_add(struct word_list *list, const char *word);
void word_list_release(struct word_list *list); /* also fit for AUTO */

/* The kind of an option's value, and the type of the variable that it fills. */
enum option_kind {
    OPTION_FLAG,     /* nothing: bool */
    OPTION_TEXT,     /* any text but an empty one, or one of choices: const char * */
    OPTION_LIST,     /* any text, as often as the user likes: struct word_list */
    OPTION_COUNT,    /* a whole number from min to max: int64_t */
    OPTION_NUMBER,   /* a number from min to max: double */
    OPTION_DURATION, /* a time such as 15s or 1m30s, up to 24h: int64_t, in milliseconds */
    OPTION_NAME,     /* a DNS name in lower case, as the Kubernetes API wants: const char * */
    OPTION_CHOICE,   /* one of choices: its index, as an enum */
};

struct option_row {
    const char *name; /* without the dashes; NULL: help is a heading of the rows after it */
    enum option_kind kind;
    char letter;   /* "-o VALUE" means the same; 0: none */
    size_t offset; /* of the variable, in the caller's struct */
    const char *value,
        *help;        /* for --help: "FILE" or NULL; lines of text, or NULL: it is not listed */
    int64_t min, max; /* max 0: no limit */
    const char *const *choices; /* ended by NULL */
};

struct command_line {
    const char *program; /* as messages begin: "paceline-agent serve" */
    const struct option_row *rows;
    size_t n_rows;
    /* Operands are the words that are no options. */
    size_t operands; /* offset of a struct word_list, where max_operands is not 0 */
    size_t max_operands;
    const char *operand; /* its first word names the operand that must be there; NULL: none must */
    bool after_dashes;   /* operands come only after "--", which then needs one */
    const char *before, *after; /* the table in --help; may be NULL */
    const char *version;        /* the answer to --version; NULL: there is no such option */
    /* The field of a job that an unknown option may have meant, or NULL. It is asked where --set
     * FIELD=VALUE is an option. */
    const char *(*field_like)(const char *word);
    /* Rules across options; may be NULL. */
    int (*check)(const void *values, struct err *err);
};

/*
 * Reads argv (argv[0] is skipped) into values, the caller's struct, which has the defaults. Returns
 * 0; 1 when the user asked for help or version, which is appended to answer; -1 with one sentence
 * in err: what was found and what is allowed. Strings are argv's. The caller releases the lists in
 * values, whatever the result.
 */
MUST_CHECK int command_line_read(const struct command_line *line, void *values, int argc,
                                 char **argv, struct buf *answer, struct err *err);

/*
 * The same for a program: prints the answer to standard output, and the sentence, with a hint at
 * --help, to standard error. False when the program ends here, with *exit_code.
 */
bool command_line_parse(const struct command_line *line, void *values, int argc, char **argv,
                        int *exit_code);

/* Appends what --help says: before, a line per option with a help text, after. */
void command_line_help(const struct command_line *line, struct buf *out);

#endif
