#include "worker/comm/reducer.h"

void fold_locate_mine(struct reducer *r, size_t offset)
{
    for (int i = 0; i < r->n_mine; i++)
        r->leaves[r->first_mine + i] =
            (struct leaf){.rank = r->rank, .data = r->blocks[i] + offset};
}

unsigned char *leaf_buffer(const struct reducer *r, const struct chunk *p, int leaf)
{
    int place = leaf < r->first_mine ? leaf : leaf - r->n_mine;

    return p->buffer + (size_t)place * r->segment * r->wire_bytes;
}

void fold_locate_received(struct reducer *r, const struct chunk *p)
{
    for (int leaf = 0; leaf < r->n_leaves; leaf++) {
        void *received = is_mine(r, leaf) ? NULL : leaf_buffer(r, p, leaf);

        if (!received)
            continue;
        if (r->config.wire == WIRE_BF16)
            r->leaves[leaf].wire = received;
        else
            r->leaves[leaf].data = received;
    }
}

/* The leaf's values from i on as floats that may be added to. */
static float *leaf_values(const struct reducer *r, int leaf, size_t i)
{
    const struct leaf *l = &r->leaves[leaf];

    return l->wire ? r->scratch + (size_t)leaf * FOLD_TILE : l->data + i;
}

static void fold_tile(struct reducer *r, size_t i, size_t n, float *out)
{
    for (int leaf = 0; leaf < r->n_leaves; leaf++)
        if (r->present[leaf] && r->leaves[leaf].wire)
            r->kernels->from_bf16(leaf_values(r, leaf, i), r->leaves[leaf].wire + i, n);
    for (int k = 0; k < r->n_adds; k++)
        r->kernels->add(leaf_values(r, r->adds[k].into, i), leaf_values(r, r->adds[k].from, i), n);

    const float *sum = leaf_values(r, r->sum, i);

    if (sum != out)
        memcpy(out, sum, n * sizeof *out);
}

void fold_leaves(struct reducer *r, size_t n, float *out)
{
    if (r->sum < 0) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    if (r->n_adds == 0 && r->leaves[r->sum].data == out)
        return;
    for (size_t i = 0; i < n; i += FOLD_TILE)
        fold_tile(r, i, n - i < FOLD_TILE ? n - i : FOLD_TILE, out + i);
}

void wire_add(const struct reducer *r, float *acc, const void *wire, size_t n)
{
    if (r->config.wire == WIRE_FP32) {
        r->kernels->add(acc, wire, n);
        return;
    }
    for (size_t i = 0; i < n; i += FOLD_TILE) {
        size_t m = n - i < FOLD_TILE ? n - i : FOLD_TILE;
        float x[FOLD_TILE];

        r->kernels->from_bf16(x, (const uint16_t *)wire + i, m);
        r->kernels->add(acc + i, x, m);
    }
}

void wire_round(const struct reducer *r, uint16_t *wire, float *x, size_t n)
{
    r->kernels->to_bf16(wire, x, n);
    r->kernels->from_bf16(x, wire, n);
}
