/*
 * Everything one rank needs to train a job: model, optimiser, data, lanes, strategy. All of it is
 * allocated at the start; a step allocates nothing.
 */
#ifndef PACELINE_TRAINER_H
#define PACELINE_TRAINER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "paceline/spec.h"
#include "worker/checkpoint/config.h"
#include "worker/comm/comm.h"
#include "worker/data/batch/distribution.h"
#include "worker/data/data.h"
#include "worker/model/loss.h"
#include "worker/model/model.h"
#include "worker/optim/optim.h"
#include "worker/threads/threads.h"
#include "worker/train/early_stop.h"
#include "worker/train/score_sums.h"
#include "worker/train/switch_point.h"
#include "worker/train/telemetry/phases.h"

/* Sums over samples in a fixed order: within a batch by lanes, then batch by batch. For a text,
 * samples are words here. Scores are those of struct loss_result. */
struct totals {
    double loss;
    int64_t samples;
    double scores[2];
};

/* The evaluation of a set. */
struct evaluation {
    struct totals totals;
    struct scores scores;
};

/* The change of strategy; step 0: it has not happened. */
struct switched {
    int64_t step, epoch; /* after these */
    enum switch_reason reason;
};

/* Where the training stands; all of it goes into a checkpoint. */
struct position {
    int64_t step;   /* updates done */
    int64_t epoch;  /* 0-based */
    uint32_t batch; /* next batch of that epoch */
    struct totals epoch_totals;
    double best; /* metric_of_best of the validation set, or else of the test set; below zero: none
                    yet */
    int64_t best_step;
    struct switched switched; /* StrategySwitch's */
    struct losses losses;
    struct early_stop early;
};

struct trainer;

/* How the ranks share the work; worker/strategy has one file for each. */
struct strategy {
    /* Sets t->lanes. Called before anything is allocated, and again before init. */
    void (*share)(struct trainer *t);
    /* For strategies in which one rank has all lanes of a batch: whether the batch is this rank's.
     * Called by other threads. */
    bool (*takes)(const struct trainer *t, uint32_t batch);
    bool draws; /* the order of batches is not known in advance */
    /* For strategies in which each worker has some of the layers: sets t->owners. Fails
     * (ERR_INVALID) if the layers cannot be split like that. NULL: every worker has all layers. */
    int (*place)(struct trainer *t, struct err *err);
    /* Allocates the strategy's state (t->own): gradients, buffers of messages. */
    void (*init)(struct trainer *t);
    void (*release)(struct trainer *t);
    /* The part of trainer_step that differs between strategies. */
    int (*step)(struct trainer *t, struct err *err);
    /* Collective. If only some ranks have parameters, brings them to all ranks, together with
     * their state if all ranks have room for it. */
    void (*gather)(struct trainer *t);
    /* Collective, called for each tensor in turn if trainer_is_apart. Returns tensor `param` of the
     * weights (slot -1) or of an optimiser slot, in the form of a checkpoint: in trainer_room on
     * the ranks that write checkpoints, NULL on others. May use the gradients' slab. */
    const float *(*collect)(struct trainer *t, int slot, const struct param *param);
    /* Writes losses and scores of an evaluation batch, of all lanes, to t->all_lane_values, and
     * adds those of the rank's own lanes to the sums. NULL: the rank computes its lanes by itself.
     */
    void (*evaluate)(struct trainer *t, const struct batch *b, struct score_sums *sums);
    void (*report)(const struct trainer *t, cJSON *done); /* adds to the last event; or NULL */
};

#define STRATEGIES_MAX 2

struct trainer {
    const struct job *job;
    const struct strategy *strategies[STRATEGIES_MAX]; /* [1]: the one after the switch, or NULL */
    const struct strategy *strategy;                   /* the one that runs */
    void *own;                                         /* the strategy's state */
    struct comm *comm;
    const struct kernels *kernels;
    struct threads *threads;
    struct datasets data;
    struct normalizer normalizer;
    struct distribution shares; /* of the samples, one for each worker or group; n 0: none */
    struct net net;
    int *owners; /* the worker of each layer of the net; NULL: every worker has all */
    struct model model;
    struct placement placement; /* the parameters' owners; n 0: all ranks make all updates */
    bool sharded;               /* optimiser state is with the owners alone */
    struct optimizer optimizer;
    int workers;                /* the first ranks of the world */
    struct lane_tree lane_tree; /* a batch that all workers share */
    struct lanes shared;        /* this rank's lanes of such a batch: all evaluation */
    struct lanes lanes;         /* of a training batch, as the strategy chose them */
    size_t gradient_floats;     /* that the strategy holds */
    struct gradient_sink sink;
    struct batcher *batches, *validation, *test;
    struct pass pass;
    bool serves; /* other ranks wait for this rank's work in pass.poll */
    struct lane_ends block_ends[LANES_MAX_BLOCKS];
    uint32_t *lane_ends;                   /* LANES_MAX * LANES_MAX_BLOCKS at most; one slab */
    double *lane_values, *all_lane_values; /* LANE_VALUES per lane */
    struct position at;
    bool
        together; /* all ranks are at this position; else they will be at step `until`, or before */
    int64_t until;
    struct position began; /* where all ranks were together last */
    double computing;      /* since when */
    int64_t gathered;      /* the step of which every rank has all weights and state; -1: none */
    struct phases phases;
    struct profile *profile;         /* rank 0's, where the job asks for one; else NULL */
    struct batcher_seconds prepared; /* seconds of batchers that are gone */
    float *
        checkpoint_tensor; /* the tensor of a checkpoint that is under way; made by the first one */
    int mirror;            /* the rank that writes checkpoints besides rank 0, or -1 */
    int64_t steps;         /* of the whole training; fewer once it stops early */
    bool evaluating;
    struct loss_result *losses; /* of each position of the rank's samples */
    double *side_losses;        /* of each side output, of each position; times its weight */
    struct score_sums validated, tested; /* of the last evaluation of either set */
    int wish;   /* rank 0: ORDER_* for all ranks; travels with the step's losses */
    int orders; /* rank 0's wish of the last step; the same on every rank */
};

