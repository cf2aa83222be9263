/* The file that a user means by a checkpoint. */
#ifndef PACELINE_CLI_CHECKPOINT_PATH_H
#define PACELINE_CLI_CHECKPOINT_PATH_H

#include "paceline/err.h"

/*
 * Returns path itself if it is a file. In the folder of a run it takes best.safetensors, else the
 * newest checkpoint, else model.safetensors, which get-model writes. The caller frees the result.
 * NULL: there is no checkpoint (ERR_NOT_FOUND), or the file is not one (ERR_INVALID); the message
 * says what is allowed.
 */
char *checkpoint_path_find(const char *given, struct err *err);

#endif
