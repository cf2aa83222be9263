/*
 * A network as the parts that the engine computes as one: a convolution with the ReLU and the 2x2
 * pooling after it, a dense layer or a sum with its ReLU; a flatten layer goes with the part
 * before it. A worker of a split network has whole parts. Knows the engine's layout only as far as
 * channels are padded to blocks of 16. The samples are everybody's: who reads them reads no part.
 */
#ifndef PACELINE_NET_PARTS_H
#define PACELINE_NET_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/net.h"
#include "paceline/split.h"

/* The layers from i on that are computed as one: their number, and what is fused. */
struct fusion {
    int taken;
    bool relu, pool;
};
struct fusion net_fusion(const struct net *net, size_t i);

struct net_part {
    size_t first, n;   /* layers of the net */
    size_t parameters; /* of all its layers */
    size_t floats;     /* outputs that it keeps for its backward pass, per sample */
    size_t out;        /* floats of its last output, per sample */
    bool trained;      /* it has parameters that are trained */
    bool back;         /* so has it, or a part below: a gradient comes back to it */
};

struct net_parts {
    struct net_part *items;
    int n;
    struct split_part *costs; /* of each */
    struct split_edge *edges; /* which reads which */
    int n_edges;
};

void net_parts_init(struct net_parts *p, const struct net *net);
void net_parts_release(struct net_parts *p); /* also fit for AUTO */

#endif
