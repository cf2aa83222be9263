/* A variant of a study that another framework trains: a program that speaks as those of
 * bench/peers. */
#ifndef PACELINE_CLI_STUDY_PEER_H
#define PACELINE_CLI_STUDY_PEER_H

#include "cli/report/history.h"
#include "paceline/err.h"
#include "paceline/spec.h"

/*
 * Runs the command by the shell: it makes a step, prints a line with its "version", then for each
 * line on its standard input, a number of steps, one with "samplesPerSecond" and "stepMs". It is
 * asked for training.steps twice (100, where the job does not say); the second answer counts, as
 * an event done in the folder `path`, beside job.json: command, version, step, seconds,
 * trainSeconds, samplesPerSecond. It finds the job's file in PACELINE_JOB, and the worker, which
 * can describe the job's network, in PACELINE_WORKER. A program that is not there, or fails, leaves
 * in h an event done with "notCompared", the reason, and none in the folder, so that it is tried
 * again. Without keep a folder that is there is moved aside. Returns an exit code; unless that is
 * EXIT_OK, err says why.
 */
int study_peer(struct history *h, const struct job *job, const char *command, const char *path,
               bool keep, struct err *err);

#endif
