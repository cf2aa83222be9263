#include "worker/lanes/lanes.h"

#include <assert.h>
#include <stddef.h>

struct lane_tree lane_tree_of_batches(int batches, int workers)
{
    struct lane_tree tree = {.total = 1, .batches = batches, .workers = workers};

    while (tree.total < batches)
        tree.total *= 2;
    return tree;
}

void lane_tree_share(struct lane_tree tree, int rank, int *first, int *count)
{
    int64_t used = tree.batches ? tree.batches : tree.total;

    if (rank > tree.workers)
        rank = tree.workers;
    *first = (int)(rank * used / tree.workers);
    *count = rank < tree.workers ? (int)((rank + 1) * used / tree.workers) - *first : 0;
}

/* The largest aligned subtree that starts at lane first and has at most count lanes. */
static int block_level(int first, int count)
{
    int level = 0;

    while (2 << level <= count && first % (2 << level) == 0)
        level++;
    return level;
}

void lanes_init(struct lanes *l, struct lane_tree tree, int rank)
{
    assert(tree.total > 0 && tree.total <= LANES_MAX && (tree.total & (tree.total - 1)) == 0);
    assert(rank >= 0 && tree.workers > 0 && tree.batches <= tree.total &&
           tree.workers <= (tree.batches ? tree.batches : tree.total));

    *l = (struct lanes){.total = tree.total};
    lane_tree_share(tree, rank, &l->first, &l->count);
    if (rank == tree.workers - 1)
        l->count = tree.total - l->first;
    for (int lane = l->first, end = l->first + l->count; lane < end;) {
        struct lane_block block = {lane, block_level(lane, end - lane)};

        assert(l->n_blocks < LANES_MAX_BLOCKS);
        l->blocks[l->n_blocks++] = block;
        lane += 1 << block.level;
    }
}

struct planner {
    const struct lane_block *blocks;
    const bool *present;
    int next; /* block that the walk meets next */
    struct lane_add *adds;
    int n_adds;
};

/* Walks the subtree of lanes first .. first + count; returns the block that holds its sum. */
static int plan_node(struct planner *p, int first, int count)
{
    if (p->blocks[p->next].first == first && 1 << p->blocks[p->next].level == count) {
        int block = p->next++;

        return p->present[block] ? block : -1;
    }
    assert(count > 1);

    int left = plan_node(p, first, count / 2);
    int right = plan_node(p, first + count / 2, count / 2);

    if (left < 0 || right < 0)
        return left < 0 ? right : left;
    p->adds[p->n_adds++] = (struct lane_add){left, right};
    return left;
}

int lanes_plan(int total, const struct lane_block *blocks, const bool *present,
               struct lane_add *adds, int *n_adds)
{
    struct planner p = {.blocks = blocks, .present = present, .adds = adds};
    int sum = plan_node(&p, 0, total);

    *n_adds = p.n_adds;
    return sum;
}

static double fold_node(int total, uint32_t n, const double *per_lane, int first, int count)
{
    int half = count / 2;

    if (count == 1)
        return per_lane[first];
    if (lane_samples(total, first, half, n) == 0)
        return fold_node(total, n, per_lane, first + half, half);
    if (lane_samples(total, first + half, half, n) == 0)
        return fold_node(total, n, per_lane, first, half);
    return fold_node(total, n, per_lane, first, half) +
           fold_node(total, n, per_lane, first + half, half);
}

double lanes_fold(int total, uint32_t n, const double *per_lane)
{
    return n ? fold_node(total, n, per_lane, 0, total) : 0.0;
}

int lanes_slab(const struct lanes *l, int leaf, int *within, int *block)
{
    *block = 0;
    while (*block + 1 < l->n_blocks && l->blocks[*block + 1].first <= leaf)
        ++*block;
    *within = leaf - l->blocks[*block].first;
    return *block + __builtin_popcount((unsigned)*within);
}

int lane_tree_slabs(struct lane_tree tree, int rank)
{
    struct lanes l;
    int first, count, slabs, within, block;

    lanes_init(&l, tree, rank);
    lane_tree_share(tree, rank, &first, &count);
    slabs = l.n_blocks ? l.n_blocks : 1;
    for (int i = first; i < first + count; i++) {
        const int at = lanes_slab(&l, i, &within, &block);
        slabs = at >= slabs ? at + 1 : slabs;
    }
    return slabs;
}
