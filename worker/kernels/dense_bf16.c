/* Dense layers in bf16; see dense_bf16.h for layouts and sum orders. */
#include "worker/kernels/dense_bf16.h"

#include "worker/kernels/bf16.h"
#include "worker/kernels/product.h"

extern const struct product_kernels K(product_bf16_kernels);

#define CHUNK_PAIRS (DENSE_CHUNK / 2)

static void dense_pack(const struct dense *d, uint32_t *packed, const float *w, int chunk0,
                       int chunk1)
{
    const size_t chunk = DENSE_CHUNK * (size_t)d->out, all = (size_t)d->in * (size_t)d->out;
    const size_t end = (size_t)chunk1 * chunk < all ? (size_t)chunk1 * chunk : all;

    for (size_t i = (size_t)chunk0 * chunk; i < end; i += 2 * VEC)
        vistore(packed + i / 2, bf16_pair(vload(w + i), vload(w + i + VEC)));
}

/* Pairs of neighbours in n_t rows, turned: [pairs][n_t]. */
VINLINE void turn_pairs(uint32_t *to, const float *x, size_t row, int n_t)
{
    for (int t = 0; t < n_t; t++) {
        uint32_t pairs[PAIRS];
        bf16_store_pairs(pairs, vload(x + (size_t)t * row));
        for (int j = 0; j < PAIRS; j++)
            to[j * n_t + t] = pairs[j];
    }
}

/* Tile by tile of rows: [columns / 2][rows of the tile]. */
static void dense_pack_rows(uint32_t *rows, const float *x, int n, int columns, int from, int to)
{
    const int tiles = piece_count(n, TILE_T);
    const size_t width = (size_t)columns;

    for (int i = 0; i < tiles; i++) {
        const int t0 = piece_begin(n, tiles, i), n_t = piece_begin(n, tiles, i + 1) - t0;
        for (int column = from; column < to; column += VEC)
            turn_pairs(rows + ((size_t)t0 * width + (size_t)(column * n_t)) / 2,
                       x + (size_t)t0 * width + column, width, n_t);
    }
}

/* The sums of one tile over all inputs: whole chunks, then the short last. */
static void dense_bf16_forward_tile(const struct dense *d, float *sums, const uint32_t *rows,
                                    const uint32_t *packed, int ob, int n_u, int n_t)
{
    const int whole = d->in / DENSE_CHUNK, rest = d->in % DENSE_CHUNK / 2;
    struct product p = {
        .w = packed + (size_t)(ob * CHUNK_PAIRS) * VEC,
        .w_u = (size_t)CHUNK_PAIRS * VEC,
        .w_row = CHUNK_PAIRS * (size_t)d->out,
        .w_k = VEC,
        .x = rows,
        .x_row = (size_t)(CHUNK_PAIRS * n_t),
        .x_k = (size_t)n_t,
        .rows = whole,
        .k = CHUNK_PAIRS,
        .dst = sums,
        .dst_u = TILE_T * VEC,
    };

    K(product_bf16_kernels).run(&p, n_u, n_t);
    if (!rest)
        return;
    p.w = packed + (size_t)whole * p.w_row + (size_t)(ob * rest) * VEC;
    p.w_u = (size_t)rest * VEC;
    p.x = rows + (size_t)whole * p.x_row;
    p.rows = 1;
    p.k = rest;
    p.accumulate = true;
    K(product_bf16_kernels).run(&p, n_u, n_t);
}

/* Outputs before samples: weights, the larger part, are read once. */
static void dense_bf16_forward(const struct dense *d, float *y, const uint32_t *rows,
                               const uint32_t *packed, const float *bias, bool relu, int n, int ob0,
                               int ob1, float *sums)
{
    const int tiles = piece_count(n, TILE_T);

    for (int ob = ob0; ob < ob1; ob += TILE_U) {
        const int n_u = imin(TILE_U, ob1 - ob);
        for (int i = 0; i < tiles; i++) {
            const int t0 = piece_begin(n, tiles, i), n_t = piece_begin(n, tiles, i + 1) - t0;
            dense_bf16_forward_tile(d, sums, rows + (size_t)t0 * (size_t)d->in / 2, packed, ob, n_u,
                                    n_t);
            for (int u = 0; u < n_u; u++) {
                const vf b = bias ? vload(bias + (ob + u) * VEC) : vzero();
                const float *from = sums + u * TILE_T * VEC;
                float *to = y + (size_t)t0 * (size_t)d->out + (ob + u) * VEC;
                for (int t = 0; t < n_t; t++, to += d->out) {
                    const vf v = vadd(vload(from + t * VEC), b);
                    vstore(to, relu ? vmax(v, vzero()) : v);
                }
            }
        }
    }
}

