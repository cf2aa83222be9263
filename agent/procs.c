#include "agent/procs.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "paceline/children.h"
#include "paceline/mem.h"

struct proc {
    pid_t pid;
    proc_fn *on_exit;
    void *arg;
    bool ended;
    int code;
};

struct procs {
    struct proc *items;
    pid_t *pids; /* of those that have not ended */
    size_t n;
};

struct procs *procs_new(void)
{
    children_adopt();
    return xcalloc(1, sizeof(struct procs));
}

void procs_free(struct procs *p)
{
    children_kill();
    free(p->items);
    free(p->pids);
    free(p);
}

size_t procs_count(const struct procs *p) { return p->n; }

pid_t procs_start(struct procs *p, const struct process *process, proc_fn *on_exit, void *arg,
                  struct err *err)
{
    pid_t pid;

    if (process_spawn(&pid, process, err) < 0)
        return -1;
    p->items = xrealloc(p->items, (p->n + 1) * sizeof *p->items);
    p->pids = xrealloc(p->pids, (p->n + 1) * sizeof *p->pids);
    p->items[p->n++] = (struct proc){.pid = pid, .on_exit = on_exit, .arg = arg};
    return pid;
}

static struct proc *find(struct procs *p, pid_t pid)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].pid == pid)
            return &p->items[i];
    return NULL;
}

void procs_kill(struct procs *p, pid_t pid, int signal)
{
    const struct proc *proc = find(p, pid);

    if (proc && !proc->ended)
        kill(-pid, signal);
}

/* What the ended ones left: their groups, and whoever has become ours. */
static void sweep(struct procs *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].ended)
            kill(-p->items[i].pid, SIGKILL);
        else
            p->pids[n++] = p->items[i].pid;
    }
    children_kill_but(p->pids, n);
}

/* Takes one that has ended out of the list. */
static bool take_ended(struct procs *p, struct proc *out)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].ended) {
            *out = p->items[i];
            p->items[i] = p->items[--p->n];
            return true;
        }
    return false;
}

void procs_reap(struct procs *p)
{
    bool ended = false;
    struct proc *proc, gone;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        proc = find(p, pid);
        if (!proc)
            continue;
        proc->ended = ended = true;
        proc->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (ended)
        sweep(p);
    while (take_ended(p, &gone))
        gone.on_exit(gone.arg, gone.code);
}
