#include "worker/kernels/reduce.h"

#include "worker/kernels/vec.h"

#define BLOCK 4096
#define TREE_LEVELS 52 /* 2^52 blocks: more than an address space has */

/* Blocks as they come, folded like a binary counter: level k holds a full node of 2^k blocks. */
struct tree {
    size_t n;
    double node[TREE_LEVELS];
};

VINLINE double node_sum(double left, double right, int narrow)
{
    return narrow ? (double)((float)left + (float)right) : left + right;
}

VINLINE void tree_push(struct tree *t, double block, int narrow)
{
    int level = 0;

    for (size_t n = t->n++; n & 1; n >>= 1)
        block = node_sum(t->node[level++], block, narrow);
    t->node[level] = block;
}

/* The root; what is absent on the right is skipped. */
VINLINE double tree_root(const struct tree *t, int narrow)
{
    double right = 0;
    int have = 0;

    for (int level = 0; t->n >> level; level++) {
        if (!(t->n >> level & 1))
            continue;
        right = have ? node_sum(t->node[level], right, narrow) : t->node[level];
        have = 1;
    }
    return right;
}

VINLINE vf step_sum(vf acc, vf x) { return vadd(acc, x); }
VINLINE vf step_squares(vf acc, vf x) { return vfma(x, x, acc); }

/* Sums over the tree of blocks; narrow: nodes are rounded to float. */
VINLINE double reduce(const float *x, size_t n, vf (*step)(vf, vf), int narrow)
{
    struct tree tree = {0};

    for (size_t start = 0; start < n; start += BLOCK) {
        size_t end = n - start < BLOCK ? n : start + BLOCK, i = start;
        vf acc = vzero();

        for (; i + VEC <= end; i += VEC)
            acc = step(acc, vload(x + i));
        if (i < end)
            acc = step(acc, vload_n(x + i, end - i));
        tree_push(&tree, (double)vfold(acc), narrow);
    }
    return tree_root(&tree, narrow);
}

static float reduce_sum(const float *x, size_t n) { return (float)reduce(x, n, step_sum, 1); }

static double reduce_sum_squares(const float *x, size_t n) { return reduce(x, n, step_squares, 0); }

static void reduce_add(float *acc, const float *x, size_t n)
{
    size_t i = 0;

    for (; i + VEC <= n; i += VEC)
        vstore(acc + i, vadd(vload(acc + i), vload(x + i)));
    if (i < n)
        vstore_n(acc + i, vadd(vload_n(acc + i, n - i), vload_n(x + i, n - i)), n - i);
}

static void reduce_scale(float *x, float factor, size_t n)
{
    size_t i = 0;
    vf f = vset1(factor);

    for (; i + VEC <= n; i += VEC)
        vstore(x + i, vmul(vload(x + i), f));
    if (i < n)
        vstore_n(x + i, vmul(vload_n(x + i, n - i), f), n - i);
}

/* 0 * x is NaN for an infinity or NaN, and NaN stays in the sum. */
VINLINE vf step_finite(vf acc, vf x) { return vadd(acc, vmul(x, vzero())); }

static int all_finite(const float *x, size_t n)
{
    size_t i = 0;
    vf acc = vzero();

    for (; i + VEC <= n; i += VEC)
        acc = step_finite(acc, vload(x + i));
    if (i < n)
        acc = step_finite(acc, vload_n(x + i, n - i));
    return vmbits(veq(acc, vzero())) == 0xFFFF;
}

static void to_bf16(uint16_t *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        uint32_t nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
        uint32_t quiet = bits >> 16 | 0x40;
        y[i] = (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : nearest);
    }
}

static void from_bf16(float *restrict y, const uint16_t *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)x[i] << 16;
        memcpy(y + i, &bits, sizeof bits);
    }
}

const struct reduce_kernels K(reduce_kernels) = {
    .sum = reduce_sum,
    .sum_squares = reduce_sum_squares,
    .add = reduce_add,
    .scale = reduce_scale,
    .all_finite = all_finite,
    .to_bf16 = to_bf16,
    .from_bf16 = from_bf16,
};