/* Values per lane or per batch: loss and scores; the first lane also carries rank 0's orders. */
#define LANE_VALUES 4
#define LANE_ORDERS 3

/* What all ranks do after the step. */
enum { ORDER_STOP = 1, ORDER_SAVE = 2, ORDERS_ALL = 3 };

/* Takes ownership of *data (emptied). The network must fit its shape; at most one thread per lane.
 * Fails with ERR_INVALID naming what does not fit, memory included. */
MUST_CHECK int trainer_init(struct trainer *t, const struct job *job, struct comm *comm,
                            const struct kernels *kernels,
                            const struct strategy *const strategies[STRATEGIES_MAX],
                            struct datasets *data, struct err *err);
void trainer_release(struct trainer *t);
/* Collective, when all ranks are together: releases the running strategy and continues from t->at
 * with this one of t->strategies. Weights and optimiser state stay as they are on this rank, so
 * call trainer_gather first. */
void trainer_enter(struct trainer *t, const struct strategy *strategy);
/* Whether trainer_gather leaves some tensors with their owners, so that collect has to bring them.
 */
static inline bool trainer_is_apart(const struct trainer *t) { return t->sharded || t->owners; }
/* Room for one tensor of the checkpoint that is being written: t->checkpoint_tensor. */
float *trainer_room(struct trainer *t);

/* The names of the data's classes, or the words of a text; none if the data have none. */
struct config_names trainer_class_names(const struct trainer *t);
/* The names of the columns that a sample's values are; none, where they have none. */
struct config_names trainer_columns(const struct trainer *t);
/* The time spent on making batches so far. */
struct batcher_seconds trainer_prepared(const struct trainer *t);
/* Bytes of all batches that exist at a time and of the losses of their samples. */
size_t trainer_batch_bytes(const struct trainer *t);
/* Bytes that this rank needs besides the data: model, optimiser state, gradients, batches and the
 * tensor of a checkpoint. */
uint64_t trainer_bytes(const struct trainer *t);
double trainer_seconds(void); /* a monotonic clock */

/* One update: forward, loss, backward, reduction, update. Adds its batches to t->at.epoch_totals
 * and moves t->at on. Fails with ERR_DIVERGED (the same verdict on every rank) when the loss is not
 * finite; the weights of that step must not be kept. */
MUST_CHECK int trainer_step(struct trainer *t, struct err *err);

/* Collective. Evaluate the validation samples (there must be some) and the test set. The result is
 * the same on every rank. */
struct evaluation trainer_validate(struct trainer *t);
struct evaluation trainer_test(struct trainer *t);

/* Collective. On rank 0: l2/2 * the sum of squared weights, without biases and frozen layers. */
double trainer_l2(struct trainer *t);

/* Collective. Until the next step every rank then has all weights and optimiser state, except those
 * that the strategy has to collect. */
void trainer_gather(struct trainer *t);

/* Compares the weights of all ranks. Fails with ERR_DIVERGED, naming the rank and the tensor. */
MUST_CHECK int trainer_check_replicas(struct trainer *t, struct err *err);

int64_t trainer_planned_steps(const struct trainer *t); /* without early stopping */
double trainer_learning_rate(const struct trainer *t);
uint32_t trainer_batches_per_epoch(const struct trainer *t);
/* Checks a position that this rank has sent; ends the world unless the training has such a
 * position. */
void trainer_check_position(const struct trainer *t, int rank, const struct position *at);
/* The orders (ORDER_*) that this rank has sent; ends the world unless there are such orders. */
int trainer_read_orders(const struct trainer *t, int rank, double orders);
uint32_t trainer_samples_per_epoch(const struct trainer *t); /* of all workers */
/* An update sees training.accumulate batches; an epoch's last one may see fewer. */
uint32_t trainer_updates_per_epoch(const struct trainer *t);

enum resume {
    RESUME_NO,
    RESUME_NEWEST, /* the newest checkpoint; it must be there and whole */
    RESUME_IF_ANY, /* the newest that is whole; if there is none, the training starts anew */
};

struct run_options {
    const char *dir; /* the run folder, made when it is not there; NULL: nothing is written */
    enum resume resume;
    const char *durable; /* rank 0 also writes the job's own checkpoints there; or NULL */
    int64_t
        memory_seconds; /* with durable: also write checkpoints to dir only, this often; 0: none */
    bool mirror;        /* a rank on another host writes the checkpoints to its own dir, too */
    bool time_transfer; /* event `start` says how long parameters take from one rank to another */
    int64_t step_timeout;  /* seconds; 0: none */
    const char *stop_file; /* rank 0: when it is there, all stop after the step; or NULL */
    const double *idle;    /* usage.h: of the process before it loaded anything; or NULL */
};

/* Collective. Trains the whole job with its epochs, events and checkpoints, or until it is stopped.
 * All options except dir and stop_file are the same on every rank. */
MUST_CHECK int trainer_run(struct trainer *t, const struct run_options *o, struct err *err);

#endif
