#include "worker/train/telemetry/watchdog.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "paceline/err.h"

static struct {
    int64_t seconds;
    int rank;
    char line[256], event[320]; /* ready before they are needed: a handler cannot format */
} dog;

static void watchdog_say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        return; /* nobody listens */
}

static void on_alarm(int number)
{
    (void)number;
    watchdog_say(STDERR_FILENO, dog.line);
    if (dog.rank == 0)
        watchdog_say(STDOUT_FILENO, dog.event);
    _exit(EXIT_UNEXPECTED);
}

void watchdog_start(int64_t seconds, int rank)
{
    struct sigaction action = {.sa_handler = on_alarm};

    dog.seconds = seconds;
    dog.rank = rank;
    if (seconds)
        sigaction(SIGALRM, &action, NULL);
}

void watchdog_feed(int64_t step)
{
    if (!dog.seconds)
        return;
    snprintf(dog.line, sizeof dog.line,
             "rank %d: step %" PRId64 " did not finish within %" PRId64
             " s; another rank or the network may be gone\n",
             dog.rank, step, dog.seconds);
    snprintf(dog.event, sizeof dog.event,
             "{\"event\":\"error\",\"code\":%d,\"message\":\"%.*s\"}\n", EXIT_UNEXPECTED,
             (int)strlen(dog.line) - 1, dog.line);
    alarm((unsigned)dog.seconds);
}
