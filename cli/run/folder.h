/*
 * The run folder: job.json, events.jsonl, checkpoints, report.html. One run at a time holds it;
 * checkpoints of an earlier run are moved aside, never overwritten.
 */
#ifndef PACELINE_CLI_FOLDER_H
#define PACELINE_CLI_FOLDER_H

#include <stdbool.h>

#include "paceline/err.h"

struct folder {
    char *path;
    char *moved_to; /* where the folder of an earlier run is now, or NULL */
    char *made;     /* the first of the folders that were made on the way to path, or NULL */
    int lock;       /* descriptor of the folder; the lock ends with it */
};

/*
 * Makes path (and its parents) and takes it. When it holds checkpoints and keep is false, the old
 * folder becomes path.1, .2, ..., the first that is free. Fails with ERR_CONFLICT when another
 * run holds it, ERR_IO when the system refuses.
 */
MUST_CHECK int folder_take(struct folder *f, const char *path, bool keep, struct err *err);
void folder_release(struct folder *f); /* also fit for AUTO */

/* Undoes folder_take: removes the folders that it made, unless something is in them, and moves an
 * earlier run back to its place. */
void folder_give_back(struct folder *f);

/* Makes the folder path and those that lead to it, where they are not there. Fails with ERR_IO. */
MUST_CHECK int folder_make(const char *path, struct err *err);

/* path/name, owned by the caller. */
char *folder_file(const struct folder *f, const char *name);

/* The newest checkpoint (*.safetensors) in the folder path, owned by the caller; NULL: none. */
char *folder_newest_checkpoint(const char *path);

#endif
