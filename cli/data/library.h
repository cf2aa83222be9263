/*
 * Shared libraries that one command needs: loaded then, and kept until the process ends, as some
 * that they load cannot be unloaded. Linked, they would make every start of `paceline` several
 * times as slow, and be wanted at every desk.
 */
#ifndef PACELINE_CLI_LIBRARY_H
#define PACELINE_CLI_LIBRARY_H

#include <stddef.h>

#include "paceline/err.h"

struct library_function {
    const char *name;
    void *at; /* the function pointer that it goes to */
};

/* ERR_NOT_FOUND: the library is not on this machine (Debian has it in package), or lacks one. */
MUST_CHECK int library_load(const char *name, const char *package,
                            const struct library_function *functions, size_t n, struct err *err);

#endif
