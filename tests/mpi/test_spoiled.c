// LINK: common/err.c common/log.c common/mem.c common/text.c worker/comm/comm.c
// LINK: worker/comm/shaper.c worker/comm/exchange.c worker/comm/wait.c worker/comm/pipe.c
// LINK: worker/model/lanes.c worker/model/placement.c
/* Run by tests/cli/test_spoiled.sh with three ranks, for it ends as a failure: rank 1 sends what
 * argv[1] names, which no rank of the engine sends, and another rank refuses it. Ranks 0 and 1 are
 * workers, rank 2 is a server. */
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/mpi/mpi_test.h"
#include "worker/comm/exchange.h"
#include "worker/comm/pipe.h"

enum { FLOATS = 1000, SERVER = 2, NOTE = 16 };

/* Whether rank 1 thinks of a model that is larger or smaller than the others'. */
static struct exchange *exchange_of(struct comm *c, struct placement *p, size_t floats)
{
    placement_init(p, PLACEMENT_BALANCED, NULL, 0, comm_rank(c) == 1 ? floats : FLOATS, 1);
    p->first = SERVER;
    return exchange_new(c, p, 60);
}

static void note_of(struct comm *c, size_t n, int to)
{
    struct placement p;
    struct exchange *e = exchange_of(c, &p, FLOATS);
    char note[2 * NOTE] = "";

    if (comm_rank(c) == 1)
        exchange_tell(e, to, note, n);
    if (comm_rank(c) == to)
        exchange_hear(e, -1, note, NOTE);
}

/* A server that talks unasked: here rank 2 tells rank 2's peer, another server, of nothing. */
static void note_of_server(struct comm *c)
{
    struct placement p;
    char note[NOTE] = "";

    placement_init(&p, PLACEMENT_BALANCED, NULL, 0, FLOATS, 2);
    p.first = 1; /* ranks 1 and 2 are servers */
    struct exchange *e = exchange_new(c, &p, 60);
    if (comm_rank(c) == 1)
        exchange_tell(e, 2, note, NOTE);
    if (comm_rank(c) == 2)
        exchange_hear(e, -1, note, NOTE);
}

static void gradient_of(struct comm *c, size_t floats)
{
    struct placement p;
    struct exchange *e = exchange_of(c, &p, floats);
    float *slab = xcalloc(4 * FLOATS, sizeof *slab);

    if (comm_rank(c) == 1)
        exchange_push(e, slab);
    if (comm_rank(c) == SERVER)
        exchange_take(e, 1, slab);
}

static void values_of(struct comm *c, size_t n)
{
    struct pipe *p = pipe_new(c, 60);
    static float values[2 * FLOATS];

    if (comm_rank(c) == 1)
        pipe_send(p, 0, 3, values, n);
    if (comm_rank(c) == 0)
        pipe_receive(p, 1, 3, values, FLOATS, "activations");
}

static void shared_of(struct comm *c, size_t n)
{
    struct pipe *p = pipe_new(c, 60);
    static float values[2 * FLOATS];

    pipe_share(p, 1, values, comm_rank(c) == 1 ? n : FLOATS, "the losses");
}

static void passed_of(struct comm *c, size_t n)
{
    char bytes[64] = "";

    if (comm_rank(c) == 1)
        comm_pass(c, bytes, n, 1, 0);
    if (comm_rank(c) == 0)
        comm_pass(c, bytes, 32, 1, 0);
}

/* A code of no error; and a text without an end, which is only cut. */
static void error_of(struct comm *c, int code)
{
    struct err err = {.code = (enum err_code)code};

    memset(err.msg, 'x', sizeof err.msg);
    if (comm_verdict(c, comm_rank(c) == 1 ? -1 : 0, &err))
        fprintf(stderr, "rank %d: %zu characters\n", comm_rank(c), strlen(err.msg));
}

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);
    const char *what = argv[1];

    if (strcmp(what, "short-note") == 0)
        note_of(c, NOTE - 1, SERVER);
    else if (strcmp(what, "long-note") == 0)
        note_of(c, 2 * NOTE, SERVER);
    else if (strcmp(what, "good-note") == 0)
        note_of(c, NOTE, SERVER);
    else if (strcmp(what, "server-note") == 0)
        note_of_server(c);
    else if (strcmp(what, "short-gradient") == 0)
        gradient_of(c, FLOATS - 1);
    else if (strcmp(what, "long-gradient") == 0)
        gradient_of(c, 2 * FLOATS);
    else if (strcmp(what, "good-gradient") == 0)
        gradient_of(c, FLOATS);
    else if (strcmp(what, "short-values") == 0)
        values_of(c, FLOATS - 1);
    else if (strcmp(what, "long-values") == 0)
        values_of(c, FLOATS + 1);
    else if (strcmp(what, "short-shared") == 0)
        shared_of(c, FLOATS - 1);
    else if (strcmp(what, "long-shared") == 0)
        shared_of(c, FLOATS + 1);
    else if (strcmp(what, "short-pass") == 0)
        passed_of(c, 31);
    else if (strcmp(what, "bad-error") == 0)
        error_of(c, 77);
    else if (strcmp(what, "endless-error") == 0)
        error_of(c, ERR_IO);
    CHECK(true);
    if (strncmp(what, "good", 4) != 0 && strcmp(what, "endless-error") != 0)
        sleep(30); /* whoever refuses ends the world */
    comm_barrier(c);
    return mpi_test_result(c);
}