/* [inputs of the chunk / 16][out / 2][16 in]: pairs of outputs. */
static void turn_chunk(const struct dense *d, int chunk, uint32_t *to, const float *w)
{
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const float *from = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out;

    for (int ib = 0; ib < kc / VEC; ib++)
        for (int ob = 0; ob < blocks; ob++, to += PAIRS * VEC)
            bf16_turn_block(to, from + (size_t)(ob * kc + ib * VEC) * VEC);
}

/* The chunk's place among all, as that of its weights. */
static void dense_bf16_keep_chunk(const struct dense *d, int chunk, uint32_t *kept, const float *w)
{
    turn_chunk(d, chunk, kept + (size_t)(chunk * CHUNK_PAIRS) * (size_t)d->out, w);
}

static void turned_data(const struct dense *d, int chunk, float *dx, const uint32_t *rows,
                        const uint32_t *turned, int n, float *sums)
{
    const int blocks = dense_chunk_inputs(d, chunk) / VEC, tiles = piece_count(n, TILE_T);
    const size_t block = (size_t)d->out / 2 * VEC;

    for (int i = 0; i < tiles; i++) {
        const int t0 = piece_begin(n, tiles, i), n_t = piece_begin(n, tiles, i + 1) - t0;
        for (int ib = 0; ib < blocks; ib += TILE_U) {
            const int n_u = imin(TILE_U, blocks - ib);
            struct product p = {
                .w = turned + (size_t)ib * block,
                .w_u = block,
                .w_k = VEC,
                .x = rows + (size_t)t0 * (size_t)d->out / 2,
                .x_k = (size_t)n_t,
                .rows = 1,
                .k = d->out / 2,
                .dst = sums,
                .dst_u = TILE_T * VEC,
            };
            K(product_bf16_kernels).run(&p, n_u, n_t);
            for (int a = 0; a < n_u * n_t; a++)
                vstore(dx + (size_t)(t0 + a % n_t) * (size_t)d->in + chunk * DENSE_CHUNK +
                           (ib + a / n_t) * VEC,
                       vload(sums + (a / n_t * TILE_T + a % n_t) * VEC));
        }
    }
}

static void dense_bf16_backward_kept(const struct dense *d, int chunk, float *dx,
                                     const uint32_t *rows, const uint32_t *kept, int n,
                                     float *scratch)
{
    turned_data(d, chunk, dx, rows, kept + (size_t)(chunk * CHUNK_PAIRS) * (size_t)d->out, n,
                scratch);
}

static void dense_bf16_backward_data(const struct dense *d, int chunk, float *dx,
                                     const uint32_t *rows, const float *w, int n, float *scratch)
{
    uint32_t *turned = (uint32_t *)(scratch + TILE_U * TILE_T * VEC);

    turn_chunk(d, chunk, turned, w);
    turned_data(d, chunk, dx, rows, turned, n, scratch);
}

/* Sample s of x, and the next one if its lane has it, else +0. */
VINLINE vi pair_samples(const float *x, size_t sample_floats, bool both)
{
    return bf16_pair(vload(x), both ? vload(x + sample_floats) : vzero());
}

/* A lane's pairs start where its samples do: in the slot of its first one. [out/16][n slots][16] */
static void dense_pack_lanes(const struct dense *d, uint32_t *packed, const float *dy, int n,
                             const struct lane_ends *lanes)
{
    const size_t floats = (size_t)d->out;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < 1u << lanes->level; begin = lanes->end[lane++]) {
        for (uint32_t i = begin, slot = begin; i < lanes->end[lane]; i += 2, slot++) {
            const float *from = dy + (lanes->begin + i) * floats;
            uint32_t *to = packed + (size_t)(lanes->begin + slot) * VEC;
            for (int ob = 0; ob < d->out / VEC; ob++, to += (size_t)n * VEC)
                vistore(to, pair_samples(from + ob * VEC, floats, i + 1 < lanes->end[lane]));
        }
    }
}

