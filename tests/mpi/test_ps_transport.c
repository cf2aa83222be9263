// LINK: common/err.c common/log.c common/mem.c common/text.c worker/comm/comm.c
// LINK: worker/comm/shaper.c worker/comm/ps_transport.c worker/comm/timeout.c worker/lanes/lanes.c
// LINK: worker/lanes/placement.c
// MPI: 2 3 4
#include <time.h>

#include "paceline/mem.h"
#include "tests/mpi/mpi_test.h"
#include "worker/comm/ps_transport.h"

enum { FLOATS = 100000, ROUNDS = 3, SERVERS = 1 };

/* The values that a worker pushes in a round. */
static float gradient(int worker, int round, size_t i)
{
    return (float)(worker * 1000 + round) + (float)(i % 97) / 128;
}

static void push_and_pull(struct comm *c, struct ps_transport *e, float *slab)
{
    const int server = comm_size(c) - SERVERS;

    for (int round = 0; round < ROUNDS; round++) {
        size_t wrong = 0;

        for (size_t i = 0; i < FLOATS; i++)
            slab[i] = gradient(comm_rank(c), round, i);
        ps_transport_tell(e, server, &round, sizeof round);
        ps_transport_push(e, slab);
        ps_transport_pull(e, slab);
        for (size_t i = 0; i < FLOATS; i++)
            wrong += slab[i] != (float)(round + 1);
        CHECK_INT(wrong, 0);
    }
}

/* Takes from the workers as they come, and gives to all of them at once. */
static void serve(struct comm *c, struct ps_transport *e, float *slab, float *weights)
{
    const int workers = comm_size(c) - SERVERS;

    for (int round = 0; round < ROUNDS; round++) {
        for (int n = 0; n < workers; n++) {
            size_t wrong = 0;
            int of = -1, worker = ps_transport_hear(e, -1, &of, sizeof of);

            CHECK_INT(of, round);
            ps_transport_take(e, worker, slab);
            for (size_t i = 0; i < FLOATS; i++)
                wrong += slab[i] != gradient(worker, round, i);
            CHECK_INT(wrong, 0);
        }
        for (size_t i = 0; i < FLOATS; i++)
            weights[i] = (float)(round + 1);
        for (int worker = 0; worker < workers; worker++)
            ps_transport_give(e, worker, weights);
        ps_transport_settle(e);
    }
}

/* With a semaphore no server has two transfers of a direction under way, however fast the network;
 * without one it gives to all workers at once. */
static void check_exchange(struct comm *c, bool semaphore, double bandwidth)
{
    struct placement placement;
    const int workers = comm_size(c) - SERVERS;
    const uint64_t before = comm_bytes_sent(c);
    float *slab = xcalloc(FLOATS, sizeof *slab), *weights = xcalloc(FLOATS, sizeof *weights);
    int in = 0, out = 0;

    placement_init(&placement, PLACEMENT_BALANCED, NULL, 0, FLOATS, SERVERS);
    comm_simulate(c, bandwidth, bandwidth > 0 ? 0.0005 : 0);

    placement.first = workers;
    struct ps_transport *e = ps_transport_new(c, &placement, 60);

    if (semaphore)
        ps_transport_use_semaphore(e);
    if (comm_rank(c) < workers) {
        push_and_pull(c, e, slab);
    } else {
        serve(c, e, slab, weights);
        ps_transport_most(e, &in, &out);
        CHECK_INT(out, semaphore ? 1 : workers);
        CHECK(in >= 1 && in <= (semaphore ? 1 : workers));
    }
    CHECK_INT(comm_bytes_sent(c) - before,
              ROUNDS * sizeof(float) * FLOATS * (comm_rank(c) < workers ? 1 : workers));
    ps_transport_free(e);
    comm_simulate(c, 0, 0);
    placement_release(&placement);
    free(slab);
    free(weights);
}

/* A note that tells of a push is heard again in front of what the worker tells after it, also when
 * all of it comes while the server sleeps, and nothing else waits for it meanwhile. */
static void check_deferred(struct comm *c)
{
    struct placement placement;
    const int workers = comm_size(c) - SERVERS, few = 64;
    float slab[64] = {0};

    placement_init(&placement, PLACEMENT_BALANCED, NULL, 0, (size_t)few, SERVERS);
    placement.first = workers;
    struct ps_transport *e = ps_transport_new(c, &placement, 60);

    for (int round = 0; round < 20; round++) {
        int note = round, heard = 0;

        if (comm_rank(c) < workers) {
            ps_transport_tell(e, workers, &note, sizeof note);
            comm_barrier(c); /* the server has deferred all first notes */
            slab[0] = (float)round;
            ps_transport_push(e, slab);
            note = -1;
            ps_transport_tell(e, workers, &note, sizeof note);
            ps_transport_await(e, workers, &note, sizeof note);
            comm_barrier(c); /* no note of the next round comes into this one */
            continue;
        }
        for (int n = 0; n < workers; n++) {
            int worker = ps_transport_hear(e, -1, &note, sizeof note);

            CHECK_INT(note, round);
            ps_transport_defer(e, worker, &note, sizeof note);
        }
        comm_barrier(c);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        for (int n = 0; n < workers; n++) {
            int worker = ps_transport_hear(e, -1, &heard, sizeof heard);

            CHECK_INT(heard, round);
            ps_transport_take(e, worker, slab);
            CHECK(slab[0] == (float)round);
            ps_transport_hear(e, worker, &heard, sizeof heard);
            CHECK_INT(heard, -1);
            ps_transport_answer(e, worker, &note, sizeof note);
        }
        comm_barrier(c);
    }
    ps_transport_free(e);
    placement_release(&placement);
}

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);

    for (int i = 0; i < 4; i++)
        check_exchange(c, i & 1, i & 2 ? 50e6 : 0);
    check_deferred(c);
    return mpi_test_result(c);
}
