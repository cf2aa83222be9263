/*
 * Files that a trained model is asked about, told apart by what is in them:
 *
 *     JPEG, PNG    one sample, brought to the model's size and colours as dataset.name images does
 *     IDX          unsigned bytes, [n][h][w] or [n][c][h][w], plain or gzip
 *     CIFAR        records of its binary files, by the ending .bin
 *     npy          rows of [c][h][w] or as many values; of several inputs a file for each
 *     csv          a row for each sample, by the ending .csv; columns by their names, if
 *                  the model was trained on a table, else those of numbers in their order
 *
 * Image models take all of these, with values from 0 to 255. Models of arrays take npy and csv,
 * with any numbers. Samples are normalised as in training, by the same functions.
 */
#ifndef PACELINE_INPUT_H
#define PACELINE_INPUT_H

#include "worker/data/batch/normalize.h"

struct input_reader; /* the tools of one thread */
/* The reader keeps its pointer arguments; they must outlive it. columns: of a model that was
 * trained on a table, the names of the c*h*w columns; else NULL. */
struct input_reader *input_reader_new(const struct job *job, struct shape shape,
                                      const struct normalizer *normalizer,
                                      const char *const *columns);
void input_reader_free(struct input_reader **r); /* for AUTO */

/* An open file, or for a model of several inputs, one open file for each. */
struct input;

/*
 * paths: one file, or a .npy file for each input in the order of the input layers. Returns NULL if
 * it cannot be read: ERR_NOT_FOUND, ERR_IO; ERR_DAMAGED: the file is not whole, or of no known
 * kind; ERR_INVALID: this model does not take such files. The message names the file. r and paths
 * must outlive the input.
 */
struct input *input_open(struct input_reader *r, const char *const *paths, size_t n_paths,
                         struct err *err);
void input_close(struct input **in); /* also fit for AUTO */

/*
 * Writes the next sample, normalised, to x, [c][h][w]. Returns 1, or 0 after the last one, or -1 if
 * it cannot be read (errors as above); the next call goes on with the sample after it.
 */
MUST_CHECK int input_next(struct input *in, float *x, struct err *err);

/* Whether the file holds many samples, so that answers need a sample's number. */
bool input_is_many(const struct input *in);

#endif
