/* Shapes and layouts of convolutions; no arithmetic. */
#include "worker/kernels/conv.h"

#include <unistd.h>

#define SMALLEST_CACHE (32 * 1024)

int conv_cache_bytes(void)
{
    static _Atomic int bytes; /* the same whoever writes it first */
    if (!bytes) {
        long size = -1;
#ifdef _SC_LEVEL1_DCACHE_SIZE
        size = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
        bytes = (int)(size > SMALLEST_CACHE ? size : SMALLEST_CACHE) / 8 * 7;
    }
    return bytes;
}

size_t conv_weight_index(const struct conv *c, int k, int ch, int r, int s)
{
    size_t block = (size_t)(k / 16) * conv_weight_block(c), lane = (size_t)(k % 16);
    if (c->plain)
        return block + (size_t)((ch * c->r + r) * c->s + s) * 16 + lane;
    int cb = ch / 16;
    return block + ((size_t)((s * blocks_of(c->c) + cb) * c->r + r) * 16 + (size_t)(ch % 16)) * 16 +
           lane;
}

struct conv conv_transposed(const struct conv *c)
{
    return (struct conv){
        .c = c->k,
        .h = c->oh,
        .w = c->ow,
        .k = c->c,
        .oh = c->h,
        .ow = c->w,
        .r = c->r,
        .s = c->s,
        .stride_h = 1,
        .stride_w = 1,
        .pad_t = c->r - 1 - c->pad_t,
        .pad_l = c->s - 1 - c->pad_l,
    };
}

size_t conv_scratch_floats(const struct conv *c)
{
    size_t rows = 2 * 2 * (size_t)c->ow * 16;
    size_t extended = c->plain ? (size_t)c->c * (size_t)((c->oh - 1) * c->stride_h + c->r) *
                                     (size_t)((c->ow - 1) * c->stride_w + c->s)
                               : 0;
    return rows + extended + 16;
}
