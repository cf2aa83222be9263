/* Starting a program in a process group of its own. */
#ifndef PACELINE_SPAWN_H
#define PACELINE_SPAWN_H

#include <sys/types.h>

#include "paceline/err.h"

struct spawn {
    const char *const *argv;  /* argv[0] is looked for in our PATH */
    char *const *environment; /* NULL: ours */
    int fds[3];               /* its standard streams */
    int death_signal;         /* what the kernel sends it when we end */
    const int *blocked;       /* signals, ended by 0; NULL: none */
};

/* Starts it, with no other signal blocked. Fails (ERR_NOT_FOUND when there is no such program,
 * ERR_IO). */
MUST_CHECK int spawn_process(pid_t *pid, const struct spawn *p, struct err *err);

/* A pipe with both ends close-on-exec; fit for AUTO: -1 is left alone. */
void spawn_close_pipe(int (*fds)[2]);

#endif
