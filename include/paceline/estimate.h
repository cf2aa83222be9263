/*
 * The time that training takes on N workers, from two measured times: study 003 (O. Slampa,
 * "Parallel Deep Learning", Brno 2017), section 4, and what later algorithms change in it. Pure.
 *
 * Assumed: equal workers, equal full-duplex links that share their bandwidth; updating costs
 * nothing.
 */
#ifndef PACELINE_ESTIMATE_H
#define PACELINE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

/* The workers' use of the batches. */
enum estimate_type {
    ESTIMATE_SYNC_JOIN,  /* a batch each, summed into one update: batches/N updates */
    ESTIMATE_SYNC_SPLIT, /* a share of one batch each: as many updates as on one worker */
    ESTIMATE_ASYNC,      /* a batch each, applied on arrival */
    N_ESTIMATE_TYPES,
};

/* The place where gradients are summed. */
enum estimate_server {
    ESTIMATE_CENTRAL,     /* on one parameter server */
    ESTIMATE_DISTRIBUTED, /* on the workers, each serving a shard */
    ESTIMATE_ALL_REDUCE,  /* on the workers, by one of the algorithms */
    N_ESTIMATE_SERVERS,
};

/* The algorithm of all-reduce; named as spec.strategy.algorithm. */
enum estimate_algorithm {
    ESTIMATE_TREE,               /* reduce-scatter of lane blocks, all-gather */
    ESTIMATE_RING,               /* reduce-scatter of sums, all-gather */
    ESTIMATE_RECURSIVE_DOUBLING, /* all parameters with one partner after another */
    ESTIMATE_NAIVE,              /* all parameters to each other worker */
    N_ESTIMATE_ALGORITHMS,
};

extern const char *const estimate_type_names[N_ESTIMATE_TYPES];     /* "sync-join", ... */
extern const char *const estimate_server_names[N_ESTIMATE_SERVERS]; /* "central", ... */
extern const char *const estimate_algorithm_names[N_ESTIMATE_ALGORITHMS];

struct estimate_costs {
    double gradient_s;     /* the gradient of one batch, on one worker */
    double transfer_s;     /* all parameters, once, one way between two hosts */
    double batches;        /* of the whole training */
    const size_t *tensors; /* parameters of each, in their order; n_tensors 0: equal shards */
    size_t n_tensors;
    int servers; /* that share the place of the central one; 0: one */
    enum estimate_algorithm algorithm;
    int lanes; /* parts of a split batch, whose sums travel: more than one of each worker, where
                * they do not divide evenly; 0: equal shares, one sum of each */
};

/* Seconds, of the whole training or of an update. best: the server serves one worker at a time, so
 * that transfers hide behind others' computing; worst: it serves all at once; mean is the estimate.
 * Without a server in common all three are the same. */
struct estimate {
    double best_s, worst_s, mean_s;
};

/* Asynchronous all-reduce does not exist. */
bool estimate_exists(enum estimate_type type, enum estimate_server server);

/* Seconds of one synchronous update in which the busiest worker computes for compute_s. */
struct estimate estimate_update(const struct estimate_costs *costs, enum estimate_server server,
                                int workers, double compute_s);

struct estimate estimate_training(const struct estimate_costs *costs, enum estimate_type type,
                                  enum estimate_server server, int workers);

/* Against one worker that transfers nothing (equation 4.23). */
double estimate_speedup(const struct estimate_costs *costs, double seconds);

/* The largest shard's share when whole tensors go to the server with the least so far, in their
 * order (algorithm 3.7); 1/servers at the least. */
double estimate_largest_shard(const size_t *tensors, size_t n, int servers);

struct estimate_choice {
    enum estimate_type type;
    enum estimate_server server;
    int workers;
    double speedup;
};

/* The fastest by its mean, over every type and server and 1 to `workers` workers; of equal ones
 * the first, with the fewest workers. type or server -1: any. */
struct estimate_choice estimate_best(const struct estimate_costs *costs, int type, int server,
                                     int workers);

#endif
