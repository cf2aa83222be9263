/*
 * The processes that the agent has started. Each leads a process group and is killed with the
 * agent; what it leaves behind becomes ours, and is killed when it ends: an orphan belongs to
 * something that is over. So what is started here must not turn itself into a daemon.
 */
#ifndef PACELINE_AGENT_PROCS_H
#define PACELINE_AGENT_PROCS_H

#include <sys/types.h>

#include "paceline/err.h"
#include "paceline/process.h"

struct procs;

/* Called once, when the process and everything that it left are gone. code: its exit code, or
 * 128 + signal. */
typedef void proc_fn(void *arg, int code);

struct procs *procs_new(void);    /* from now on orphans become ours */
void procs_free(struct procs *p); /* kills all; calls nobody */

/* Starts one (process_spawn). Returns its pid, or -1 as process_spawn does. */
MUST_CHECK pid_t procs_start(struct procs *p, const struct process *process, proc_fn *on_exit,
                             void *arg, struct err *err);
/* Sends the signal to its group; 0 when pid has ended meanwhile. */
void procs_kill(struct procs *p, pid_t pid, int signal);
size_t procs_count(const struct procs *p); /* those that have not ended */
/* After SIGCHLD: reaps, and calls on_exit. */
void procs_reap(struct procs *p);

#endif
