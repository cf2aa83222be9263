// LINK: agent/canary.c agent/pollset.c common
/* The agent's port that tells nothing: what it costs, and where it listens. */
#include "agent/canary.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/mpirun.h"
#include "paceline/mem.h"
#include "tests/test.h"

static struct canary canary;
static struct pollset waits;

static int dial(const char *address, int port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, address, &in.sin_addr);
    CHECK_INT(connect(fd, (const void *)&in, sizeof in), 0);
    return fd;
}

/* One round of the agent's loop; whether it waited for the port. */
static bool round_at(int64_t now_ms)
{
    pollset_clear(&waits);
    canary_wait(&canary, &waits, now_ms);
    pollset_until(&waits, now_ms);
    pollset_poll(&waits, now_ms);
    canary_step(&canary, &waits, now_ms);
    return waits.n > 0;
}

static bool is_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* A flood: some are closed at once, the others wait in the kernel until the next look. */
static void test_flood(void)
{
    int fds[40], closed = 0;
    struct err err;

    CHECK_INT(canary_open(&canary, "127.0.0.1:0", &err), 0);
    CHECK(canary_port(&canary) > 0);
    CHECK(round_at(1000));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = dial("127.0.0.1", canary_port(&canary));
    CHECK(round_at(1000));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        closed += is_closed(fds[i]);
    CHECK_INT(closed, 16);
    CHECK(!round_at(1249)); /* no busy loop */
    CHECK_INT(waits.next_ms, 1249);
    pollset_clear(&waits);
    canary_wait(&canary, &waits, 1249);
    CHECK_INT(waits.next_ms, 1250);
    CHECK(round_at(1250) && round_at(1500));
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        CHECK(is_closed(fds[i]));
        close(fds[i]);
    }
    canary_release(&canary);
    CHECK_INT(canary_port(&canary), 0);
}

/* An accept that fails leaves the port readable: it is tried again after the pause only. */
static void test_no_descriptors(void)
{
    struct rlimit old, none;
    struct err err;
    int fd;

    CHECK_INT(canary_open(&canary, "127.0.0.1:0", &err), 0);
    fd = dial("127.0.0.1", canary_port(&canary));
    getrlimit(RLIMIT_NOFILE, &old);
    none = (struct rlimit){(rlim_t)fd + 1, old.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK(round_at(1000));
    CHECK(!round_at(1001));
    CHECK(!is_closed(fd));
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK(round_at(1250));
    CHECK(is_closed(fd));
    close(fd);
    canary_release(&canary);
}

/* Beside the agent's own port; not among those that Open MPI chooses from. */
static void test_place(void)
{
    int first = 0, last = 0;
    struct err err;

    CHECK_INT(canary_open(&canary, "127.0.88.1:7420", &err), 0);
    CHECK_INT(canary_port(&canary), CANARY_PORT);
    close(dial("127.0.88.1", CANARY_PORT));
    canary_release(&canary);
    CHECK_INT(sscanf(MPIRUN_DAEMON_PORTS, "%d-%d", &first, &last), 2);
    CHECK(CANARY_PORT < first || CANARY_PORT > last);
    CHECK_INT(sscanf(MPIRUN_DAEMON_PORTS_V6, "%d-%d", &first, &last), 2);
    CHECK(CANARY_PORT < first || CANARY_PORT > last);
    CHECK_INT(sscanf(MPIRUN_RANK_PORT_FIRST, "%d", &first), 1);
    CHECK(CANARY_PORT < first);
}

/* A port that is taken: the agent does without. */
static void test_taken(void)
{
    struct canary other;
    struct err err;

    CHECK_INT(canary_open(&other, "127.0.88.2:7420", &err), 0);
    CHECK_INT(canary_open(&canary, "127.0.88.2:7420", &err), -1);
    CHECK_INT(canary_port(&canary), 0);
    CHECK(!round_at(1000));
    canary_release(&canary);
    canary_release(&other);
}

int main(void)
{
    test_flood();
    test_no_descriptors();
    test_place();
    test_taken();
    pollset_release(&waits);
    return test_result();
}
