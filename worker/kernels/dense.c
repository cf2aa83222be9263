/* Dense layers; see dense.h for layouts and sum orders. */
#include "worker/kernels/dense.h"

#include "worker/kernels/microtile.h"
#include "worker/kernels/product.h"

extern const struct product_kernels K(product_kernels);

#define BLOCK_IN DENSE_PACKED
#define BLOCK_CHUNKS (BLOCK_IN / DENSE_CHUNK)

/* The products of one tile of samples over `chunks` whole chunks from `chunk`, or the short last.
 */
static void dense_forward_tile(const struct dense *d, float *sums, size_t sums_u,
                               const float *packed, const float *w, int ob, int n_u, int n_t,
                               int chunk, int chunks)
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

/* A forward pass: what its steps share. */
struct forward {
    const struct dense *d;
    float *y;
    const float *x, *w, *bias;
    bool relu;
    int n, ob0, ob1;
    float *sums; /* of these blocks, but of one tile's where all inputs fit one packing */
    float *packed;
};

static void pack_inputs(const struct forward *f, int chunk0, int inputs)
{
    const struct dense *d = f->d;
    const int tiles = piece_count(f->n, TILE_T);

    for (int i = 0; i < tiles; i++) {
        int t0 = piece_begin(f->n, tiles, i), t1 = piece_begin(f->n, tiles, i + 1);
        K(product_kernels)
            .transpose(f->packed + (size_t)i * BLOCK_IN * VEC,
                       f->x + (size_t)t0 * (size_t)d->in + chunk0 * DENSE_CHUNK, (size_t)d->in,
                       t1 - t0, inputs);
    }
}

/* y of n_u blocks from their sums, which are still in the cache. */
static void finish_blocks(const struct forward *f, const float *sums, int ob, int n_u)
{
    for (int u = 0; u < n_u; u++) {
        const vf b = f->bias ? vload(f->bias + (ob + u) * VEC) : vzero();
        const float *from = sums + (size_t)(u * f->n) * VEC;
        float *to = f->y + (ob + u) * VEC;
        for (int t = 0; t < f->n; t++) {
            vf v = vadd(vload(from + t * VEC), b);
            vstore(to + (size_t)t * (size_t)f->d->out, f->relu ? vmax(v, vzero()) : v);
        }
    }
}

static void forward_block(const struct forward *f, int chunk0)
{
    const struct dense *d = f->d;
    const int tiles = piece_count(f->n, TILE_T);
    const int inputs = imin(BLOCK_IN, d->in - chunk0 * DENSE_CHUNK), whole = inputs / DENSE_CHUNK;
    const bool last = chunk0 * DENSE_CHUNK + inputs == d->in;
    const size_t sums_u = (size_t)f->n * VEC;

    pack_inputs(f, chunk0, inputs);
    for (int ob = f->ob0; ob < f->ob1; ob += TILE_U) {
        int n_u = imin(TILE_U, f->ob1 - ob);
        float *sums = f->sums + (d->in <= BLOCK_IN ? 0 : (size_t)(ob - f->ob0) * sums_u);
        for (int i = 0; i < tiles; i++) {
            int t0 = piece_begin(f->n, tiles, i), n_t = piece_begin(f->n, tiles, i + 1) - t0;
            float *to = sums + (size_t)t0 * VEC;
            const float *from = f->packed + (size_t)i * BLOCK_IN * VEC;
            if (whole)
                dense_forward_tile(d, to, sums_u, from, f->w, ob, n_u, n_t, chunk0, whole);
            if (inputs % DENSE_CHUNK)
                dense_forward_tile(d, to, sums_u, from + whole * DENSE_CHUNK * VEC, f->w, ob, n_u,
                                   n_t, chunk0 + whole, 1);
        }
        if (last)
            finish_blocks(f, sums, ob, n_u);
    }
}

static void dense_forward(const struct dense *d, float *y, const float *x, const float *w,
                          const float *bias, bool relu, int n, int ob0, int ob1, float *scratch)
{
    const int group = d->in <= BLOCK_IN ? ob1 - ob0 : DENSE_GROUP;
    struct forward f = {.d = d,
                        .y = y,
                        .x = x,
                        .w = w,
                        .bias = bias,
                        .relu = relu,
                        .n = n,
                        .sums = scratch,
                        .packed = scratch + dense_sums_floats(d, n)};

    for (f.ob0 = ob0; f.ob0 < ob1; f.ob0 = f.ob1) {
        f.ob1 = imin(f.ob0 + group, ob1);
        for (int chunk = 0; chunk < dense_chunks(d); chunk += BLOCK_CHUNKS)
            forward_block(&f, chunk);
    }
}

