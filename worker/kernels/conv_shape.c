/* Shapes and layouts of convolutions; no arithmetic. */
#include "worker/kernels/conv.h"

#include <unistd.h>

#define SMALLEST_CACHE (32 * 1024)
#define SHORT_ROW 4                 /* pixels */
#define LONG_ROW 64                 /* pixels, of rows that are joined */
#define SAMPLES 16                  /* two tiles of AVX-512 */
#define SAMPLES_BYTES (1024 * 1024) /* their maps together, at most */
#define FEW_PIXELS 16               /* of a map whose gradients of weights need all lanes at once */
#define LANES_STEPS 1024            /* pixels of all samples */
#define LANES_BLOCKS 16             /* of outputs */
#define LANES_FLOATS (64 * 1024)    /* of their gradients, but for the last two blocks */
#define STACK_FLOATS (2 * 14 * 16 * 12) /* the widest tile, the deepest tree */

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

/* One direction of a phase: taps are those of the kernel's n that are `tap` modulo stride. */
struct phase_side {
    int tap, taps;
    int before; /* taps of smaller tap */
    int pixels, pad;
};

static struct phase_side phase_side(int first, int size, int n, int stride, int pad)
{
    const int tap = (first + pad) % stride, rest = n % stride;
    const int taps = n / stride + (tap < rest);
    return (struct phase_side){
        .tap = tap,
        .taps = taps,
        .before = tap * (n / stride) + (tap < rest ? tap : rest),
        .pixels = (size - first + stride - 1) / stride,
        .pad = taps - 1 - (first + pad) / stride,
    };
}

struct conv conv_phase(const struct conv *c, int ih0, int iw0, size_t *at)
{
    const struct phase_side h = phase_side(ih0, c->h, c->r, c->stride_h, c->pad_t);
    const struct phase_side w = phase_side(iw0, c->w, c->s, c->stride_w, c->pad_l);
    const bool empty = !h.taps || !w.taps;

    *at = (size_t)(w.before * c->r + w.taps * h.before) * (size_t)(blocks_of(c->k) * 16) *
          (size_t)(blocks_of(c->c) * 16);
    return (struct conv){
        .c = c->k,
        .h = c->oh,
        .w = c->ow,
        .k = c->c,
        .oh = h.pixels,
        .ow = w.pixels,
        .r = empty ? 0 : h.taps,
        .s = empty ? 0 : w.taps,
        .stride_h = 1,
        .stride_w = 1,
        .pad_t = h.pad,
        .pad_l = w.pad,
    };
}

static size_t wider_floats(const struct conv *c)
{
    const size_t in = conv_in_floats(c), out = conv_out_floats(c);
    return in > out ? in : out;
}

struct conv conv_joined(const struct conv *c)
{
    const bool inside = c->pad_t == 0 && c->pad_l == 0 && (c->oh - 1) * c->stride_h < c->h &&
                        (c->ow - 1) * c->stride_w < c->w;
    struct conv joined = *c;
    int rows = 1;

    if (c->plain || c->r != 1 || c->s != 1 || !inside)
        return joined;
    for (int i = 2; i <= c->oh && i * c->ow <= LONG_ROW; i++)
        rows = c->oh % i ? rows : i;
    joined.h = joined.oh = c->oh / rows;
    joined.w = joined.ow = c->ow * rows;
    joined.stride_h = joined.stride_w = 1;
    return joined;
}

int conv_samples(const struct conv *c)
{
    const size_t fit = SAMPLES_BYTES / sizeof(float) / wider_floats(c);
    if (c->plain || c->ow > SHORT_ROW || fit < 2)
        return 1;
    return fit < SAMPLES ? (int)fit : SAMPLES;
}

int conv_lanes_samples(const struct conv *c)
{
    const int pixels = c->oh * c->ow;
    return c->plain || pixels > FEW_PIXELS ? 0 : LANES_STEPS / pixels;
}

static size_t lanes_floats(const struct conv *c, int n) { return (size_t)(n * c->oh * c->ow) * 16; }

int conv_lanes_blocks(const struct conv *c, int n)
{
    const int fit = (int)(LANES_FLOATS / lanes_floats(c, n)) / 2 * 2;
    const int most = fit < LANES_BLOCKS ? fit : LANES_BLOCKS;
    return most < 2 ? 2 : most;
}

size_t conv_lanes_scratch_floats(const struct conv *c, int n)
{
    const int samples = n < conv_lanes_samples(c) ? n : conv_lanes_samples(c);
    return samples ? STACK_FLOATS + LANES_FLOATS + 3 * lanes_floats(c, samples) : 0;
}

size_t conv_scratch_floats(const struct conv *c)
{
    const struct conv joined = conv_joined(c);
    size_t rows = 2 * 2 * (size_t)joined.ow * 16;
    size_t extended = c->plain ? (size_t)c->c * (size_t)((c->oh - 1) * c->stride_h + c->r) *
                                     (size_t)((c->ow - 1) * c->stride_w + c->s)
                               : 0;
    if (joined.stride_h != c->stride_h || joined.stride_w != c->stride_w)
        extended = conv_in_floats(&joined);
    size_t beside = conv_samples(c) > 1 ? (size_t)conv_samples(c) * wider_floats(c) : 0;
    return (beside > rows + extended ? beside : rows + extended) + 16;
}

size_t conv_bf16_scratch_floats(const struct conv *c)
{
    const struct conv t = conv_transposed(c), y = conv_joined(c), dx = conv_joined(&t);
    const size_t forward = 2 * 2 * (size_t)y.ow * 16 + conv_in_floats(c) / 2;
    const size_t back = 2 * 2 * (size_t)dx.ow * 16 + conv_out_floats(c) / 2;
    const size_t either = forward > back ? forward : back;
    const size_t outputs = (size_t)(c->ow + 1) / 2; /* pairs of pixels */
    const size_t x = (outputs * 2 * (size_t)c->stride_w + (size_t)c->s) * (size_t)c->h *
                     (size_t)blocks_of(c->c) * 16;
    const size_t dy = outputs * (size_t)c->oh * (size_t)blocks_of(c->k) * 16;

    const size_t beside = conv_samples(c) > 1 ? (size_t)conv_samples(c) * wider_floats(c) / 2 : 0;
    const size_t sums = either > x + dy ? either : x + dy;

    return (beside > sums ? beside : sums) + 16;
}
