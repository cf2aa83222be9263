/*
 * Samples that are read when a batch asks for them (dataset.staging stream): images, which are
 * files that are decoded, or parts of files that have pixels as they are.
 *
 * What it needs lies in the host's memory, after the layout: where the files are, and which are
 * decoded already. A sample's bytes are a function of its file, so whoever needs it may decode it:
 * the first to claim it does so into the host's copy, and who comes while that one is at it decodes
 * for himself. Nobody waits for anybody, who may have died. Without dataset.cache there is no copy.
 */
#ifndef PACELINE_IMAGE_STREAM_H
#define PACELINE_IMAGE_STREAM_H

#include "worker/data/data.h"
#include "worker/data/image/image_reader.h"
#include "worker/data/store/layout.h"

struct image_stream;

/* Bytes of the layout and of the stream after it, for an open source. */
size_t image_stream_bytes(const struct layout *plan, const struct source *s);

/* Labels, and where samples are, into the memory at to, zeroed before, which has that many bytes.
 * Files that cannot be read in parts are read whole. Errors as source_read; ERR_INVALID: there is
 * no room for that (dataset.cache). */
MUST_CHECK int image_stream_fill(struct layout *to, const struct layout *plan, struct source *s,
                                 struct err *err);

struct image_stream *image_stream_behind(struct layout *l);

/* Whether samples are decoded, which is worth many threads; else they are only read. */
bool image_stream_decodes(const struct image_stream *s);

/* Whether the host's memory has sample i; its file's name. */
bool image_stream_has(const struct dataset *set, uint32_t i);
const char *image_stream_path(const struct dataset *set, uint32_t i);

/* The pixels of sample i from its file, into to; nothing is kept. Errors as below. */
MUST_CHECK int image_stream_read(const struct dataset *set, uint32_t i, struct image_reader *r,
                                 uint8_t *to, struct err *err);

/*
 * The pixels of sample i of a set: in the host's memory, else in spare, which has room for one;
 * NULL when they cannot be made (ERR_DAMAGED, ERR_INVALID, ERR_IO; the file is named). Adds what
 * reading and decoding took to *seconds. From many threads at once, each with a reader of its own.
 */
const uint8_t *image_stream_sample(const struct dataset *set, uint32_t i, struct image_reader *r,
                                   uint8_t *spare, double *seconds, struct err *err);

/* The same as floats, into x; the host's memory keeps these (dataset.rowConvert false). Adds what
 * converting took to *converting. 0, or -1 with *err. */
MUST_CHECK int image_stream_row(const struct dataset *set, uint32_t i, struct image_reader *r,
                                uint8_t *spare, const struct normalizer *n, float *x,
                                double *seconds, double *converting, struct err *err);

#endif
