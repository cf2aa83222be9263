/* A binary counter: where two sums of equal size lie on each other they become one. */
#include "worker/strategy/accumulator.h"

#include "paceline/mem.h"

void accumulator_init(struct accumulator *a, const struct reduce_kernels *k, struct lane_tree tree,
                      int rank, size_t n)
{
    *a = (struct accumulator){.kernels = k, .n = n, .n_slabs = lane_tree_slabs(tree, rank)};
    lanes_init(&a->batches, tree, rank);
    a->slabs = xaligned(n * (size_t)a->n_slabs * sizeof *a->slabs);
}

void accumulator_release(struct accumulator *a) { free(a->slabs); }

float *accumulator_begin(struct accumulator *a, int batch, int end)
{
    int block, within;

    a->running = a->adds = 0;
    if (batch < a->batches.first || batch >= a->batches.first + a->batches.count)
        return a->slabs;
    a->running = lanes_slab(&a->batches, batch, &within, &block);
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
