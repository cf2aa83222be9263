/* A data set from its home into a folder, whole or not at all. */
#ifndef PACELINE_CLI_FETCH_H
#define PACELINE_CLI_FETCH_H

#include <signal.h>
#include <stdbool.h>

#include "cli/data/data_sets.h"

struct fetch {
    const struct data_set *set;
    const char *to;     /* the folder of the set */
    const char *mirror; /* files are at mirror/SET/FILE instead; NULL: at the set's homes */
    void (*note)(void *arg, const struct data_file *file, uint64_t bytes); /* of it are here */
    void *arg;
    const volatile sig_atomic_t *stop; /* not 0: end with ERR_INTERRUPTED */
};

/*
 * Where the folder has the set already it is checked, nothing is fetched, and *fetched is false.
 * Otherwise the files go to TO.part, one after the other; when all are whole they are unpacked
 * there, and what comes of it is renamed to TO, with a SHA256SUMS. On failure TO is as it was;
 * TO.part has what a later fetch can go on with, and nothing else.
 *
 * ERR_CONFLICT: TO has other files, or another fetch works on it; ERR_DAMAGED: a file that came has
 * not the checksum it must have (it is removed), or TO is no longer what was fetched; and the
 * errors of download.h and unpack.h.
 */
MUST_CHECK int data_fetch(const struct fetch *f, bool *fetched, struct err *err);

#endif
