/*
 * Lanes: the fixed cut of a batch that makes sums independent of ranks and threads.
 *
 * A batch of n samples is cut into L lanes (L a power of two); lane b has samples
 * floor(b*n/L) .. floor((b+1)*n/L). A lane's sum runs in sample order; lanes are summed in one
 * binary tree over 0..L-1 (a node is left + right), where an empty lane (n < L) is skipped, never
 * added as zero.
 *
 * A rank owns a contiguous range of lanes: a few aligned subtrees ("blocks"). Each block's sum is
 * a node of the one tree, so folding the blocks of all ranks in tree order gives the bytes of
 * one rank. Pure; no memory but its own.
 */
#ifndef PACELINE_LANES_H
#define PACELINE_LANES_H

#include <stdbool.h>
#include <stdint.h>

#define LANES_MAX 1024
#define LANES_MAX_BLOCKS 20 /* 2*log2(LANES_MAX) */

/* An aligned subtree: lanes first .. first + (1 << level). */
struct lane_block {
    int first, level;
};

struct lanes {
    int total;        /* L */
    int first, count; /* this rank's lanes */
    int n_blocks;
    struct lane_block blocks[LANES_MAX_BLOCKS]; /* in lane order */
};

/*
 * A tree of sums and the workers that share its leaves. The leaves are the lanes of one batch, or,
 * with batches > 0, the batches of one update, filled from the front: an update that has fewer
 * leaves the last ones empty. Ranks after the workers have none.
 */
struct lane_tree {
    int total; /* leaves: a power of two, at least `batches` */
    int batches;
    int workers; /* at most as many as lanes, or batches */
};

/* The smallest tree with a leaf per batch. */
struct lane_tree lane_tree_of_batches(int batches, int workers);

/* What a rank has: lanes, or batches, floor(r*n/w) .. floor((r+1)*n/w). */
void lane_tree_share(struct lane_tree tree, int rank, int *first, int *count);

/* The same as blocks; the last worker's go on to the end of the tree. */
void lanes_init(struct lanes *l, struct lane_tree tree, int rank);

static inline uint32_t lane_begin(int total, int lane, uint32_t n)
{
    return (uint32_t)((uint64_t)lane * n / (uint64_t)total);
}

/* Samples of the range of lanes [first, first + count). */
static inline uint32_t lane_samples(int total, int first, int count, uint32_t n)
{
    return lane_begin(total, first + count, n) - lane_begin(total, first, n);
}

/* Whether any leaf of the block has something: of n samples, or of n batches. */
static inline bool block_present(struct lane_tree tree, struct lane_block b, uint32_t n)
{
    return tree.batches ? (uint32_t)b.first < n
                        : lane_samples(tree.total, b.first, 1 << b.level, n) > 0;
}

/* Slabs in which a rank adds up its leaves, one leaf after another, as a binary counter: for each
 * of its blocks one, and for each sum in the running block that waits for another of its size. */
int lane_tree_slabs(struct lane_tree tree, int rank);
/* Where leaf `leaf`, one of the rank's, is added: *within is its number in its block. */
int lanes_slab(const struct lanes *l, int leaf, int *within, int *block);

/* One step of a fold: the sum of `into` becomes into + from. */
struct lane_add {
    int into, from;
};

/*
 * How to fold blocks that cut the leaves 0..total-1 in order, in the one tree: *n_adds steps, fewer
 * than there are blocks, each naming two blocks by index; those that are not present are skipped.
 * Returns the index of the block that ends up with the sum, -1 when none is present.
 */
int lanes_plan(int total, const struct lane_block *blocks, const bool *present,
               struct lane_add *adds, int *n_adds);

/* Folds doubles given per lane (absent lanes skipped) in the one tree; 0 when all are absent. */
double lanes_fold(int total, uint32_t n, const double *per_lane);

#endif
