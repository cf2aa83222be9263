/* The data sets that `paceline data` knows, and where their publishers have them. */
#ifndef PACELINE_CLI_DATA_SETS_H
#define PACELINE_CLI_DATA_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/data/unpack.h"

#define DATA_MAX_FILES 4
#define DATA_MAX_HOMES 2

struct data_file {
    const char *name;
    uint64_t size; /* in bytes; 0: not known */
    const char *sha256,
        *md5; /* in hex; NULL: not known. One of them is asked, SHA-256 before MD5 */
};

struct data_set {
    const char *name, *description;
    const char *homes[DATA_MAX_HOMES]; /* files' names come after them; tried in turn */
    enum packing packing;
    const char *root;                       /* of an archive (unpack.h) */
    uint64_t most;                          /* bytes that a file may have, packed or unpacked */
    struct data_file files[DATA_MAX_FILES]; /* all those with a name */
};

extern const struct data_set data_sets[];
extern const size_t n_data_sets;

const struct data_set *data_set_find(const char *name); /* NULL: there is none */

/* Bytes of all files; 0 where one is not known. */
uint64_t data_set_bytes(const struct data_set *set);

#endif
