/*
 * SHA256SUMS: which files a folder has to have, in the form of sha256sum, which can check it, too.
 * The first line is a comment that says what the folder is.
 */
#ifndef PACELINE_CLI_SHA256SUMS_H
#define PACELINE_CLI_SHA256SUMS_H

#include "paceline/buf.h"

#define SHA256SUMS_FILE "SHA256SUMS"

/* Starts the text of a folder of what; b is initialised by the call. */
void sha256sums_begin(struct buf *b, const char *what);
void sha256sums_add(struct buf *b, const char *path, const char *sha256);

/*
 * Whether the folder is of what, and has all its files as they were. ERR_NOT_FOUND: it has no
 * SHA256SUMS or lacks a file; ERR_CONFLICT: it is of something else; ERR_DAMAGED: a file has
 * changed.
 */
MUST_CHECK int sha256sums_check(const char *folder, const char *what, struct err *err);

#endif
