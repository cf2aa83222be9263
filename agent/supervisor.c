#include "agent/supervisor.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "paceline/mem.h"
#include "paceline/subreaper.h"

struct supervised {
    pid_t pid;
    supervisor_fn *on_exit;
    void *arg;
    bool ended;
    int code;
};

struct supervisor {
    struct supervised *items;
    pid_t *pids; /* of those that have not ended */
    size_t n;
};

struct supervisor *supervisor_new(void)
{
    subreaper_adopt();
    return xcalloc(1, sizeof(struct supervisor));
}

void supervisor_free(struct supervisor *p)
{
    subreaper_kill();
    free(p->items);
    free(p->pids);
    free(p);
}

size_t supervisor_count(const struct supervisor *p) { return p->n; }

pid_t supervisor_start(struct supervisor *p, const struct spawn *process, supervisor_fn *on_exit,
                       void *arg, struct err *err)
{
    pid_t pid;

    if (spawn_process(&pid, process, err) < 0)
        return -1;
    p->items = xrealloc(p->items, (p->n + 1) * sizeof *p->items);
    p->pids = xrealloc(p->pids, (p->n + 1) * sizeof *p->pids);
    p->items[p->n++] = (struct supervised){.pid = pid, .on_exit = on_exit, .arg = arg};
    return pid;
}

static struct supervised *supervisor_find(struct supervisor *p, pid_t pid)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].pid == pid)
            return &p->items[i];
    return NULL;
}

void supervisor_kill(struct supervisor *p, pid_t pid, int signal)
{
    const struct supervised *proc = supervisor_find(p, pid);

    if (proc && !proc->ended)
        kill(-pid, signal);
}

/* Kills what ended processes left: their groups, and the processes that we have adopted. */
static void supervisor_sweep(struct supervisor *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].ended)
            kill(-p->items[i].pid, SIGKILL);
        else
            p->pids[n++] = p->items[i].pid;
    }
    subreaper_kill_but(p->pids, n);
}

/* Takes one that has ended out of the list. */
static bool take_ended(struct supervisor *p, struct supervised *out)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].ended) {
            *out = p->items[i];
            p->items[i] = p->items[--p->n];
            return true;
        }
    return false;
}

void supervisor_reap(struct supervisor *p)
{
    bool ended = false;
    struct supervised *proc, gone;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        proc = supervisor_find(p, pid);
        if (!proc)
            continue;
        proc->ended = ended = true;
        proc->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (ended)
        supervisor_sweep(p);
    while (take_ended(p, &gone))
        gone.on_exit(gone.arg, gone.code);
}
