/* Dense layers; see dense.h for layouts and sum orders. */
#include "worker/kernels/dense.h"

#include "worker/kernels/microtile.h"
#include "worker/kernels/product.h"

extern const struct product_kernels K(product_kernels);

#define BLOCK_CHUNKS 4 /* chunks of x packed at a time: 256 inputs */
#define BLOCK_IN (BLOCK_CHUNKS * DENSE_CHUNK)

VINLINE int imin(int a, int b) { return a < b ? a : b; }

/* The products of one tile of samples over `chunks` whole chunks from `chunk`, or the short last.
 */
static void forward_tile(const struct dense *d, float *sums, size_t sums_u, const float *packed,
                         const float *w, int ob, int n_u, int n_t, int chunk, int chunks)
{
    int kc = dense_chunk_inputs(d, chunk);
    struct product p = {
        .w = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out + (size_t)(ob * kc) * VEC,
        .w_u = (size_t)kc * VEC,
        .w_row = DENSE_CHUNK * (size_t)d->out,
        .w_k = VEC,
        .x = packed,
        .x_row = DENSE_CHUNK * VEC,
        .x_k = VEC,
        .x_t = 1,
        .rows = chunks,
        .k = kc,
        .dst = sums,
        .dst_u = sums_u,
        .accumulate = chunk > 0,
    };
    K(product_kernels).run(&p, n_u, n_t);
}

static void forward_block(const struct dense *d, float *sums, const float *x, const float *w, int n,
                          int ob0, int ob1, int chunk0, float *packed)
{
    const int tiles = piece_count(n, TILE_T), inputs = imin(BLOCK_IN, d->in - chunk0 * DENSE_CHUNK);
    const int whole = inputs / DENSE_CHUNK;
    const size_t tile_floats = (size_t)BLOCK_IN * VEC, sums_u = (size_t)n * VEC;

    for (int i = 0; i < tiles; i++) {
        int t0 = piece_begin(n, tiles, i), t1 = piece_begin(n, tiles, i + 1);
        K(product_kernels)
            .transpose(packed + (size_t)i * tile_floats,
                       x + (size_t)t0 * (size_t)d->in + chunk0 * DENSE_CHUNK, (size_t)d->in,
                       t1 - t0, inputs);
    }
    for (int ob = ob0; ob < ob1; ob += TILE_U) {
        int n_u = imin(TILE_U, ob1 - ob);
        for (int i = 0; i < tiles; i++) {
            int t0 = piece_begin(n, tiles, i), n_t = piece_begin(n, tiles, i + 1) - t0;
            float *to = sums + ((size_t)(ob - ob0) * (size_t)n + (size_t)t0) * VEC;
            const float *from = packed + (size_t)i * tile_floats;
            if (whole)
                forward_tile(d, to, sums_u, from, w, ob, n_u, n_t, chunk0, whole);
            if (inputs % DENSE_CHUNK)
                forward_tile(d, to, sums_u, from + whole * DENSE_CHUNK * VEC, w, ob, n_u, n_t,
                             chunk0 + whole, 1);
        }
    }
}

static void dense_forward(const struct dense *d, float *y, const float *x, const float *w,
                          const float *bias, bool relu, int n, int ob0, int ob1, float *scratch)
{
    float *sums = scratch, *packed = scratch + (size_t)n * (size_t)d->out;
    for (int chunk = 0; chunk < dense_chunks(d); chunk += BLOCK_CHUNKS)
        forward_block(d, sums, x, w, n, ob0, ob1, chunk, packed);
    for (int ob = ob0; ob < ob1; ob++) {
        vf b = bias ? vload(bias + ob * VEC) : vzero();
        const float *from = sums + (size_t)(ob - ob0) * (size_t)n * VEC;
        for (int t = 0; t < n; t++) {
            vf v = vadd(vload(from + t * VEC), b);
            vstore(y + (size_t)t * (size_t)d->out + ob * VEC, relu ? vmax(v, vzero()) : v);
        }
    }
}

