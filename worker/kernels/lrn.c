/*
 * Local response normalisation; see lrn.h.
 *
 * A few pixels at a time are laid out by channel, with zeros on both sides, so that a vector of
 * neighbours is a load beside the channel's own.
 */
#include "worker/kernels/lrn.h"

#include "worker/kernels/elementary.h"

/* s^-beta */
VINLINE vf damping(const struct lrn *l, vf s)
{
    if (l->beta == 0.75f) {
        const vf root = vsqrt(s);
        return vdiv(vset1(1), vmul(root, vsqrt(root)));
    }
    return vexp(vmul(vset1(-l->beta), vlog(s)));
}

/* Over the neighbours of the 16 channels at `row`. */
VINLINE vf window(const struct lrn *l, const float *row)
{
    vf sum = vload(row - l->half);

    for (int d = 1 - l->half; d <= l->half; d++)
        sum = vadd(sum, vload(row + d));
    return sum;
}

VINLINE vf scale_at(const struct lrn *l, const float *squares)
{
    return vfma(vset1(l->alpha), window(l, squares), vset1(l->k));
}

/* Where 16 channels of a pixel lie in a map. */
static size_t lrn_kernel_at(const struct lrn *l, int block, int pixel)
{
    return (size_t)(block * l->pixels + pixel) * VEC;
}

static int strip_end(const struct lrn *l, int first)
{
    return first + LRN_STRIP < l->pixels ? first + LRN_STRIP : l->pixels;
}

static void lay_squares(const struct lrn *l, float *rows, const float *x, int first, int end)
{
    for (int block = 0; block < l->blocks; block++) {
        for (int px = first; px < end; px++) {
            const vf v = vload(x + lrn_kernel_at(l, block, px));
            vstore(rows + (size_t)(px - first) * lrn_row(l) + block * VEC, vmul(v, v));
        }
    }
}

static void lrn_kernel_forward(const struct lrn *l, float *y, const float *x, float *room)
{
    float *squares = room + lrn_margin(l);

    memset(room, 0, lrn_room(l) * sizeof *room);
    for (int first = 0; first < l->pixels; first += LRN_STRIP) {
        const int end = strip_end(l, first);

        lay_squares(l, squares, x, first, end);
        for (int block = 0; block < l->blocks; block++) {
            for (int px = first; px < end; px++) {
                const float *row = squares + (size_t)(px - first) * lrn_row(l) + block * VEC;
                const vf s = scale_at(l, row);
                vstore(y + lrn_kernel_at(l, block, px),
                       vmul(vload(x + lrn_kernel_at(l, block, px)), damping(l, s)));
            }
        }
    }
}

/* The part of a channel's own scale, and what its neighbours need of it. */
static void lay_ratios(const struct lrn *l, float *ratios, float *dx, const float *dy,
                       const float *y, const float *squares, int first, int end)
{
    for (int block = 0; block < l->blocks; block++) {
        for (int px = first; px < end; px++) {
            const size_t in_row = (size_t)(px - first) * lrn_row(l) + (size_t)(block * VEC);
            const vf s = scale_at(l, squares + in_row), d = vload(dy + lrn_kernel_at(l, block, px));

            vstore(dx + lrn_kernel_at(l, block, px), vmul(d, damping(l, s)));
            vstore(ratios + in_row, vdiv(vmul(d, vload(y + lrn_kernel_at(l, block, px))), s));
        }
    }
}

static void lrn_kernel_backward(const struct lrn *l, float *dx, const float *dy, const float *x,
                                const float *y, float *room)
{
    float *squares = room + lrn_margin(l), *ratios = squares + LRN_STRIP * lrn_row(l);
    const vf slope = vset1(-2 * l->alpha * l->beta);

    memset(room, 0, lrn_room(l) * sizeof *room);
    for (int first = 0; first < l->pixels; first += LRN_STRIP) {
        const int end = strip_end(l, first);

        lay_squares(l, squares, x, first, end);
        lay_ratios(l, ratios, dx, dy, y, squares, first, end);
        for (int block = 0; block < l->blocks; block++) {
            for (int px = first; px < end; px++) {
                const float *row = ratios + (size_t)(px - first) * lrn_row(l) + block * VEC;
                float *to = dx + lrn_kernel_at(l, block, px);
                const vf own = vmul(slope, vload(x + lrn_kernel_at(l, block, px)));
                vstore(to, vfma(own, window(l, row), vload(to)));
            }
        }
    }
}

extern const struct lrn_kernels K(lrn_kernels);
const struct lrn_kernels K(lrn_kernels) = {.forward = lrn_kernel_forward,
                                           .backward = lrn_kernel_backward};
