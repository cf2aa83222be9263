/*
 * Everything one rank needs to train a job: model, optimiser, data, lanes, strategy. Made once;
 * a step allocates nothing.
 */
#ifndef PACELINE_TRAINER_H
#define PACELINE_TRAINER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "paceline/spec.h"
#include "worker/checkpoint/config.h"
#include "worker/comm/comm.h"
#include "worker/data/data.h"
#include "worker/data/distribution.h"
#include "worker/model/loss.h"
#include "worker/model/model.h"
#include "worker/optim/optim.h"
#include "worker/threads/threads.h"
#include "worker/train/early_stop.h"
#include "worker/train/phases.h"
#include "worker/train/switch_point.h"
#include "worker/train/tally.h"

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

/* The change of strategy; step 0: it has not been. */
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
    double best; /* metric_of_best, by validation, else test; below zero: none yet */
    int64_t best_step;
    struct switched switched; /* StrategySwitch's */
    struct losses losses;
    struct early_stop early;
};

struct trainer;

/* How the ranks share the work; worker/strategy has one file for each. */
struct strategy {
    /* Sets t->lanes, before anything is made; asked again before init. */
    void (*share)(struct trainer *t);
    /* Where a rank has all lanes of a batch: whether it is this rank's. Called by other threads. */
    bool (*takes)(const struct trainer *t, uint32_t batch);
    bool draws; /* batches come in no order that could be made ahead */
    /* Where each worker has some of the layers: sets t->owners, and fails (ERR_INVALID) where they
     * cannot be split so. NULL: every worker has all. */
    int (*place)(struct trainer *t, struct err *err);
    /* Makes what it holds (t->own): gradients, buffers of messages. */
    void (*init)(struct trainer *t);
    void (*release)(struct trainer *t);
    /* trainer_step without what is the same in all strategies. */
    int (*step)(struct trainer *t, struct err *err);
    /* Collective. Where parameters are kept by some ranks: brings them to all, with their state
     * where all have room for it. */
    void (*gather)(struct trainer *t);
    /* Collective, for each tensor in turn, where trainer_is_apart: tensor `param` of the weights
     * (slot -1) or of an optimiser slot, as others read it, in trainer_room on the ranks that write
     * checkpoints; NULL on others. May use the gradients' slab. */
    const float *(*collect)(struct trainer *t, int slot, const struct param *param);
    /* Writes losses and scores of an evaluation batch, of all lanes, to t->all_lane_values, and
     * adds those of the rank's own lanes to the tally. NULL: the rank computes its lanes by itself.
     */
    void (*evaluate)(struct trainer *t, const struct batch *b, struct tally *tally);
    void (*report)(const struct trainer *t, cJSON *done); /* adds to the last event; or NULL */
};

#define STRATEGIES_MAX 2

struct trainer {
    const struct job *job;
    const struct strategy
        *strategies[STRATEGIES_MAX]; /* [1]: after the switch; NULL: there is none */
    const struct strategy *strategy; /* the one that runs */
    void *own;                       /* the strategy's */
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
    struct lanes lanes;         /* and of a training batch; the strategy's choice */
    size_t gradient_floats;     /* that the strategy holds */
    struct gradient_sink sink;
    struct batcher *batches, *validation, *test;
    struct pass pass;
    bool serves; /* others wait for what this rank does in pass.poll */
    struct lane_ends block_ends[LANES_MAX_BLOCKS];
    uint32_t *lane_ends;                   /* LANES_MAX * LANES_MAX_BLOCKS at most; one slab */
    double *lane_values, *all_lane_values; /* LANE_VALUES per lane */
    struct position at;
    bool together; /* all ranks are at this position; else they meet at step `until`, or before */
    int64_t until;
    struct position began; /* where they were together last */
    double computing;      /* since when */
    int64_t gathered;      /* the step that all ranks have all of; -1: none */
    struct phases phases;
    struct profile *profile;         /* rank 0's, where the job asks for one; else NULL */
    struct batcher_seconds prepared; /* seconds of batchers that are gone */
    float *
        checkpoint_tensor; /* the tensor of a checkpoint that is under way; made by the first one */
    int mirror;            /* the rank that writes checkpoints besides rank 0, or -1 */
    int64_t steps;         /* in all; where the training stops early those until then */
    bool evaluating;
    struct loss_result *losses;     /* of each position of the rank's samples */
    double *side_losses;            /* of each side output, of each position; times its weight */
    struct tally validated, tested; /* of the last evaluation of either set */
    int wish;   /* rank 0: ORDER_* for all ranks; travels with the step's losses */
    int orders; /* what rank 0 wished in the last step; the same on every rank */
};

