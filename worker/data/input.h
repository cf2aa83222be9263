/*
 * Files that a trained model is asked about, told apart by what is in them:
 *
 *     JPEG, PNG    one sample, brought to the model's size and colours as dataset.name images does
 *     IDX          unsigned bytes, [n][h][w] or [n][c][h][w], plain or gzip
 *     CIFAR        records of its binary files, by the ending .bin
 *     npy          rows of [c][h][w] or as many values; of several inputs a file for each
 *     csv          a row for each sample, by the ending .csv; columns of numbers, in their order
 *
 * Models of pictures take all of them, and values of 0 to 255; models of arrays take npy and csv,
 * and any numbers. What comes out is normalised as in training, by the same functions.
 */
#ifndef PACELINE_INPUT_H
#define PACELINE_INPUT_H

#include "worker/data/normalize.h"

struct input_reader; /* the tools of one thread */
/* What is given by address must outlive the reader. */
struct input_reader *input_reader_new(const struct job *job, struct shape shape,
                                      const struct normalizer *normalizer);
void input_reader_free(struct input_reader **r); /* for AUTO */

/* A file that is open; of a model of several inputs, the files of all of them. */
struct input;

/*
 * paths: one file, or a .npy file for each input in the order of the input layers. NULL: it cannot
 * be read. ERR_NOT_FOUND, ERR_IO; ERR_DAMAGED: it is not whole, or no file that is known;
 * ERR_INVALID: it is none that this model takes. The message names the file. r, and paths, must
 * outlive the input.
 */
struct input *input_open(struct input_reader *r, const char *const *paths, size_t n_paths,
                         struct err *err);
void input_close(struct input **in); /* also fit for AUTO */

/*
 * The next sample, as the model sees it, to x, [c][h][w]: 1, or 0 after the last one. -1: it cannot
 * be read (errors as above); the next call goes on with the sample after it.
 */
MUST_CHECK int input_next(struct input *in, float *x, struct err *err);

/* Whether it is a file of many samples, of which each needs its number. */
bool input_is_many(const struct input *in);

#endif