static void dense_keep_chunk(const struct dense *d, int chunk, float *kept, const float *w)
{
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int dot_k = K(product_kernels).dot_k;
    const float *from = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out;

    for (int k = 0; k < kc; k += dot_k) {
        for (int ob = 0; ob < blocks; ob++)
            memcpy(kept + ((size_t)k * (size_t)blocks + (size_t)(ob * dot_k)) * VEC,
                   from + ((size_t)ob * (size_t)kc + (size_t)k) * VEC,
                   sizeof(float) * (size_t)dot_k * VEC);
    }
}

static void dense_backward_kept(const struct dense *d, int chunk, float *dx, const float *dy,
                                const float *kept, int n)
{
    const struct product_kernels *pk = &K(product_kernels);
    const int blocks = d->out / VEC;

    pk->dots(dx + chunk * DENSE_CHUNK, (size_t)d->in, kept, (size_t)(blocks * pk->dot_k) * VEC,
             (size_t)pk->dot_k * VEC, dense_chunk_inputs(d, chunk), dy, (size_t)d->out, n, blocks);
}

static void dense_backward_data(const struct dense *d, int chunk, float *dx, const float *dy,
                                const float *w, int n, float *scratch)
{
    const struct product_kernels *pk = &K(product_kernels);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;

    if (n > 8) { /* worth gathering each tile's weights: a stride of 4 KB thrashes the cache */
        dense_keep_chunk(d, chunk, scratch, w);
        dense_backward_kept(d, chunk, dx, dy, scratch, n);
        return;
    }
    pk->dots(dx + chunk * DENSE_CHUNK, (size_t)d->in,
             w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out, (size_t)pk->dot_k * VEC,
             (size_t)kc * VEC, kc, dy, (size_t)d->out, n, blocks);
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
        one.w = (const float *)p->w + (size_t)begin * p->w_k;
        one.x = (const float *)p->x + (size_t)begin * p->x_k;
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

/* The inputs of a chunk, each piece of columns one sample after the other. */
static void pack_columns(const struct dense *d, int chunk, float *to, const float *x,
                         uint32_t samples, int pieces)
{
    const int kc = dense_chunk_inputs(d, chunk);

    for (int i = 0; i < pieces; i++) {
        const int t0 = piece_begin(kc, pieces, i), n_t = piece_begin(kc, pieces, i + 1) - t0;
        const float *from = x + chunk * DENSE_CHUNK + t0;
        for (uint32_t b = 0; b < samples; b++, to += n_t)
            for (int t = 0; t < n_t; t++)
                to[t] = from[b * (size_t)d->in + (size_t)t];
    }
}

static void dense_backward_weights(const struct dense *d, int chunk, float *dw, const float *x,
                                   const float *packed, int n, const struct lane_ends *lanes,
                                   float *scratch)
{
    const struct product_kernels *pk = &K(product_kernels);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int pieces = piece_count(kc, TILE_T);
    const uint32_t samples = lanes->end[(1u << lanes->level) - 1];
    float *xp = scratch, *stack = scratch + (size_t)n * DENSE_CHUNK;

    pack_columns(d, chunk, xp, x + lanes->begin * (size_t)d->in, samples, pieces);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        struct product p = {
            .w = packed + ((size_t)ob * (size_t)n + lanes->begin * (size_t)n_u) * VEC,
            .w_u = VEC,
            .w_k = (size_t)n_u * VEC,
            .x_t = 1,
            .rows = 1,
            .dst_u = (size_t)kc * VEC,
        };
        for (int i = 0; i < pieces; i++) {
            int t0 = piece_begin(kc, pieces, i), n_t = piece_begin(kc, pieces, i + 1) - t0;
            p.x = xp + (size_t)t0 * samples;
            p.x_k = (size_t)n_t;
            p.dst = dw + (size_t)(ob * kc + t0) * VEC;
            if (lanes->full)
                pk->run_lanes(&p, n_u, n_t, lanes, 1, stack);
            else
                sparse_tree(&p, n_u, n_t, lanes, 0, lanes->level, stack);
        }
    }
}

extern const struct dense_kernels K(dense_kernels);
const struct dense_kernels K(dense_kernels) = {
    .forward = dense_forward,
    .backward_data = dense_backward_data,
    .keep_chunk = dense_keep_chunk,
    .backward_kept = dense_backward_kept,
    .pack_dy = dense_pack_dy,
    .backward_weights = dense_backward_weights,
};
