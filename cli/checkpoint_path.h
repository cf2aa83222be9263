/* Which file a user means by a checkpoint. */
#ifndef PACELINE_CLI_CHECKPOINT_PATH_H
#define PACELINE_CLI_CHECKPOINT_PATH_H

#include "paceline/err.h"

/*
 * The file itself; of a folder of a run best.safetensors, else its newest checkpoint, else
 * model.safetensors, which get-model writes. The caller's; NULL: there is none (ERR_NOT_FOUND), or
 * the file is no checkpoint (ERR_INVALID), and the message says what would be one.
 */
char *checkpoint_path_find(const char *given, struct err *err);

#endif
