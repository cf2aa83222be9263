// LINK: common worker/kernels worker/lanes/lanes.c worker/strategy/accumulator.c
/* Sums of batches: whoever has which, together they are those of the one tree. */
#include <math.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/kernels/kernels.h"
#include "worker/strategy/accumulator.h"

enum { N = 37, MOST = 11 };

static float gradient(int batch, size_t i) { return sinf((float)(batch * 100 + (int)i)) + 0.1f; }

/* The sum of the batches below end among count leaves from first on; NaN: none. */
static float tree_sum(int first, int count, int end, size_t i)
{
    if (count == 1)
        return first < end ? gradient(first, i) : NAN;

    float left = tree_sum(first, count / 2, end, i);
    float right = tree_sum(first + count / 2, count / 2, end, i);

    return isnan(right) ? left : left + right;
}

/* A worker's part of an update of `end` batches: its blocks' sums against the tree's nodes. */
static void check_worker(const struct kernels *k, struct lane_tree tree, int rank, int end)
{
    struct accumulator a;
    int first, count;

    accumulator_init(&a, k->reduce, tree, rank, N);
    lane_tree_share(tree, rank, &first, &count);
    for (int batch = first; batch < first + count && batch < end; batch++) {
        float *to = accumulator_begin(&a, batch, end);

        for (size_t i = 0; i < N; i++)
            to[i] = gradient(batch, i);
        accumulator_add(&a, 20, N - 20); /* in any ranges */
        accumulator_add(&a, 0, 20);
    }
    for (int b = 0; b < a.batches.n_blocks && a.batches.blocks[b].first < end; b++) {
        const struct lane_block block = a.batches.blocks[b];

        for (size_t i = 0; i < N; i++)
            CHECK(a.slabs[(size_t)b * N + i] == tree_sum(block.first, 1 << block.level, end, i));
    }
    accumulator_release(&a);
}

/* One worker has one slab per level that is under way, and its sum in the first. */
static void check_memory(const struct kernels *k)
{
    static const struct {
        int batches, slabs;
    } cases[] = {{1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 3}, {8, 4}, {9, 4}, {64, 7}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct accumulator a;

        accumulator_init(&a, k->reduce, lane_tree_of_batches(cases[i].batches, 1), 0, N);
        CHECK_INT(a.batches.n_blocks, 1);
        CHECK_INT(a.n_slabs, cases[i].slabs);
        accumulator_release(&a);
    }
}

int main(void)
{
    const struct kernels *k = kernels_select(NULL);

    for (int batches = 1; batches <= MOST; batches++)
        for (int workers = 1; workers <= batches; workers++)
            for (int end = 1; end <= batches; end++)
                for (int rank = 0; rank < workers; rank++)
                    check_worker(k, lane_tree_of_batches(batches, workers), rank, end);
    check_memory(k);
    return test_result();
}
