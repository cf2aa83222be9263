/*
 * Augmentation: what a training sample looks like in an epoch. An image is laid on a black border
 * of `pad` pixels and a window of its own size is cut from it, at a random place; then it may be
 * mirrored left to right (He et al. 2016, section 4.2). All on the bytes, before they are
 * normalised, so a border is black as pixels are. Pure: what is drawn is a function of (seed,
 * epoch, sample) alone.
 */
#ifndef PACELINE_AUGMENT_H
#define PACELINE_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/net.h"

struct augment {
    bool flip;    /* half of the samples are mirrored */
    uint32_t pad; /* pixels on each side */
    uint64_t seed;
};

/* A window: pixel (y, x) of it is pixel (y + top, x + left) of the image; then mirrored or not. */
struct augment_view {
    int top, left; /* -pad .. pad, uniform */
    bool mirrored;
};

static inline bool augment_any(const struct augment *a) { return a->flip || a->pad; }

struct augment_view augment_draw(const struct augment *a, uint32_t epoch, uint32_t sample);

/* to, from: [c][h][w], not overlapping. What lies outside of the image is 0. */
void augment_apply(uint8_t *to, const uint8_t *from, struct shape shape, struct augment_view view);

#endif
