/*
 * Pictures: JPEG by libjpeg-turbo with its defaults (or smaller, by image_decoder_draft), PNG by
 * libpng, to rows of 8-bit samples.
 *
 * A file's dimensions are checked before memory is taken for them. What a decoder repairs (a file
 * that is cut short, codes that are none) is an error here. Alpha is dropped, 16 bits become 8,
 * EXIF orientation and colour profiles are not looked at.
 */
#ifndef PACELINE_IMAGE_H
#define PACELINE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/net.h"

#define IMAGE_MAX_SIDE 65500
#define IMAGE_MAX_PIXELS (1 << 26)

/* Rows from the top; the memory is kept from one image to the next. */
struct image {
    struct shape shape;
    uint8_t *pixels; /* [h][w][c] */
    size_t room;
};
void image_release(struct image *image); /* also fit for AUTO */

/* One per thread: libjpeg's state is dear to make. */
struct image_decoder;
struct image_decoder *image_decoder_new(void);
void image_decoder_free(struct image_decoder **d); /* for AUTO */

/*
 * From now on a JPEG is decoded at 1/8, 1/4 or 1/2 of its size, the smallest of these of which both
 * sides are still at least `least`, or else whole; 0: always whole. Pixels are then those of
 * libjpeg's smaller DCT, with the sizes rounded up, as in Pillow's draft mode.
 */
void image_decoder_draft(struct image_decoder *d, int least);

/*
 * channels 1: gray, of colours by Rec. 601 (JPEG: the file's own); 3: RGB; 0: as the file has it.
 * ERR_DAMAGED, with a sentence that does not name the file: neither JPEG nor PNG, too large,
 * damaged, of a kind that is not read (CMYK, arithmetic or lossless coding).
 */
MUST_CHECK int image_decode(struct image_decoder *d, const uint8_t *bytes, size_t len, int channels,
                            struct image *out, struct err *err);

/* The shape alone, c 1 or 3, from the header. */
MUST_CHECK int image_measure(struct image_decoder *d, const uint8_t *bytes, size_t len,
                             struct shape *shape, struct err *err);

#endif
