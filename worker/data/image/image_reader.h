/* A file of a picture to a sample's bytes: read, decoded, brought to size. */
#ifndef PACELINE_IMAGE_READER_H
#define PACELINE_IMAGE_READER_H

#include <stdint.h>

#include "paceline/err.h"
#include "paceline/spec.h"

struct image_reader; /* a thread's file, picture and tools; they grow with what is read */
struct image_reader *image_reader_new(const struct job *job);
void image_reader_free(struct image_reader **r); /* for AUTO */

/* Makes the reader resize images of other sizes from now on, even if dataset.imageSize is 0. */
void image_reader_fit(struct image_reader *r);

/*
 * The pixels of one file to `to`, [c][h][w] of shape. ERR_DAMAGED: it is no image, or not whole;
 * ERR_INVALID: of another size, and dataset.imageSize is 0; ERR_IO. Each names the file.
 */
MUST_CHECK int image_reader_read(struct image_reader *r, const char *path, struct shape shape,
                                 uint8_t *to, struct err *err);

/*
 * The same, of n bytes that are pixels as they are, from `at` of a file. Its name is remembered by
 * address, for the file stays open. ERR_DAMAGED: it has fewer bytes; ERR_IO.
 */
MUST_CHECK int image_reader_part(struct image_reader *r, const char *path, size_t at, size_t n,
                                 uint8_t *to, struct err *err);

/* The shape alone, c 1 or 3, from the header. Errors as above. */
MUST_CHECK int image_reader_measure(struct image_reader *r, const char *path, struct shape *shape,
                                    struct err *err);

#endif
