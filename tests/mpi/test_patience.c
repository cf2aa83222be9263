// LINK: common/err.c common/log.c common/mem.c common/text.c worker/comm/comm.c
// LINK: worker/comm/shaper.c
// LINK: worker/comm/timeout.c worker/lanes/lanes.c
/* Run by tests/cli/test_patience.sh, for it ends as a failure: the last rank never comes to the
 * call that argv[1] names; the others wait a second for it. */
#include <unistd.h>

#include "tests/mpi/mpi_test.h"

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);
    const int last = comm_size(c) - 1;
    int64_t value = 0, all[64];

    comm_set_patience(c, 1);
    if (comm_rank(c) == last)
        sleep(3600);
    switch (argv[1][0]) {
    case 'b':
        comm_broadcast(c, &value, sizeof value, last);
        break;
    case 'g':
        comm_gather(c, &value, sizeof value, all, 0);
        break;
    case 'm':
        comm_max(c, value);
        break;
    case 'p':
        if (comm_rank(c) == 0)
            comm_pass(c, &value, sizeof value, last, 0);
        break;
    default:
        comm_barrier(c);
    }
    comm_set_patience(c,
                      60); /* with nothing to wait for in a gather or a pass: no longer than they */
    comm_barrier(c);
    return mpi_test_result(c);
}
