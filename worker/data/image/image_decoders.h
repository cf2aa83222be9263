/* The decoders that image.c chooses from. */
#ifndef PACELINE_IMAGE_DECODERS_H
#define PACELINE_IMAGE_DECODERS_H

#include <stdbool.h>

#include "worker/data/image/image.h"

/* ERR_DAMAGED: the size is not allowed. */
MUST_CHECK int image_set_shape(struct image *image, int c, unsigned h, unsigned w, struct err *err);
void image_make_room(struct image *image); /* for pixels of its shape */

struct jpeg_decoder;
struct jpeg_decoder *jpeg_decoder_new(void);
void jpeg_decoder_free(struct jpeg_decoder *d);

/* With pixels false only out->shape is set. least as in image_decoder_draft. */
MUST_CHECK int jpeg_decode(struct jpeg_decoder *d, const uint8_t *bytes, size_t len, int channels,
                           int least, bool pixels, struct image *out, struct err *err);
MUST_CHECK int png_decode(const uint8_t *bytes, size_t len, int channels, bool pixels,
                          struct image *out, struct err *err);

#endif
