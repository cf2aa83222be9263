/* Dense layers; see dense.h for layouts and sum orders. */
#include "worker/kernels/dense.h"

#include "worker/kernels/operand.h"
#include "worker/kernels/product.h"

extern const struct product_kernels TABLE(product);

#define CHUNK_DEPTH (DENSE_CHUNK / VALUES) /* operands of a chunk's inputs */

/* A forward pass: what its steps share. */
struct forward {
    const struct dense *d;
    float *y;
    const void *x, *w;
    const float *bias;
    bool relu;
    int n, ob0, ob1;
    float *sums; /* of these blocks; of one tile where all inputs are in one block */
    float *packed;
};

#if defined(BF16)

#define BLOCK_IN (1 << 30) /* all, as rows are packed */

static void dense_pack(const struct dense *d, void *packed, const float *w, int chunk0, int chunk1)
{
    const size_t chunk = DENSE_CHUNK * (size_t)d->out, all = (size_t)d->in * (size_t)d->out;
    const size_t end = (size_t)chunk1 * chunk < all ? (size_t)chunk1 * chunk : all;

    for (size_t i = (size_t)chunk0 * chunk; i < end; i += 2 * VEC)
        vistore((uint32_t *)packed + i / 2, bf16_pair(vload(w + i), vload(w + i + VEC)));
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
static void dense_pack_rows(void *rows, const float *x, int n, int columns, int from, int to)
{
    const int tiles = piece_count(n, TILE_T);
    const size_t width = (size_t)columns;

    for (int i = 0; i < tiles; i++) {
        const int t0 = piece_begin(n, tiles, i), n_t = piece_begin(n, tiles, i + 1) - t0;
        for (int column = from; column < to; column += VEC)
            turn_pairs((uint32_t *)rows + ((size_t)t0 * width + (size_t)(column * n_t)) / 2,
                       x + (size_t)t0 * width + column, width, n_t);
    }
}

static void forward_pack(const struct forward *f, int chunk0, int inputs)
{
    (void)f, (void)chunk0, (void)inputs;
}

/* The inputs of a tile's n_t samples from t0, those of one sample `step` operands apart. */
static const operand *tile_inputs(const struct forward *f, int tile, int t0, int n_t, size_t *step)
{
    (void)tile;
    *step = (size_t)n_t;
    return (const operand *)f->x + (size_t)t0 * (size_t)f->d->in / 2;
}

#else

#define BLOCK_IN DENSE_PACKED

static void forward_pack(const struct forward *f, int chunk0, int inputs)
{
    const struct dense *d = f->d;
    const int tiles = piece_count(f->n, TILE_T);

    for (int i = 0; i < tiles; i++) {
        int t0 = piece_begin(f->n, tiles, i), t1 = piece_begin(f->n, tiles, i + 1);
        K(product_kernels)
            .transpose(f->packed + (size_t)i * BLOCK_IN * VEC,
                       (const float *)f->x + (size_t)t0 * (size_t)d->in + chunk0 * DENSE_CHUNK,
                       (size_t)d->in, t1 - t0, inputs);
    }
}

static const operand *tile_inputs(const struct forward *f, int tile, int t0, int n_t, size_t *step)
{
    (void)t0, (void)n_t;
    *step = VEC;
    return f->packed + (size_t)tile * BLOCK_IN * VEC;
}

#endif

#define BLOCK_CHUNKS (BLOCK_IN / DENSE_CHUNK)

/* The products of one tile of samples over `chunks` whole chunks from `chunk`, or the short last.
 */
static void forward_tile(const struct forward *f, float *sums, const operand *x, size_t x_k, int ob,
                         int n_u, int n_t, int chunk, int chunks)
{
    const struct dense *d = f->d;
    const int depth = dense_chunk_inputs(d, chunk) / VALUES;
    const struct product p = {
        .w = (const operand *)f->w + (size_t)chunk * CHUNK_DEPTH * (size_t)d->out +
             (size_t)(ob * depth) * VEC,
        .w_u = (size_t)depth * VEC,
        .w_row = CHUNK_DEPTH * (size_t)d->out,
        .w_k = VEC,
        .x = x,
        .x_row = CHUNK_DEPTH * x_k,
        .x_k = x_k,
        .x_t = 1,
        .rows = chunks,
        .k = depth,
        .dst = sums,
        .dst_u = (size_t)f->n * VEC,
        .accumulate = chunk > 0,
    };
    TABLE(product).run(&p, n_u, n_t);
}

/* y of a tile from its sums, which are still in the cache. */
static void finish_tile(const struct forward *f, const float *sums, int ob, int n_u, int t0,
                        int n_t)
{
    for (int u = 0; u < n_u; u++) {
        const vf b = f->bias ? vload(f->bias + (ob + u) * VEC) : vzero();
        const float *from = sums + (size_t)(u * f->n) * VEC;
        float *to = f->y + (size_t)t0 * (size_t)f->d->out + (ob + u) * VEC;
        for (int t = 0; t < n_t; t++, to += f->d->out) {
            vf v = vadd(vload(from + t * VEC), b);
            vstore(to, f->relu ? vmax(v, vzero()) : v);
        }
    }
}

/* Outputs before samples: weights, the larger part, are read once. */
static void forward_block(const struct forward *f, int chunk0)
{
    const struct dense *d = f->d;
    const int tiles = piece_count(f->n, TILE_T);
    const int inputs = imin(BLOCK_IN, d->in - chunk0 * DENSE_CHUNK), whole = inputs / DENSE_CHUNK;
    const bool last = chunk0 * DENSE_CHUNK + inputs == d->in;

    forward_pack(f, chunk0, inputs);
    for (int ob = f->ob0; ob < f->ob1; ob += TILE_U) {
        const int n_u = imin(TILE_U, f->ob1 - ob);
        for (int i = 0; i < tiles; i++) {
            const int t0 = piece_begin(f->n, tiles, i), n_t = piece_begin(f->n, tiles, i + 1) - t0;
            const size_t at = d->in <= BLOCK_IN ? 0 : (size_t)((ob - f->ob0) * f->n + t0);
            float *sums = f->sums + at * VEC;
            size_t step;
            const operand *from = tile_inputs(f, i, t0, n_t, &step);
            if (whole)
                forward_tile(f, sums, from, step, ob, n_u, n_t, chunk0, whole);
            if (inputs % DENSE_CHUNK)
                forward_tile(f, sums, from + (size_t)(whole * CHUNK_DEPTH) * step, step, ob, n_u,
                             n_t, chunk0 + whole, 1);
            if (last)
                finish_tile(f, sums, ob, n_u, t0, n_t);
        }
    }
}

static void dense_forward(const struct dense *d, float *y, const void *x, const void *w,
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

#if defined(BF16)

/* [inputs of the chunk / 16][out / 2][16 in]: pairs of outputs. */
static void order_chunk(const struct dense *d, int chunk, uint32_t *to, const float *w)
{
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const float *from = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out;

    for (int ib = 0; ib < kc / VEC; ib++)
        for (int ob = 0; ob < blocks; ob++, to += DEPTH * VEC)
            operand_turn(to, from + (size_t)(ob * kc + ib * VEC) * VEC);
}

static void ordered_data(const struct dense *d, int chunk, float *dx, const uint32_t *rows,
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
            TABLE(product).run(&p, n_u, n_t);
            for (int a = 0; a < n_u * n_t; a++)
                vstore(dx + (size_t)(t0 + a % n_t) * (size_t)d->in + chunk * DENSE_CHUNK +
                           (ib + a / n_t) * VEC,
                       vload(sums + (a / n_t * TILE_T + a % n_t) * VEC));
        }
    }
}

