/* Unpacks what was fetched into a folder that nobody else looks into yet. */
#ifndef PACELINE_CLI_UNPACK_H
#define PACELINE_CLI_UNPACK_H

#include <signal.h>
#include <stdint.h>

#include "paceline/buf.h"

enum packing {
    PACKED_NOT,
    PACKED_GZIP, /* one file: the name without .gz */
    PACKED_TAR,  /* many files; the archive may be gzip'ed */
};

struct unpack {
    const char *folder; /* where to; it is there */
    enum packing packing;
    const char *root; /* only what is in this folder of the archive is taken, and put into ours */
    uint64_t most;    /* bytes of all that an archive holds */
    struct buf *sums; /* gets a line for each file (sha256sums.h) */
    const volatile sig_atomic_t *stop; /* not 0: end with ERR_INTERRUPTED */
};

/*
 * Unpacks the file at path, whose name is name. ERR_DAMAGED: it is not what packing says, cut
 * short, too large, or has entries that are refused (tar.h); ERR_IO: it cannot be read, or a file
 * cannot be written. Files that were written before a failure stay.
 */
MUST_CHECK int unpack_file(const struct unpack *u, const char *path, const char *name,
                           struct err *err);

#endif
