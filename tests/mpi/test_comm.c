// LINK: common/err.c common/log.c common/mem.c common/text.c worker/comm/comm.c
// LINK: worker/comm/shaper.c
// LINK: worker/lanes/lanes.c worker/comm/timeout.c
// MPI: 1 2 3 4
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/mpi_test.h"

static int64_t env_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void test_world(struct comm *c)
{
    CHECK_INT(comm_size(c), env_number("OMPI_COMM_WORLD_SIZE", 1));
    CHECK_INT(comm_rank(c), env_number("OMPI_COMM_WORLD_RANK", 0));
    CHECK_INT(comm_local_size(c), env_number("OMPI_COMM_WORLD_LOCAL_SIZE", 1));
    CHECK_INT(comm_local_rank(c), env_number("OMPI_COMM_WORLD_LOCAL_RANK", 0));
}

/* Hosts by name: ranks from `first` on say that they are on another. */
static void test_hosts(struct comm *c)
{
    char name[COMM_HOST_MAX];

    CHECK_INT(comm_launched_rank(), comm_rank(c));
    CHECK_INT(comm_rank_elsewhere(c), -1);
    for (int first = 1; first < comm_size(c); first++) {
        setenv("PACELINE_HOST", comm_rank(c) < first ? "apple" : "apple-2", 1);
        CHECK_INT(comm_rank_elsewhere(c), first);
        comm_host(name);
        CHECK_STR(name, comm_rank(c) < first ? "apple" : "apple-2");
    }
    unsetenv("PACELINE_HOST");
    comm_host(name);
    CHECK(*name);
}

static void test_small_exchanges(struct comm *c)
{
    int64_t rank = comm_rank(c), last = comm_size(c) - 1, value = rank + 7, all[64] = {0};

    CHECK_INT(comm_max(c, -5 - rank), -5);
    CHECK_INT(comm_max(c, rank << 40), last << 40);
    comm_broadcast(c, &value, sizeof value, (int)last);
    CHECK_INT(value, last + 7);
    value = 100 + rank;
    comm_gather(c, &value, sizeof value, rank == last ? all : NULL, (int)last);
    for (int64_t i = 0; rank == last && i <= last; i++)
        CHECK_INT(all[i], 100 + i);
    comm_barrier(c);
}

static void test_agree(struct comm *c)
{
    int rank = comm_rank(c), size = comm_size(c);
    struct err err = {0};
    char text[] = "version 1", want[2 * COMM_HOST_MAX + 64], host[COMM_HOST_MAX];

    comm_host(host);

    CHECK_INT(comm_agree(c, "the text", text, sizeof text, &err), 0);
    CHECK_INT(err.code, ERR_NONE);
    for (int odd = 1; odd < size; odd++) {
        /* Every rank from odd on differs: the first is named. */
        text[8] = rank >= odd ? '2' : '1';
        snprintf(want, sizeof want, "rank %d on %s and rank 0 on %s differ in ", odd, host, host);
        CHECK_INT(comm_agree(c, "the text", text, sizeof text, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, want);
        CHECK_CONTAINS(err.msg, "the text");
        /* Only the length of one rank differs. */
        text[8] = '1';
        CHECK_INT(comm_agree(c, "the length", text, rank == odd ? 3 : 9, &err), -1);
        CHECK_CONTAINS(err.msg, want);
        /* Only these two ranks have any, alike or not. */
        const bool has = rank == 0 || rank == odd;
        CHECK_INT(comm_agree(c, "the text", has ? text : NULL, sizeof text, &err), 0);
        text[0] = rank == odd ? 'V' : 'v';
        CHECK_INT(comm_agree(c, "the text", has ? text : NULL, sizeof text, &err), -1);
        CHECK_CONTAINS(err.msg, want);
        text[0] = 'v';
    }
    CHECK_INT(comm_agree(c, "nothing", "", 0, &err), 0);
}

/* From each rank on all fail: the first of them is heard. */
static void test_verdict(struct comm *c)
{
    const int rank = comm_rank(c), size = comm_size(c);

    for (int bad = 0; bad <= size; bad++) {
        struct err err = {0};
        char want[64];
        const int rc = rank < bad ? 0 : err_set(&err, ERR_DAMAGED, "rank %d fails", rank);

        snprintf(want, sizeof want, "rank %d fails", bad);
        CHECK_INT(comm_verdict(c, rc, &err), bad < size ? -1 : 0);
        CHECK_INT(err.code, bad < size ? ERR_DAMAGED : ERR_NONE);
        CHECK_STR(err.msg, bad < size ? want : "");
    }
}

static void check_lanes(struct comm *c, int total, int n)
{
    double mine[64 * 3], all[64 * 3];
    struct lane_tree tree = {total, 0, comm_size(c)};
    struct lanes l;

    lanes_init(&l, tree, comm_rank(c));
    for (int i = 0; i < l.count * n; i++)
        mine[i] = 1000.0 * total + l.first * n + i;
    comm_lanes_begin(c, tree, mine, n);
    memset(mine, 0, sizeof mine);
    comm_lanes_end(c, all);
    for (int i = 0; i < total * n; i++)
        CHECK(all[i] == 1000.0 * total + i);
}

/* Every other rank in one part, the last in none. */
static void test_parts(struct comm *c)
{
    const int rank = comm_rank(c), last = comm_size(c) - 1, mine = rank < last ? rank % 2 : -1;
    struct comm *part = last > 0 ? comm_part(c, mine) : NULL;
    int64_t value = rank;

    CHECK((part != NULL) == (mine >= 0));
    if (part) {
        CHECK_INT(comm_rank(part), rank / 2);
        CHECK_INT(comm_size(part), (last - mine + 1) / 2);
        comm_broadcast(part, &value, sizeof value, 0);
        CHECK_INT(value, mine);
        check_lanes(part, 8, 2);
    }
    comm_part_free(part);
}

/* comm_abort ends the process at once, with the code, before and within a world of one. */
static void test_abort(struct comm *c)
{
    for (int i = 0; i < 2 && comm_size(c) == 1; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            comm_abort(i ? c : NULL, 40 + i);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 40 + i);
    }
}

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);

    test_world(c);
    test_hosts(c);
    test_small_exchanges(c);
    test_agree(c);
    test_verdict(c);
    for (int total = 4; total <= 64; total *= 2)
        for (int n = 1; n <= 3; n++)
            check_lanes(c, total, n);
    test_parts(c);
    test_abort(c);
    return mpi_test_result(c);
}