static void dense_backward_data(const struct dense *d, int chunk, float *dx, const float *dy,
                                const float *w, int n, float *scratch)
{
    const struct product_kernels *pk = &K(product_kernels);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC, dot_k = pk->dot_k;
    const float *from = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out;
    size_t w_tile = (size_t)dot_k * VEC, w_ob = (size_t)kc * VEC;

    if (n > 8) { /* worth gathering each tile's weights: a stride of 4 KB thrashes the cache */
        for (int k = 0; k < kc; k += dot_k) {
            for (int ob = 0; ob < blocks; ob++)
                memcpy(scratch + ((size_t)k * (size_t)blocks + (size_t)(ob * dot_k)) * VEC,
                       from + (size_t)ob * w_ob + (size_t)k * VEC,
                       sizeof(float) * (size_t)dot_k * VEC);
        }
        from = scratch;
        w_tile = (size_t)(blocks * dot_k) * VEC;
        w_ob = (size_t)dot_k * VEC;
    }
    pk->dots(dx + chunk * DENSE_CHUNK, (size_t)d->in, from, w_tile, w_ob, kc, dy, (size_t)d->out, n,
             blocks);
}

static void dense_pack_dy(const struct dense *d, float *packed, const float *dy, int n)
{
    for (int ob = 0; ob < d->out / VEC; ob += TILE_U) {
        int n_u = imin(TILE_U, d->out / VEC - ob);
        for (int b = 0; b < n; b++) {
            memcpy(packed, dy + (size_t)b * (size_t)d->out + ob * VEC,
                   sizeof(float) * (size_t)n_u * VEC);
            packed += n_u * VEC;
        }
    }
}

/* dst = the sum over the lanes [first, first + 2^level) with empty lanes skipped; false: all are.
 */
static bool sparse_tree(struct product *p, int n_u, int n_t, const struct lane_ends *lanes,
                        uint32_t first, int level, float *stack)
{
    uint32_t begin = first ? lanes->end[first - 1] : 0;
    uint32_t end = lanes->end[first + (1u << level) - 1];
    struct product one = *p;

    if (begin == end)
        return false;
    if (level == 0) {
        one.w += (size_t)begin * p->w_k;
        one.x += (size_t)begin * p->x_k;
        one.k = (int)(end - begin);
        K(product_kernels).run(&one, n_u, n_t);
        return true;
    }
    uint32_t half = 1u << (level - 1);
    if (!sparse_tree(p, n_u, n_t, lanes, first, level - 1, stack))
        return sparse_tree(p, n_u, n_t, lanes, first + half, level - 1, stack);
    one.dst = stack;
    one.dst_u = TILE_T * VEC;
    float *above = stack + TILE_U * TILE_T * VEC;
    if (!sparse_tree(&one, n_u, n_t, lanes, first + half, level - 1, above))
        return true;
    for (int i = 0; i < n_u * n_t; i++) {
        float *left = p->dst + (size_t)(i / n_t) * p->dst_u + i % n_t * VEC;
        const float *right = stack + (i / n_t * TILE_T + i % n_t) * VEC;
        vstore(left, vadd(vload(left), vload(right)));
    }
    return true;
}

static void dense_backward_weights(const struct dense *d, int chunk, float *dw, const float *x,
                                   const float *packed, int n, const struct lane_ends *lanes,
                                   float *scratch)
{
    const struct product_kernels *pk = &K(product_kernels);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int pieces = piece_count(kc, TILE_T < 8 ? TILE_T : 8);
    const uint32_t samples = lanes->end[(1u << lanes->level) - 1];
    float *xp = scratch, *stack = scratch + (size_t)n * DENSE_CHUNK;

    for (uint32_t b = 0; b < samples; b++)
        memcpy(xp + b * DENSE_CHUNK, x + (lanes->begin + b) * (size_t)d->in + chunk * DENSE_CHUNK,
               sizeof(float) * (size_t)kc);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        struct product p = {
            .w = packed + ((size_t)ob * (size_t)n + lanes->begin * (size_t)n_u) * VEC,
            .w_u = VEC,
            .w_k = (size_t)n_u * VEC,
            .x_k = DENSE_CHUNK,
            .x_t = 1,
            .rows = 1,
            .dst_u = (size_t)kc * VEC,
        };
        for (int i = 0; i < pieces; i++) {
            int t0 = piece_begin(kc, pieces, i), n_t = piece_begin(kc, pieces, i + 1) - t0;
            p.x = xp + t0;
            p.dst = dw + (size_t)(ob * kc + t0) * VEC;
            if (lanes->full)
                pk->run_lanes(&p, n_u, n_t, lanes->end, lanes->level, stack);
            else
                sparse_tree(&p, n_u, n_t, lanes, 0, lanes->level, stack);
        }
    }
}

extern const struct dense_kernels K(dense_kernels);
const struct dense_kernels K(dense_kernels) = {
    .forward = dense_forward,
    .backward_data = dense_backward_data,
    .pack_dy = dense_pack_dy,
    .backward_weights = dense_backward_weights,
};
