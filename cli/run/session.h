/*
 * One run of the engine as a command sees it: events go into a history, a log file and to whoever
 * shows them; at the end there is one verdict.
 */
#ifndef PACELINE_CLI_SESSION_H
#define PACELINE_CLI_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/report/history.h"
#include "cli/run/launch.h"
#include "cli/run/mpirun_filter.h"

/* Shows one event, which is in the history already (type EVENT_UNKNOWN is not shown), or one line
 * of the engine's log (type EVENT_UNKNOWN and event NULL). */
typedef void show_fn(void *arg, enum event_type type, const cJSON *event);

struct session {
    struct history history;
    struct mpirun_filter filter;
    FILE *tee;     /* every event as it came; or NULL */
    bool json;     /* pass events through to standard output */
    show_fn *show; /* may be NULL */
    void *show_arg;
    enum event_type last;        /* the event that a successful run ends with */
    bool relaunch;               /* the run has ended to be launched again, from its checkpoint */
    long tee_begin;              /* where this run's events begin in tee */
    bool started;                /* the engine has taken the job */
    void (*on_start)(void *arg); /* called then; may be NULL */
    void *on_start_arg;
    const char *stop_file; /* where this is, the engine saves a checkpoint and ends; or NULL */
    bool steps;            /* it makes steps, so that it looks there */
    bool asked;            /* we have made the stop file, and remove it in the end */
    int64_t stopped;       /* the step after which it ended because it was asked to; or -1 */
    char garbage[80];      /* the start of the first line that was no event */
};

void session_init(struct session *s, enum event_type last);
void session_release(struct session *s);

/* Events are written to a file from now on: to a new file, or after those of the run that is
 * resumed. Events of that run go into the history; a last line that was cut off is removed. */
MUST_CHECK int session_follow(struct session *s, const char *events, bool resume, struct err *err);

/* Undoes session_follow: the file is as it was before. */
void session_unfollow(struct session *s);

/*
 * Runs the engine on the arguments (NULL-terminated) to its end. Returns the exit code of the
 * command; when that is not EXIT_OK, err holds the one sentence that says why. Success is the
 * last event, or relaunch, and exit status 0, nothing less. With a stop_file the first Ctrl-C asks
 * the engine to end after a checkpoint, if it makes steps; a second one kills.
 */
int session_run(struct session *s, const char *const *arguments, int ranks, int threads,
                int64_t started_ns, struct err *err);

/* Prints the sentence to standard error, with json as an event to standard output too unless the
 * engine sent one; returns the exit code. */
int session_fail(const struct session *s, const char *command, int exit_code,
                 const struct err *err);

#endif
