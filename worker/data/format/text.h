/*
 * Word-level text as a data set: train, valid and test files of a folder, cut into as many streams
 * as a batch has rows. Batch k has the k-th `steps` words of every stream, so row b of one batch
 * goes on where row b of the batch before it ended; the label of each word is the next one.
 */
#ifndef PACELINE_TEXT_H
#define PACELINE_TEXT_H

#include "worker/data/data.h"

/* datasets_load and datasets_peek where spec.dataset.name is text. The vocabulary is that of the
 * training file. ERR_NOT_FOUND names the files looked for; ERR_DAMAGED: what is no text;
 * ERR_INVALID: too few words for a batch. */
MUST_CHECK int text_load(struct datasets *d, const struct job *job, const char *run_id,
                         int local_rank, int local_size, struct err *err);
MUST_CHECK int text_peek(const struct job *job, struct shape *shape, uint32_t *n_train,
                         uint32_t *n_test, struct err *err);

/* How many different words the training file has, as its vocabulary counts them. Errors as
 * text_load. */
MUST_CHECK int text_words(const struct job *job, int *words, struct err *err);

#endif