static void dense_backward_data(const struct dense *d, int chunk, float *dx, const void *dy,
                                const float *w, int n, float *scratch)
{
    uint32_t *turned = (uint32_t *)(scratch + TILE_U * TILE_T * VEC);

    order_chunk(d, chunk, turned, w);
    ordered_data(d, chunk, dx, dy, turned, n, scratch);
}

#else

/* Tile by tile of dots. */
static void order_chunk(const struct dense *d, int chunk, float *to, const float *w)
{
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int dot_k = TABLE(product).dot_k;
    const float *from = w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out;

    for (int k = 0; k < kc; k += dot_k) {
        for (int ob = 0; ob < blocks; ob++)
            memcpy(to + ((size_t)k * (size_t)blocks + (size_t)(ob * dot_k)) * VEC,
                   from + ((size_t)ob * (size_t)kc + (size_t)k) * VEC,
                   sizeof(float) * (size_t)dot_k * VEC);
    }
}

static void ordered_data(const struct dense *d, int chunk, float *dx, const float *dy,
                         const float *ordered, int n, float *scratch)
{
    const struct product_kernels *pk = &TABLE(product);
    const int blocks = d->out / VEC;

    (void)scratch;
    pk->dots(dx + chunk * DENSE_CHUNK, (size_t)d->in, ordered, (size_t)(blocks * pk->dot_k) * VEC,
             (size_t)pk->dot_k * VEC, dense_chunk_inputs(d, chunk), dy, (size_t)d->out, n, blocks);
}

static void dense_backward_data(const struct dense *d, int chunk, float *dx, const void *dy,
                                const float *w, int n, float *scratch)
{
    const struct product_kernels *pk = &TABLE(product);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;

    if (n > 8) { /* worth gathering each tile's weights: a stride of 4 KB thrashes the cache */
        order_chunk(d, chunk, scratch, w);
        ordered_data(d, chunk, dx, dy, scratch, n, NULL);
        return;
    }
    pk->dots(dx + chunk * DENSE_CHUNK, (size_t)d->in,
             w + (size_t)chunk * DENSE_CHUNK * (size_t)d->out, (size_t)pk->dot_k * VEC,
             (size_t)kc * VEC, kc, dy, (size_t)d->out, n, blocks);
}

#endif

/* Chunks are kept in the places of their weights among all. */
static void dense_keep_chunk(const struct dense *d, int chunk, void *kept, const float *w)
{
    order_chunk(d, chunk, (operand *)kept + (size_t)(chunk * CHUNK_DEPTH) * (size_t)d->out, w);
}

