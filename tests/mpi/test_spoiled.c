// LINK: common worker/kernels worker/comm worker/lanes/lanes.c worker/lanes/placement.c
/* Run by tests/cli/test_spoiled.sh with three ranks, for it ends as a failure: rank 1 sends what
 * argv[1] names, which no rank of the engine sends, and another rank refuses it. Ranks 0 and 1 are
 * workers, rank 2 is a server. */
#include <unistd.h>

#include "paceline/mem.h"
#include "tests/mpi/mpi_test.h"
#include "worker/comm/p2p.h"
#include "worker/comm/ps_transport.h"

enum { FLOATS = 1000, SERVER = 2, NOTE = 16 };

/* Whether rank 1 thinks of a model that is larger or smaller than the others'. */
static struct ps_transport *exchange_of(struct comm *c, struct placement *p, size_t floats)
{
    placement_init(p, PLACEMENT_BALANCED, NULL, 0, comm_rank(c) == 1 ? floats : FLOATS, 1);
    p->first = SERVER;
    return ps_transport_new(c, p, 60);
}

static void note_of(struct comm *c, int64_t n)
{
    struct placement p;
    struct ps_transport *e = exchange_of(c, &p, FLOATS);
    char note[2 * NOTE] = "";

    if (comm_rank(c) == 1)
        ps_transport_tell(e, SERVER, note, (size_t)n);
    if (comm_rank(c) == SERVER)
        ps_transport_hear(e, -1, note, NOTE);
}

/* A server that talks unasked: here rank 2 tells rank 2's peer, another server, of nothing. */
static void note_of_server(struct comm *c, int64_t n)
{
    struct placement p;
    char note[NOTE] = "";

    placement_init(&p, PLACEMENT_BALANCED, NULL, 0, FLOATS, 2);
    p.first = 1; /* ranks 1 and 2 are servers */
    struct ps_transport *e = ps_transport_new(c, &p, 60);
    if (comm_rank(c) == 1)
        ps_transport_tell(e, 2, note, (size_t)n);
    if (comm_rank(c) == 2)
        ps_transport_hear(e, -1, note, NOTE);
}

static void gradient_of(struct comm *c, int64_t floats)
{
    struct placement p;
    struct ps_transport *e = exchange_of(c, &p, (size_t)floats);
    float *slab = xcalloc(4 * FLOATS, sizeof *slab);

    if (comm_rank(c) == 1)
        ps_transport_push(e, slab);
    if (comm_rank(c) == SERVER)
        ps_transport_take(e, 1, slab);
}

static void values_of(struct comm *c, int64_t n)
{
    struct p2p *p = p2p_new(c, 60);
    static float values[2 * FLOATS];

    if (comm_rank(c) == 1)
        p2p_send(p, 0, 3, values, (size_t)n);
    if (comm_rank(c) == 0)
        p2p_receive(p, 1, 3, values, FLOATS, "activations");
}

static void shared_of(struct comm *c, int64_t n)
{
    struct p2p *p = p2p_new(c, 60);
    static float values[2 * FLOATS];

    p2p_share(p, 1, values, comm_rank(c) == 1 ? (size_t)n : FLOATS, "the losses");
}

static void passed_of(struct comm *c, int64_t n)
{
    char bytes[64] = "";

    if (comm_rank(c) == 1)
        comm_pass(c, bytes, (size_t)n, 1, 0);
    if (comm_rank(c) == 0)
        comm_pass(c, bytes, 32, 1, 0);
}

/* Rank 1 sums a slab of another length than the others do. */
static void sum_by(struct comm *c, enum algorithm algorithm, int64_t floats)
{
    const struct reducer_config config = {
        .algorithm = algorithm, .schedule = COMM_END, .fusion_bytes = 4 * FLOATS * sizeof(float)};
    const struct lane_tree tree = {.total = 4, .workers = comm_size(c)};
    const size_t n = comm_rank(c) == 1 ? (size_t)floats : FLOATS;
    const char *why;
    struct reducer *r = reducer_new(c, kernels_select(&why), &config, tree, n);
    float *blocks[LANES_MAX_BLOCKS];
    size_t offset, count;

    for (int i = 0; i < LANES_MAX_BLOCKS; i++)
        blocks[i] = xaligned(2 * FLOATS * sizeof(float));
    reducer_begin(r, 4, blocks);
    reducer_submit(r, 0, n);
    reducer_finish(r);
    if (n != FLOATS)
        return; /* others refuse what it has sent */
    while (reducer_take(r, &offset, &count))
        CHECK(count > 0);
}

