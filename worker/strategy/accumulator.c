/* A binary counter: where two sums of equal size lie on each other they become one. */
#include "worker/strategy/accumulator.h"

#include "paceline/mem.h"

void accumulator_init(struct accumulator *a, const struct reduce_kernels *k, struct lane_tree tree,
                      int rank, size_t n)
{
    int first, count;

    *a = (struct accumulator){.kernels = k, .n = n, .n_slabs = 1};
    lanes_init(&a->batches, tree, rank);
    if (a->batches.n_blocks)
        a->n_slabs = a->batches.n_blocks;
    lane_tree_share(tree, rank, &first, &count);
    for (int i = first; i < first + count; i++) {
        accumulator_begin(a, i, tree.batches);
        a->n_slabs = a->running >= a->n_slabs ? a->running + 1 : a->n_slabs;
    }
    a->slabs = xaligned(n * (size_t)a->n_slabs * sizeof *a->slabs);
}

void accumulator_release(struct accumulator *a) { free(a->slabs); }

float *accumulator_begin(struct accumulator *a, int batch, int end)
{
    int block = 0, within;

    a->running = a->adds = 0;
    if (batch < a->batches.first || batch >= a->batches.first + a->batches.count)
        return a->slabs;
    while (block + 1 < a->batches.n_blocks && a->batches.blocks[block + 1].first <= batch)
        block++;
    within = batch - a->batches.blocks[block].first;
    a->running = block + __builtin_popcount((unsigned)within);
    a->adds = batch + 1 == end ? a->running - block : __builtin_ctz((unsigned)within + 1);
    return a->slabs + a->n * (size_t)a->running;
}

void accumulator_add(const struct accumulator *a, size_t offset, size_t n)
{
    for (int i = 0; i < a->adds; i++) {
        float *from = a->slabs + a->n * (size_t)(a->running - i) + offset;

        a->kernels->add(from - a->n, from, n);
    }
}
