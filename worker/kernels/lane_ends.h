/* The lanes of one block, as kernels that sum over all of them see them. */
#ifndef PACELINE_KERNEL_LANE_ENDS_H
#define PACELINE_KERNEL_LANE_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* The lanes of one block with their samples: lane i has samples end[i-1] .. end[i] of the rank. */
struct lane_ends {
    uint32_t begin;      /* first sample of the block */
    const uint32_t *end; /* relative to begin */
    int level;
    bool full; /* no lane is empty */
};

#endif