/* The inputs of a chunk, likewise: [slots][inputs]. */
static void dense_bf16_pair_columns(const struct dense *d, int chunk, uint32_t *to, const float *x,
                                    const struct lane_ends *lanes)
{
    const int kc = dense_chunk_inputs(d, chunk);
    const size_t floats = (size_t)d->in;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < 1u << lanes->level; begin = lanes->end[lane++]) {
        for (uint32_t i = begin, slot = begin; i < lanes->end[lane]; i += 2, slot++) {
            const float *from = x + (lanes->begin + i) * floats + chunk * DENSE_CHUNK;
            for (int k = 0; k < kc; k += VEC)
                vistore(to + slot * (size_t)kc + k,
                        pair_samples(from + k, floats, i + 1 < lanes->end[lane]));
        }
    }
}

/* dst = the sum over the lanes [first, first + 2^level) with empty lanes skipped; false: all are.
 */
static bool lanes_tree(const struct product *p, int n_u, int n_t, const struct lane_ends *lanes,
                       uint32_t first, int level, float *stack)
{
    const uint32_t begin = first ? lanes->end[first - 1] : 0;
    const uint32_t end = lanes->end[first + (1u << level) - 1];
    struct product one = *p;

    if (begin == end)
        return false;
    if (level == 0) {
        one.w = (const uint32_t *)p->w + (size_t)begin * p->w_k;
        one.x = (const uint32_t *)p->x + (size_t)begin * p->x_k;
        one.k = (int)(end - begin + 1) / 2;
        K(product_bf16_kernels).run(&one, n_u, n_t);
        return true;
    }
    const uint32_t half = 1u << (level - 1);
    if (!lanes_tree(p, n_u, n_t, lanes, first, level - 1, stack))
        return lanes_tree(p, n_u, n_t, lanes, first + half, level - 1, stack);
    one.dst = stack;
    one.dst_u = TILE_T * VEC;
    if (!lanes_tree(&one, n_u, n_t, lanes, first + half, level - 1, stack + TILE_U * TILE_T * VEC))
        return true;
    for (int i = 0; i < n_u * n_t; i++) {
        float *left = p->dst + (size_t)(i / n_t) * p->dst_u + i % n_t * VEC;
        vstore(left, vadd(vload(left), vload(stack + (i / n_t * TILE_T + i % n_t) * VEC)));
    }
    return true;
}

static void dense_bf16_backward_weights(const struct dense *d, int chunk, float *dw, const float *x,
                                        const uint32_t *packed, int n,
                                        const struct lane_ends *lanes, float *scratch)
{
    const struct product_kernels *pk = &K(product_bf16_kernels);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int pieces = piece_count(kc, TILE_T);
    uint32_t *xp = (uint32_t *)scratch;
    float *stack = scratch + (size_t)n * DENSE_CHUNK;

    dense_bf16_pair_columns(d, chunk, xp, x, lanes);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        for (int i = 0; i < pieces; i++) {
            const int t0 = piece_begin(kc, pieces, i), n_t = piece_begin(kc, pieces, i + 1) - t0;
            const struct product p = {
                .w = packed + ((size_t)ob * (size_t)n + lanes->begin) * VEC,
                .w_u = (size_t)n * VEC,
                .w_k = VEC,
                .x = xp + t0,
                .x_k = (size_t)kc,
                .rows = 1,
                .dst = dw + (size_t)(ob * kc + t0) * VEC,
                .dst_u = (size_t)kc * VEC,
            };
            const int n_u = imin(TILE_U, blocks - ob);
            if (lanes->full && pk->run_lanes)
                pk->run_lanes(&p, n_u, n_t, lanes, 1, stack);
            else
                lanes_tree(&p, n_u, n_t, lanes, 0, lanes->level, stack);
        }
    }
}

extern const struct dense_bf16_kernels K(dense_bf16_kernels);
const struct dense_bf16_kernels K(dense_bf16_kernels) = {
    .pack = dense_pack,
    .pack_rows = dense_pack_rows,
    .forward = dense_bf16_forward,
    .backward_data = dense_bf16_backward_data,
    .keep_chunk = dense_bf16_keep_chunk,
    .backward_kept = dense_bf16_backward_kept,
    .pack_lanes = dense_pack_lanes,
    .backward_weights = dense_bf16_backward_weights,
};
