/*
 * What a checkpoint says of its training besides tensors: the job's figures that have to be the
 * same where it goes on, and the position. Texts, in the metadata of its file.
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

/* The metadata of t as it is now, without its config (worker/checkpoint/config.h), for which there
 * is room. */
void checkpoint_meta_init(struct checkpoint_meta *r, const struct trainer *t);

/* ERR_INVALID, and what differs, when a training of t cannot go on from f. */
MUST_CHECK int checkpoint_meta_check(const struct trainer *t, const struct st_file *f,
                                     const char *path, struct err *err);

/* ERR_DAMAGED when it is no position that a training of t could have. */
MUST_CHECK int checkpoint_meta_read(const struct trainer *t, const struct st_file *f,
                                    const char *path, struct position *at, struct err *err);

#endif
