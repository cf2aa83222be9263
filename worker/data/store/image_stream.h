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

#include "worker/data/store/layout.h"

/* Bytes of the layout and of the stream after it, for an open source. */
size_t image_stream_bytes(const struct layout *plan, const struct source *s);

/* Labels, and where samples are, into the memory at to, zeroed before, which has that many bytes.
 * Files that cannot be read in parts are read whole. Errors as source_read; ERR_INVALID: there is
 * no room for that (dataset.cache). */
MUST_CHECK int image_stream_fill(struct layout *to, const struct layout *plan, struct source *s,
                                 struct err *err);

/* Makes a view of the layout (layout_view) read the stream after it; with so many threads, where
 * samples are decoded. Without decoding one is enough. */
void image_stream_view(struct dataset *set, struct layout *l, int readers);

#endif
