/* The two times that estimates are made of, measured on this machine. */
#ifndef PACELINE_CLI_CALIBRATE_H
#define PACELINE_CLI_CALIBRATE_H

#include "paceline/err.h"
#include "paceline/estimate.h"
#include "paceline/spec.h"

struct calibration {
    double gradient_s; /* of a batch of the job on one worker, update included; the median */
    double transfer_s; /* of all parameters from one rank to another; the median */
    double bytes;      /* of these */
};

/*
 * Runs the engine twice, for a few seconds: with one rank, then with two. Threads are the job's.
 * Returns an exit code; when that is not EXIT_OK, err says why.
 */
int calibrate(struct calibration *c, const struct job *job, struct err *err);

/* The parameters of a network's tensors, in the order of its layers; the caller's. */
size_t *tensors_of_net(const struct net *net, size_t *n);

/* Adds the job's to costs, where its placement is greedy; *tensors, which is the caller's, is NULL
 * or replaced. */
MUST_CHECK int tensors_of_job(struct estimate_costs *costs, size_t **tensors, const struct job *job,
                              struct err *err);

#endif
