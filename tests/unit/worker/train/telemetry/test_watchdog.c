// LINK: common/err.c common/text.c worker/train/telemetry/watchdog.c
// The watchdog: which process it ends, with which words.
#include "worker/train/telemetry/watchdog.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/err.h"
#include "tests/test.h"

/* A process that feeds step 7 once and then hangs, or ends by itself; what it says goes to said. */
static int child(int64_t seconds, int rank, int after, char said[2][512])
{
    int pipes[2][2], status = 0;

    CHECK(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[0][1], STDOUT_FILENO);
        dup2(pipes[1][1], STDERR_FILENO);
        watchdog_start(seconds, rank);
        watchdog_feed(7);
        if (after >= 0)
            _exit(after);
        for (;;)
            pause();
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    for (int i = 0; i < 2; i++) {
        close(pipes[i][1]);
        ssize_t n = read(pipes[i][0], said[i], sizeof said[i] - 1);
        said[i][n > 0 ? n : 0] = '\0';
        close(pipes[i][0]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    const char line[] = "rank 0: step 7 did not finish within 1 s; another rank or the network may "
                        "be gone\n";
    char event[512], said[2][512];

    snprintf(event, sizeof event, "{\"event\":\"error\",\"code\":1,\"message\":\"%.*s\"}\n",
             (int)strlen(line) - 1, line);
    CHECK_INT(child(1, 0, -1, said), EXIT_UNEXPECTED);
    CHECK_STR(said[0], event);
    CHECK_STR(said[1], line);

    CHECK_INT(child(1, 3, -1, said), EXIT_UNEXPECTED);
    CHECK_STR(said[0], "");
    CHECK_CONTAINS(said[1], "rank 3: step 7 ");

    CHECK_INT(child(60, 0, 9, said), 9); /* in time */
    CHECK_INT(child(0, 0, 9, said), 9);  /* switched off */
    CHECK_STR(said[1], "");
    return test_result();
}