static void tree_of(struct comm *c, int64_t floats) { sum_by(c, ALGO_TREE, floats); }
static void ring_of(struct comm *c, int64_t floats) { sum_by(c, ALGO_RING, floats); }
static void mpi_of(struct comm *c, int64_t floats) { sum_by(c, ALGO_MPI, floats); }

/* Ranks compare what rank 0 has of this length, of which only the length is sent. */
static void length_of(struct comm *c, int64_t length)
{
    uint64_t n = (uint64_t)length;
    struct err err;

    if (comm_rank(c) == 0)
        comm_broadcast(c, &n, sizeof n, 0);
    else if (comm_agree(c, "job", "text", 4, &err) != 0)
        fprintf(stderr, "%s\n", err.msg);
}

/* Rank 1 says that this rank failed. */
static void failed_of(struct comm *c, int64_t rank)
{
    struct err err = {.code = ERR_IO};

    if (comm_rank(c) == 1)
        comm_max(c, -rank);
    else if (comm_verdict(c, 0, &err))
        fprintf(stderr, "rank %d: %s\n", comm_rank(c), err.msg);
}

/* Rank 0 says that this rank is the first of another host. */
static void elsewhere_of(struct comm *c, int64_t other)
{
    int rank = (int)other;
    char host[COMM_HOST_MAX] = "here", hosts[3][COMM_HOST_MAX];

    if (comm_rank(c) > 0) {
        comm_rank_elsewhere(c);
        return;
    }
    comm_gather(c, host, sizeof host, hosts, 0);
    comm_broadcast(c, &rank, sizeof rank, 0);
}

/* A code of no error; and a text without an end, which is only cut. */
static void error_of(struct comm *c, int64_t code)
{
    struct err err = {.code = (enum err_code)code};

    memset(err.msg, 'x', sizeof err.msg);
    if (comm_verdict(c, comm_rank(c) == 1 ? -1 : 0, &err))
        fprintf(stderr, "rank %d: %zu characters\n", comm_rank(c), strlen(err.msg));
}

static const struct {
    const char *name;
    void (*send)(struct comm *c, int64_t value);
    int64_t value;
    bool is_taken; /* else another rank ends the world */
} messages[] = {
    {"short-note", note_of, NOTE - 1, false},
    {"long-note", note_of, 2 * NOTE, false},
    {"good-note", note_of, NOTE, true},
    {"server-note", note_of_server, NOTE, false},
    {"short-gradient", gradient_of, FLOATS - 1, false},
    {"long-gradient", gradient_of, 2 * FLOATS, false},
    {"good-gradient", gradient_of, FLOATS, true},
    {"short-values", values_of, FLOATS - 1, false},
    {"long-values", values_of, FLOATS + 1, false},
    {"short-shared", shared_of, FLOATS - 1, false},
    {"long-shared", shared_of, FLOATS + 1, false},
    {"short-pass", passed_of, 31, false},
    {"long-sum", tree_of, 2 * FLOATS, false},
    {"good-sum", tree_of, FLOATS, true},
    {"short-round", ring_of, FLOATS / 2, false},
    {"mpi-sum", mpi_of, 2 * FLOATS, false},
    {"long-job", length_of, (int64_t)1 << 40, false},
    {"endless-job", length_of, -1, false},
    {"bad-verdict", failed_of, -5, false},
    {"bad-host", elsewhere_of, 9, false},
    {"bad-error", error_of, 77, false},
    {"endless-error", error_of, ERR_IO, true},
};

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);

    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (strcmp(argv[1], messages[i].name) != 0)
            continue;
        CHECK(true);
        messages[i].send(c, messages[i].value);
        if (!messages[i].is_taken)
            sleep(30);
    }
    comm_barrier(c);
    return mpi_test_result(c);
}
