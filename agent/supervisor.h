/*
 * The processes that the agent has started. Each leads a process group and is killed with the
 * agent. When one ends, the agent adopts the processes that it leaves behind and kills them: they
 * belong to something that is over. So a process that is started here must not turn itself into a
 * daemon.
 */
#ifndef PACELINE_AGENT_SUPERVISOR_H
#define PACELINE_AGENT_SUPERVISOR_H

#include <sys/types.h>

#include "paceline/err.h"
#include "paceline/spawn.h"

struct supervisor;

/* Called once, when the process and everything that it left behind are gone. code: its exit code,
 * or 128 + signal. */
typedef void supervisor_fn(void *arg, int code);

struct supervisor *supervisor_new(void);    /* from now on orphans become ours */
void supervisor_free(struct supervisor *p); /* kills all; makes no callback */

/* Starts a process with spawn_process. Returns its pid, or -1 as spawn_process does. */
MUST_CHECK pid_t supervisor_start(struct supervisor *p, const struct spawn *process,
                                  supervisor_fn *on_exit, void *arg, struct err *err);
/* Sends the signal to the process group of pid. Does nothing if pid has ended. */
void supervisor_kill(struct supervisor *p, pid_t pid, int signal);
size_t supervisor_count(const struct supervisor *p); /* the processes that have not ended */
/* After SIGCHLD: reaps, and calls on_exit. */
void supervisor_reap(struct supervisor *p);

#endif
