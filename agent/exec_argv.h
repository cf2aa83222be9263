/* The command line of Open MPI's daemon: parses it as mpirun wrote it for a shell, and checks it.
 */
#ifndef PACELINE_AGENT_EXEC_ARGV_H
#define PACELINE_AGENT_EXEC_ARGV_H

#include "paceline/json.h"

enum { EXEC_ARGV_MAX = 256, EXEC_WORD_MAX = 4096 };

/* Returns the words as a shell would split them, without the assignments before the daemon's name
 * and without quotes. The caller owns the list. */
cJSON *exec_argv_words(int n, char *const *words);

/* A command line that was checked. */
struct exec_argv {
    const char *items[EXEC_ARGV_MAX + 1]; /* ended by NULL; strings of the list */
    size_t n;
};

/*
 * Accepts the daemon's name and the options and MCA parameters that it needs and that are known to
 * be harmless. Leaves out those that every agent sets by itself. Fails (ERR_INVALID), naming the
 * word that is not allowed. The list must outlive *out.
 */
MUST_CHECK int exec_argv_check(struct exec_argv *out, const cJSON *list, struct err *err);

#endif