static void dense_backward_kept(const struct dense *d, int chunk, float *dx, const void *dy,
                                const void *kept, int n, float *scratch)
{
    ordered_data(d, chunk, dx, dy,
                 (const operand *)kept + (size_t)(chunk * CHUNK_DEPTH) * (size_t)d->out, n,
                 scratch);
}

/* A lane's operands start where its samples do: in the slot of its first one. By tiles of outputs:
 * [n slots][TILE_U][16]. */
static void dense_pack_lanes(const struct dense *d, void *packed, const float *dy, int n,
                             const struct lane_ends *lanes)
{
    const size_t floats = (size_t)d->out;

    for (int ob = 0; ob < d->out / VEC; ob += TILE_U) {
        const int n_u = imin(TILE_U, d->out / VEC - ob);
        const size_t at = (size_t)ob * (size_t)n + (size_t)lanes->begin * (size_t)n_u;
        operand *tile = (operand *)packed + at * VEC;
        uint32_t begin = 0;
        for (uint32_t lane = 0; lane < 1u << lanes->level; begin = lanes->end[lane++]) {
            operand *to = tile + (size_t)begin * (size_t)n_u * VEC;
            for (uint32_t i = begin; i < lanes->end[lane]; i += VALUES) {
                const float *from = dy + (lanes->begin + i) * floats + ob * VEC;
                for (int u = 0; u < n_u; u++, to += VEC, from += VEC)
                    operand_store(to, operand_samples(from, floats, i + 1 < lanes->end[lane]));
            }
        }
    }
}

/* The inputs of a chunk, likewise, each piece of columns slot after slot. */
static void pack_columns(const struct dense *d, int chunk, operand *to, const float *x,
                         const struct lane_ends *lanes, int pieces)
{
    const int kc = dense_chunk_inputs(d, chunk);
    const size_t samples = lanes->end[(1u << lanes->level) - 1], floats = (size_t)d->in;
    uint32_t begin = 0;

    for (uint32_t lane = 0; lane < 1u << lanes->level; begin = lanes->end[lane++]) {
        for (uint32_t i = begin, slot = begin; i < lanes->end[lane]; i += VALUES, slot++) {
            const float *from = x + (lanes->begin + i) * floats + chunk * DENSE_CHUNK;
            operand row[DENSE_CHUNK];
            for (int k = 0; k < kc; k += VEC)
                operand_store(row + k, operand_samples(from + k, floats, i + 1 < lanes->end[lane]));
            for (int p = 0; p < pieces; p++) {
                const int t0 = piece_begin(kc, pieces, p), t1 = piece_begin(kc, pieces, p + 1);
                const size_t width = (size_t)(t1 - t0);
                memcpy(to + (size_t)t0 * samples + slot * width, row + t0, width * sizeof *row);
            }
        }
    }
}

/* dst = the sum over the lanes [first, first + 2^level) with empty lanes skipped; false: all are.
 */
static bool sparse_tree(const struct product *p, int n_u, int n_t, const struct lane_ends *lanes,
                        uint32_t first, int level, float *stack)
{
    uint32_t begin = first ? lanes->end[first - 1] : 0;
    uint32_t end = lanes->end[first + (1u << level) - 1];
    struct product one = *p;

    if (begin == end)
        return false;
    if (level == 0) {
        one.w = (const operand *)p->w + (size_t)begin * p->w_k;
        one.x = (const operand *)p->x + (size_t)begin * p->x_k;
        one.k = (int)(end - begin + VALUES - 1) / VALUES;
        TABLE(product).run(&one, n_u, n_t);
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
                                   const void *packed, int n, const struct lane_ends *lanes,
                                   float *scratch)
{
    const struct product_kernels *pk = &TABLE(product);
    const int kc = dense_chunk_inputs(d, chunk), blocks = d->out / VEC;
    const int pieces = piece_count(kc, TILE_T);
    const uint32_t samples = lanes->end[(1u << lanes->level) - 1];
    operand *xp = (operand *)scratch;
    float *stack = scratch + (size_t)n * DENSE_CHUNK;

    pack_columns(d, chunk, xp, x, lanes, pieces);
    for (int ob = 0; ob < blocks; ob += TILE_U) {
        int n_u = imin(TILE_U, blocks - ob);
        struct product p = {
            .w = (const operand *)packed +
                 ((size_t)ob * (size_t)n + lanes->begin * (size_t)n_u) * VEC,
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
            if (lanes->full && pk->run_lanes)
                pk->run_lanes(&p, n_u, n_t, lanes, 1, stack);
            else
                sparse_tree(&p, n_u, n_t, lanes, 0, lanes->level, stack);
        }
    }
}

extern const struct dense_kernels TABLE(dense);
const struct dense_kernels TABLE(dense) = {
#if defined(BF16)
    .pack = dense_pack,
    .pack_rows = dense_pack_rows,
#endif
    .forward = dense_forward,
    .backward_data = dense_backward_data,
    .keep_chunk = dense_keep_chunk,
    .backward_kept = dense_backward_kept,
    .pack_lanes = dense_pack_lanes,
    .backward_weights = dense_backward_weights,
};
