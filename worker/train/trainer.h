/*
 * Everything one rank needs to train a job: model, optimiser, data, lanes, reducer. Made once;
 * a step allocates nothing.
 */
#ifndef PACELINE_TRAINER_H
#define PACELINE_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "paceline/spec.h"
#include "worker/comm/comm.h"
#include "worker/data/data.h"
#include "worker/model/model.h"
#include "worker/optim/optim.h"
#include "worker/threads/threads.h"

/* Seconds by what the rank was doing. */
struct phases {
    double data, forward, backward, communication, update, evaluate;
};

/* Sums over samples, in the one order: per batch by lanes, then batch by batch. */
struct totals {
    double loss;
    int64_t samples, correct, top5;
};

/* Where the training stands; all of it goes into a checkpoint. */
struct position {
    int64_t step;   /* updates done */
    int64_t epoch;  /* 0-based */
    uint32_t batch; /* next batch of that epoch */
    struct totals epoch_totals;
    double best_accuracy; /* by validation, else test; below zero: none yet */
    int64_t best_step;
};

struct trainer {
    const struct job *job;
    struct comm *comm;
    const struct kernels *kernels;
    struct threads *threads;
    struct datasets data;
    struct net net;
    struct model model;
    struct optimizer optimizer;
    struct lanes lanes;
    struct reducer *reducer; /* NULL: one rank */
    float *slabs;            /* gradient of each lane block; NULL: applied at once */
    struct gradient_sink sink;
    struct batcher *batches, *validation, *test;
    struct pass pass;
    struct lane_ends block_ends[LANES_MAX_BLOCKS];
    uint32_t *lane_ends;                   /* LANES_MAX * LANES_MAX_BLOCKS at most; one slab */
    double *lane_values, *all_lane_values; /* LANE_VALUES per lane */
    struct position at;
    struct phases phases;
    float *snapshot; /* tensors in the order of a checkpoint; made by the first one */
    int64_t steps;   /* in all */
    bool evaluating;
    int64_t *confusion; /* [label][predicted] of the last evaluation of the test set */
    int wish;           /* rank 0: ORDER_* for all ranks; travels with the step's losses */
    int orders;         /* what rank 0 wished in the last step; the same on every rank */
};

/* Of a lane: loss, correct, top5; of lane 0 rank 0's orders too. */
#define LANE_VALUES 4
#define LANE_ORDERS 3

/* To be done behind the step. */
enum { ORDER_STOP = 1, ORDER_SAVE = 2 };

/* Takes ownership of *data (emptied). The network must fit its shape; at most one thread per lane.
 * Fails with ERR_INVALID naming what does not fit, memory included. */
MUST_CHECK int trainer_init(struct trainer *t, const struct job *job, struct comm *comm,
                            const struct kernels *kernels, struct datasets *data, struct err *err);
void trainer_release(struct trainer *t);
/* Bytes of this rank, besides the data: model, optimiser state, gradients. */
uint64_t trainer_bytes(const struct trainer *t);
double trainer_seconds(void); /* a monotonic clock */

/* One update: forward, loss, backward, reduction, update. Adds the batch to t->at.epoch_totals and
 * moves t->at on. Fails with ERR_DIVERGED (the same verdict on every rank) when the loss is not
 * finite; the weights of that step are not to be kept. */
MUST_CHECK int trainer_step(struct trainer *t, struct err *err);

/* Loss and accuracy over all batches of a batcher of evaluation, the same on every rank; counts
 * go to t->confusion when it is given. */
struct totals trainer_evaluate(struct trainer *t, struct batcher *set, int64_t *confusion);

/* l2/2 * sum of the squared weights (biases and frozen layers apart). */
double trainer_l2(const struct trainer *t);

/* Compares the weights of all ranks; ERR_DIVERGED names rank and tensor. */
MUST_CHECK int trainer_check_replicas(struct trainer *t, struct err *err);

double trainer_learning_rate(const struct trainer *t);
uint32_t trainer_batches_per_epoch(const struct trainer *t);

enum resume {
    RESUME_NO,
    RESUME_NEWEST, /* the newest checkpoint; it must be there and whole */
    RESUME_IF_ANY, /* the newest that is whole; without one the training begins */
};

struct run_options {
    const char *dir; /* the run folder, made when it is not there; NULL: nothing is written */
    enum resume resume;
    bool mirror;           /* a rank of another host writes the checkpoints too, into its dir */
    int64_t step_timeout;  /* seconds; 0: none */
    const char *stop_file; /* rank 0: when it is there, all stop behind the step; or NULL */
};

/* The whole job: epochs, events, checkpoints; or until it is stopped. Collective: all options but
 * dir and stop_file are the same on every rank. */
MUST_CHECK int trainer_run(struct trainer *t, const struct run_options *o, struct err *err);

#endif
