/* An environment for a process that is started. */
#ifndef PACELINE_ENV_H
#define PACELINE_ENV_H

#include <stdbool.h>
#include <stddef.h>

struct env {
    char **items; /* "NAME=value", NULL-terminated: for execve */
    size_t n;
};

void env_init(struct env *e, char *const *from); /* from: copied; NULL: empty */
void env_release(struct env *e);                 /* also fit for AUTO */
/* Sets name; where it is set already, only with replace. */
void env_set(struct env *e, const char *name, const char *value, bool replace);

/*
 * Settings that make Open MPI quick for ranks of one host (docs/reference/run.md has the times);
 * names are the same for 4 and 5. threads: per rank, 0: one per core. A variable that is set
 * already stays.
 */
void env_set_mpi(struct env *e, int ranks, int threads);

/* Cores this process may use. */
int env_cores(void);

#endif
