/* One rank of a world, without its wires: a model, its lanes, and one gradient slab per block. */
#ifndef PACELINE_TEST_RANK_H
#define PACELINE_TEST_RANK_H

#include "paceline/mem.h"
#include "worker/model/model.h"

#define LANES 4

struct rank {
    struct lanes lanes;
    struct lane_ends ends[LANES_MAX_BLOCKS];
    uint32_t end_of[LANES];
    struct model model;
    struct pass pass;
    struct gradient_sink sink;
    uint32_t first; /* sample of the batch */
};

static inline void rank_not_applied(void *arg, size_t offset, size_t n)
{
    (void)arg, (void)offset, (void)n;
}

/* Ready for a training pass over its part of a batch of config.batch samples. */
static inline void rank_init_config(struct rank *r, const struct net *net,
                                    struct model_config config, int rank, int size, int lanes)
{
    const uint32_t n = config.batch;
    uint32_t *end = r->end_of;
    memset(r, 0, sizeof *r);
    lanes_init(&r->lanes, (struct lane_tree){lanes, 0, size}, rank);
    r->first = lane_begin(lanes, r->lanes.first, n);
    config.max_samples = n;
    config.levels = 3;
    model_init(&r->model, net, &config);
    r->sink.ready = rank_not_applied;
    r->sink.n_blocks = r->lanes.n_blocks;
    for (int b = 0; b < r->lanes.n_blocks; b++) {
        struct lane_block block = r->lanes.blocks[b];
        uint32_t begin = lane_begin(lanes, block.first, n);
        r->ends[b] = (struct lane_ends){begin - r->first, end, block.level, true};
        for (int lane = 0; lane < 1 << block.level; lane++) {
            end[lane] = lane_begin(lanes, block.first + lane + 1, n) - begin;
            r->ends[b].full = r->ends[b].full && end[lane] > (lane ? end[lane - 1] : 0);
        }
        end += 1 << block.level;
        r->sink.blocks[b] = xaligned(r->model.n_floats * sizeof(float));
    }
    r->pass = (struct pass){.n = lane_samples(lanes, r->lanes.first, r->lanes.count, n),
                            .training = true,
                            .n_blocks = r->lanes.n_blocks,
                            .blocks = r->ends,
                            .n_update = n,
                            .sink = &r->sink};
}

static inline void rank_init_lanes(struct rank *r, const struct net *net, const struct kernels *k,
                                   struct threads *threads, uint32_t n, int rank, int size,
                                   int lanes)
{
    struct model_config config = {.kernels = k, .threads = threads, .batch = n};
    rank_init_config(r, net, config, rank, size, lanes);
}

static inline void rank_init(struct rank *r, const struct net *net, const struct kernels *k,
                             struct threads *threads, uint32_t n, int rank, int size)
{
    rank_init_lanes(r, net, k, threads, n, rank, size, LANES);
}

static inline void rank_release(struct rank *r)
{
    for (int b = 0; b < r->lanes.n_blocks; b++)
        free(r->sink.blocks[b]);
    model_release(&r->model);
}

#endif
