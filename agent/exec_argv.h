/* The command line of Open MPI's daemon: as mpirun wrote it for a shell, and as it may be run. */
#ifndef PACELINE_AGENT_EXEC_ARGV_H
#define PACELINE_AGENT_EXEC_ARGV_H

#include "paceline/json.h"

enum { EXEC_ARGV_MAX = 256, EXEC_WORD_MAX = 4096 };

/* A list of the words as a shell would have made them: the daemon's name without the assignments
 * before it, values without their quotes. The caller owns it. */
cJSON *exec_argv_words(int n, char *const *words);

/* A command line that was checked. */
struct exec_argv {
    const char *items[EXEC_ARGV_MAX + 1]; /* ended by NULL; strings of the list */
    size_t n;
};

/*
 * Takes the daemon's name, and those options and MCA parameters that it cannot do without and that
 * are known to be harmless; what every agent sets by itself is left out. Fails (ERR_INVALID)
 * naming the word that is not allowed. The list must outlive *out.
 */
MUST_CHECK int exec_argv_check(struct exec_argv *out, const cJSON *list, struct err *err);

#endif