/* Values per lane or per batch: loss and scores; the first lane also carries rank 0's orders. */
#define LANE_VALUES 4
#define LANE_ORDERS 3

/* To be done after the step. */
enum { ORDER_STOP = 1, ORDER_SAVE = 2, ORDERS_ALL = 3 };

/* Takes ownership of *data (emptied). The network must fit its shape; at most one thread per lane.
 * Fails with ERR_INVALID naming what does not fit, memory included. */
MUST_CHECK int trainer_init(struct trainer *t, const struct job *job, struct comm *comm,
                            const struct kernels *kernels,
                            const struct strategy *const strategies[STRATEGIES_MAX],
                            struct datasets *data, struct err *err);
void trainer_release(struct trainer *t);
/* Collective, with all ranks together: ends the strategy that runs, and with it what it had made,
 * and goes on from t->at with this one of t->strategies. Weights and optimiser state stay what this
 * rank has: trainer_gather first. */
void trainer_enter(struct trainer *t, const struct strategy *strategy);
/* Whether gather leaves tensors with their owners, and collect brings them. */
static inline bool trainer_is_apart(const struct trainer *t) { return t->sharded || t->owners; }
/* For a tensor of a checkpoint that is under way: t->checkpoint_tensor. */
float *trainer_room(struct trainer *t);

/* The names of the classes of its data, or the words of a text; no texts if they have none. */
struct config_names trainer_class_names(const struct trainer *t);
/* What making batches has taken so far. */
struct batcher_seconds trainer_prepared(const struct trainer *t);
/* Of all batches that are made at a time, and of what is kept of each sample's loss. */
size_t trainer_batch_bytes(const struct trainer *t);
/* Bytes of this rank, besides the data: model, optimiser state, gradients, batches, a tensor on its
 * way. */
uint64_t trainer_bytes(const struct trainer *t);
double trainer_seconds(void); /* a monotonic clock */

/* One update: forward, loss, backward, reduction, update. Adds its batches to t->at.epoch_totals
 * and moves t->at on. Fails with ERR_DIVERGED (the same verdict on every rank) when the loss is not
 * finite; the weights of that step are not to be kept. */
MUST_CHECK int trainer_step(struct trainer *t, struct err *err);

/* Collective. Totals and scores of the validation samples, of which there must be some, and of the
 * test set; the same on every rank. */
struct evaluation trainer_validate(struct trainer *t);
struct evaluation trainer_test(struct trainer *t);

/* Collective; on rank 0: l2/2 * sum of the squared weights (biases and frozen layers apart). */
double trainer_l2(struct trainer *t);

/* Collective. From then to the next step every rank has all weights and optimiser state, but those
 * that the strategy has to collect. */
void trainer_gather(struct trainer *t);

/* Compares the weights that all ranks have; ERR_DIVERGED names rank and tensor. */
MUST_CHECK int trainer_check_replicas(struct trainer *t, struct err *err);

int64_t trainer_planned_steps(const struct trainer *t); /* in all, unless it stops early */
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
    RESUME_IF_ANY, /* the newest that is whole; without one the training begins */
};

struct run_options {
    const char *dir; /* the run folder, made when it is not there; NULL: nothing is written */
    enum resume resume;
    const char *durable;    /* rank 0 also writes the job's own checkpoints there; or NULL */
    int64_t memory_seconds; /* with durable: those of dir alone, this often; 0: none besides */
    bool mirror;            /* a rank of another host writes the checkpoints too, into its dir */
    bool time_transfer;     /* `start` says how long parameters take from one rank to another */
    int64_t step_timeout;   /* seconds; 0: none */
    const char *stop_file;  /* rank 0: when it is there, all stop after the step; or NULL */
    const double *idle;     /* usage.h: of the process before it had anything; or NULL */
};

/* The whole job: epochs, events, checkpoints; or until it is stopped. Collective: all options but
 * dir and stop_file are the same on every rank. */
MUST_CHECK int trainer_run(struct trainer *t, const struct run_options *o, struct err *err);

#endif
