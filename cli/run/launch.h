/*
 * Starting the engine and ending it: one worker directly, several through mpirun, always in a
 * process group of their own. Knows no events: it hands over lines and reports how it ended.
 */
#ifndef PACELINE_CLI_LAUNCH_H
#define PACELINE_CLI_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"
#include "paceline/events.h"

struct launch {
    const char *const *arguments; /* of paceline-worker, NULL-terminated */
    int ranks;
    int threads;                /* per rank; 0: one per core that is left */
    int64_t started_ns;         /* CLOCK_REALTIME when the command started */
    line_fn *on_line;           /* the worker's standard output */
    line_fn *on_log;            /* its standard error, and mpirun's */
    const char *stop_file;      /* its PACELINE_STOP_FILE; or NULL */
    bool (*on_stop)(void *arg); /* asks the engine to end by itself; false: it cannot. Or NULL */
    void *arg;
};

struct launch_end {
    int exit_code;    /* of the worker or mpirun; -1 when a signal ended a rank */
    int signal;       /* that signal */
    bool interrupted; /* Ctrl-C or SIGTERM reached us */
    bool lingered;    /* every rank had ended, and mpirun had not: it was killed */
};

/*
 * Runs the engine to its end; no process of it is left when this returns, whatever the result.
 * Ctrl-C, SIGTERM and SIGHUP ask the engine to end by itself (on_stop). After Ctrl-C it may take as
 * long as it needs, after the other two 30 s. If it cannot end by itself, the group gets SIGTERM
 * and is killed 5 s later. A second Ctrl-C kills at once; a second SIGTERM or SIGHUP does not.
 * Fails when it cannot be started (ERR_NOT_FOUND) or floods us with a line without an end
 * (ERR_INVALID).
 */
MUST_CHECK int launch_run(const struct launch *l, struct launch_end *end, struct err *err);

/* The worker beside our own executable, unless PACELINE_WORKER names another; ERR_NOT_FOUND. */
MUST_CHECK int launch_find_worker(char *path, size_t size, struct err *err);

#endif
