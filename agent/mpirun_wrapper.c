#include "agent/mpirun_wrapper.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/clock.h"
#include "paceline/spawn.h"
#include "paceline/subreaper.h"

/* Reaps who has ended. Whether children are left. */
static bool mpirun_wrapper_reap(pid_t mpirun, int *code)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == mpirun)
            *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return pid == 0;
}

/* Until mpirun and what it leaves have ended, or that takes too long. */
static int stay(pid_t mpirun, const sigset_t *signals)
{
    int code = -1;
    int64_t left_ms = INT64_MAX, end_ms = 0;

    while (mpirun_wrapper_reap(mpirun, &code) && left_ms > 0) {
        struct timespec wait = {.tv_sec = 1};

        if (code >= 0 && !end_ms)
            end_ms = clock_ms() + MPIRUN_WRAPPER_LINGER_MS;
        if (end_ms)
            left_ms = end_ms - clock_ms();
        if (sigtimedwait(signals, NULL, &wait) == SIGUSR1 && code < 0)
            kill(mpirun, SIGUSR1); /* which hands it on to all ranks */
    }
    return code;
}

int mpirun_wrapper(char **argv)
{
    struct spawn process = {.argv = (const char *const *)argv,
                            .fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},
                            .death_signal = SIGKILL};
    struct err err;
    sigset_t signals;
    pid_t mpirun;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    subreaper_adopt();
    if (spawn_process(&mpirun, &process, &err) == 0)
        return stay(mpirun, &signals);
    fprintf(stderr, "%s\n", err.msg);
    return EXIT_UNEXPECTED;
}
