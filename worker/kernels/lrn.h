/*
 * Local response normalisation of one sample in channel-blocked layout [C/16][pixels][16]:
 *
 *     y[c] = x[c] * s[c]^-beta,  s[c] = k + alpha * sum of x[j]^2 over |j - c| <= half
 *
 * (Krizhevsky, Sutskever and Hinton 2012, 3.3). Channels beyond the first and the last one count as
 * zero. Sums over neighbours begin at the lowest channel. A beta of 3/4 is made of square roots,
 * any other is e^(-beta ln s).
 */
#ifndef PACELINE_KERNEL_LRN_H
#define PACELINE_KERNEL_LRN_H

#include <stddef.h>

struct lrn {
    int blocks; /* channel blocks of 16; lanes after the last channel are zero and stay zero */
    int pixels;
    int half; /* neighbours on either side */
    float alpha, beta, k;
};

/* Pixels that are laid out by channel at a time, each in a row with zeros before and after it. */
#define LRN_STRIP 4
static inline size_t lrn_margin(const struct lrn *l) { return (size_t)(l->half + 15) / 16 * 16; }
static inline size_t lrn_row(const struct lrn *l) { return (size_t)l->blocks * 16 + lrn_margin(l); }
/* Floats that both functions need to work in. */
static inline size_t lrn_room(const struct lrn *l)
{
    return lrn_margin(l) + 2 * LRN_STRIP * lrn_row(l);
}

struct lrn_kernels {
    void (*forward)(const struct lrn *l, float *y, const float *x, float *room);
    /* dx[c] = dy[c] * s[c]^-beta - 2 alpha beta x[c] * sum of dy[j] y[j] / s[j] over the
     * neighbours; dx is not dy. */
    void (*backward)(const struct lrn *l, float *dx, const float *dy, const float *x,
                     const float *y, float *room);
};

#endif
