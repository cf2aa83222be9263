#include "paceline/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/mem.h"

void spawn_close_pipe(int (*fds)[2])
{
    auto_close(&(*fds)[0]);
    auto_close(&(*fds)[1]);
}

/* In the child: never returns. errno goes through the pipe when exec fails. */
static _Noreturn void spawn_become(const struct spawn *p, pid_t parent, int failed)
{
    sigset_t blocked;
    int error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, p->death_signal);
    if (getppid() != parent)
        _exit(EXIT_UNEXPECTED);
    for (int i = 0; i < 3; i++)
        dup2(p->fds[i], i);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&blocked);
    for (const int *s = p->blocked; s && *s; s++)
        sigaddset(&blocked, *s);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (p->environment)
        execvpe(p->argv[0], (char *const *)p->argv, p->environment);
    else
        execvp(p->argv[0], (char *const *)p->argv);
    error = errno;
    if (write(failed, &error, sizeof error) < 0)
        error = 0;
    _exit(EXIT_UNEXPECTED);
}

int spawn_process(pid_t *pid, const struct spawn *p, struct err *err)
{
    AUTO(spawn_close_pipe) int failed[2] = {-1, -1};
    pid_t parent = getpid(), child;
    int error = 0;

    if (pipe2(failed, O_CLOEXEC) < 0 || (child = fork()) < 0)
        return err_set(err, ERR_IO, "cannot start a process: %s", strerror(errno));
    if (child == 0)
        spawn_become(p, parent, failed[1]);
    setpgid(child, child); /* whoever is first: a group that is signalled must be there */
    close(failed[1]);
    failed[1] = -1;
    if (read(failed[0], &error, sizeof error) <= 0) {
        *pid = child;
        return 0;
    }
    waitpid(child, NULL, 0);
    return err_set(err, error == ENOENT || error == EACCES ? ERR_NOT_FOUND : ERR_IO,
                   "cannot start %.200s: %s", p->argv[0], strerror(error));
}
