/*
 * Model parallelism's question: which worker computes which part of a network. Parts are a graph
 * without cycles, in an order in which each comes after what it reads. Pure.
 *
 * The answer has the least load of the slowest worker, for a pipeline is as fast as its slowest
 * stage, and among those that, the fewest bytes sent. An output goes once to each other worker
 * that reads it.
 */
#ifndef PACELINE_SPLIT_H
#define PACELINE_SPLIT_H

#include <stddef.h>

struct split_part {
    double load;  /* FLOPs of a sample, forward and backward */
    double bytes; /* of a sample, to a worker that reads the output: values, and back gradients */
};

struct split_edge {
    int from, to; /* to reads the output of from; from < to */
};

struct split_graph {
    const struct split_part *parts;
    int n_parts; /* at least 1 */
    const struct split_edge *edges;
    int n_edges;
};

struct split_cost {
    double slowest; /* the largest load of a worker */
    double bytes;
};

/* Of a split: worker[i] has part i. */
struct split_cost split_cost(const struct split_graph *g, const int *worker, int workers);

/*
 * The best split. Of a chain (each part reads the one before it and nothing else) that into
 * contiguous stages, exactly, by dynamic programming. Of another graph of at most
 * SPLIT_SEARCHED parts the best that a branch and bound finds within so many looks that twelve
 * parts on three workers are searched completely. Of a larger one stages of parts that are
 * neighbours in the order, since work that goes to and fro between workers fills no pipeline,
 * whatever its balance is. Workers are numbered in the order of their first parts; some may be left
 * without any.
 */
#define SPLIT_SEARCHED 16
void split_best(const struct split_graph *g, int workers, int *worker);

/* Contiguous stages of as equal a number of parts as can be, whatever they cost. */
void split_naive(int n_parts, int workers, int *worker);

#endif
