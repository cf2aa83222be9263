/*
 * The metadata of a checkpoint's file, as texts: the position of the training, and the values of
 * the job that must be the same when the training is resumed.
 */
#ifndef PACELINE_CHECKPOINT_META_H
#define PACELINE_CHECKPOINT_META_H

#include "paceline/err.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/train/trainer.h"

#define CHECKPOINT_META_MAX 40
#define CHECKPOINT_META_TEXT 512

/* Not to be copied: items point into text. */
struct checkpoint_meta {
    struct st_meta items[CHECKPOINT_META_MAX];
    char text[CHECKPOINT_META_MAX][CHECKPOINT_META_TEXT];
    size_t n;
};

/* Fills in the metadata of t as it is now. It leaves room for the config
 * (worker/checkpoint/config.h), which the caller adds. */
void checkpoint_meta_init(struct checkpoint_meta *r, const struct trainer *t);

/* Fails with ERR_INVALID, naming what differs, if t cannot be resumed from f. */
MUST_CHECK int checkpoint_meta_check(const struct trainer *t, const struct st_file *f,
                                     const char *path, struct err *err);

/* Reads the position. Fails with ERR_DAMAGED if t could not have such a position. */
MUST_CHECK int checkpoint_meta_read(const struct trainer *t, const struct st_file *f,
                                    const char *path, struct position *at, struct err *err);

#endif
