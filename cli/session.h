/*
 * One run of the engine as a command sees it: events go into a history, a log file and to whoever
 * shows them; at the end there is one verdict.
 */
#ifndef PACELINE_CLI_SESSION_H
#define PACELINE_CLI_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/history.h"
#include "cli/launch.h"
#include "cli/notices.h"

/* Shows one event, which is in the history already (type EVENT_UNKNOWN is not shown), or one line
 * of the engine's log (type EVENT_UNKNOWN and event NULL). */
typedef void show_fn(void *arg, enum event_type type, const cJSON *event);

struct session {
    struct history history;
    struct notices notices;
    FILE *tee;     /* every event as it came; or NULL */
    bool json;     /* pass events through to standard output */
    show_fn *show; /* may be NULL */
    void *show_arg;
    enum event_type last; /* the event that a successful run ends with */
    bool relaunch;        /* the run has ended to be launched again, from its checkpoint */
    char garbage[80];     /* the start of the first line that was no event */
};

void session_init(struct session *s, enum event_type last);
void session_release(struct session *s);

/* Events are written to a file from now on: anew, or behind those of the run that is resumed, which
 * go into the history; a last line that was cut goes. */
MUST_CHECK int session_follow(struct session *s, const char *events, bool resume, struct err *err);

/*
 * Runs the engine on the arguments (NULL-terminated) to its end. Returns the exit code of the
 * command; when that is not EXIT_OK, err holds the one sentence that says why. Success is the
 * last event, or relaunch, and exit status 0, nothing less.
 */
int session_run(struct session *s, const char *const *arguments, int ranks, int threads,
                int64_t started_ns, struct err *err);

/* Prints the sentence to standard error, with json as an event to standard output too unless the
 * engine sent one; returns the exit code. */
int session_fail(const struct session *s, const char *command, int exit_code,
                 const struct err *err);

#endif
