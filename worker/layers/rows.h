/* A text's layers that work on each position by itself see every row as a sample. */
#ifndef PACELINE_ROWS_H
#define PACELINE_ROWS_H

#include "worker/layers/layer.h"

/* A pass whose samples are the rows of another one's. */
struct row_pass {
    struct pass pass;
    struct lane_ends blocks[LANES_MAX_BLOCKS];
    uint32_t ends[LANES_MAX];
};

/* Of a sample with one row the pass itself, else r->pass: fit for sums over samples alone. */
const struct pass *rows_of(struct row_pass *r, const struct pass *p, int rows);

#endif
