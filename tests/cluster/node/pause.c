// The first process of a pod's sandbox and of the node: it reaps what nobody waits for, and ends on
// SIGTERM.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

static void reap(int signal_number)
{
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

int main(void)
{
    struct sigaction on_end = {.sa_handler = end};
    struct sigaction on_child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};

    sigaction(SIGINT, &on_end, NULL);
    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGCHLD, &on_child, NULL);
    for (;;)
        pause();
}
