/*
 * Images to one size, in integer arithmetic: the same bytes on every machine.
 *
 * The rule is bilinear where an axis grows; where it shrinks, each new pixel is the mean of the old
 * ones under a triangle of twice its own width (Pillow's BILINEAR, axis by axis; torchvision's
 * antialias). With in and out pixels on an axis the weight of old pixel x for new
 * pixel i is max(0, 2 max(in, out) - |(2x + 1) out - (2i + 1) in|), divided by their sum and
 * rounded to 22 bits. New rows first, then their columns, 8 bits between.
 */
#ifndef PACELINE_RESIZE_H
#define PACELINE_RESIZE_H

#include "worker/data/image/image.h"

struct resizer; /* its memory; one per thread */
struct resizer *resizer_new(void);
void resizer_free(struct resizer **r); /* for AUTO */

/* from [h][w][c] to [c][to_h][to_w]; from->shape.c is 1 or 3. Of the same size: only reordered. */
void resize(struct resizer *r, const struct image *from, int to_h, int to_w, uint8_t *to);

#endif
