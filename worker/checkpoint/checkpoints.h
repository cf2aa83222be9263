/*
 * The checkpoints of a folder by their names: checkpoint-<step>.safetensors, and best.safetensors,
 * a link to one of them.
 */
#ifndef PACELINE_CHECKPOINTS_H
#define PACELINE_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/err.h"

/* Makes dir when it is not there, and removes what writers that were killed have left in it. */
void checkpoints_prepare(const char *dir);

/* Of this step; freed by the caller. */
char *checkpoint_path(const char *dir, int64_t step);

/* The largest step below `below` that dir has a checkpoint of, or -1. */
int64_t checkpoints_newest(const char *dir, int64_t below);

/* Whether dir has a checkpoint. */
bool checkpoints_any(const char *dir);

/* Removes those before the newest `keep` below step. */
void checkpoints_drop_old(const char *dir, int64_t step, int64_t keep);

/* dir/best.safetensors becomes the file at path, at once. */
MUST_CHECK int checkpoints_link_best(const char *dir, const char *path, struct err *err);

#endif
