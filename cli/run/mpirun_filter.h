/*
 * mpirun's own paragraphs about a rank that has ended, between two lines of dashes: the user gets
 * one sentence instead, which knows more. Open MPI 5 cannot be told to leave them out. Every other
 * paragraph is passed on: mpirun has reasons of its own to fail.
 */
#ifndef PACELINE_CLI_MPIRUN_FILTER_H
#define PACELINE_CLI_MPIRUN_FILTER_H

#include "paceline/events.h"

/* Where in mpirun's standard error we are; zeroed is its beginning. */
struct mpirun_filter {
    enum { FILTER_NONE, FILTER_OPENED, FILTER_DROPPED } state;
    size_t dropped; /* lines of this one */
};

/* Takes a line and hands on with fn what is for the user; a line of dashes is kept until the next
 * line tells what it begins. */
void mpirun_filter_add(struct mpirun_filter *n, const char *line, size_t len, line_fn *fn,
                       void *arg);

/* Hands on what is left at the end of the stream, if anything. */
void mpirun_filter_end(struct mpirun_filter *n, line_fn *fn, void *arg);

#endif
