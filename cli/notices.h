/*
 * mpirun's own paragraphs about a rank that has ended, between two lines of dashes: the user gets
 * one sentence instead, which knows more. Open MPI 5 cannot be told to leave them out. Every other
 * paragraph is passed on: mpirun has reasons of its own to fail.
 */
#ifndef PACELINE_CLI_NOTICES_H
#define PACELINE_CLI_NOTICES_H

#include "paceline/events.h"

/* Where in mpirun's standard error we are; zeroed is its beginning. */
struct notices {
    enum { NOTICE_NONE, NOTICE_OPENED, NOTICE_DROPPED } state;
    size_t dropped; /* lines of this one */
};

/* Takes a line and hands on with fn what is for the user; a line of dashes is kept until the next
 * line tells what it begins. */
void notices_add(struct notices *n, const char *line, size_t len, line_fn *fn, void *arg);

/* Hands on what is left at the end of the stream, if anything. */
void notices_end(struct notices *n, line_fn *fn, void *arg);

#endif
