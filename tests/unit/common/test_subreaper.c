// LINK: common/subreaper.c
/* A process whose children have all ended, and that does not: after a while it lingers. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "paceline/subreaper.h"
#include "tests/test.h"

/* Starts `n` processes that end when they are told, and stays. */
static pid_t parent_of(int n, int told[2])
{
    pid_t parent;

    CHECK_INT(pipe(told), 0);
    parent = fork();
    if (parent != 0) {
        close(told[0]);
        return parent;
    }
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            char byte;

            close(told[1]);
            _exit((int)read(told[0], &byte, 1));
        }
    close(told[0]);
    close(told[1]);
    for (;;)
        pause();
}

/* Whether it lingers at this time; asked until it has had its children. */
static void wait_for_children(struct lingering *l, pid_t parent)
{
    for (int i = 0; i < 5000 && !l->had; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        l->look_ms = 0;
        CHECK(!subreaper_linger(l, parent, 1));
    }
    CHECK(l->had);
}

static void test_ended_children(void)
{
    struct lingering l = {0};
    int told[2];
    pid_t parent = parent_of(2, told);

    wait_for_children(&l, parent);
    CHECK(!subreaper_linger(&l, parent, 2000 + LINGER_MS)); /* they run */
    close(told[1]);
    l.since_ms = 0;
    for (int i = 0; i < 5000 && !l.since_ms; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        l.look_ms = 0;
        CHECK(!subreaper_linger(&l, parent, 100000));
    }
    CHECK_INT(l.since_ms, 100000);
    CHECK(!subreaper_linger(&l, parent, 100000 + LINGER_MS - 1));
    CHECK(!subreaper_linger(&l, parent, 100000 + LINGER_MS)); /* the last look was just before */
    CHECK(subreaper_linger(&l, parent, 100000 + LINGER_MS + LINGER_LOOK_MS));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
}

static void test_no_children(void)
{
    struct lingering l = {0};
    int told[2];
    pid_t parent = parent_of(0, told);

    close(told[1]);
    CHECK(!subreaper_linger(&l, parent, 1));
    CHECK(!subreaper_linger(&l, parent, 10 * LINGER_MS));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
}

int main(void)
{
    test_ended_children();
    test_no_children();
    return test_result();
}
