/*
 * Times all-reduces of this world: our algorithms and MPI_Allreduce in turn, so that what else the
 * machine does meets all of them.
 *
 *     mpirun -np 2 allreduce [ROUNDS [BYTES...]]
 *
 * A line per measurement: algorithm,ranks,bytes,round,seconds: the mean of one all-reduce on the
 * slowest rank. Ranks have the blocks of a batch of LANES lanes, as in a training. To "server" the
 * last rank is a parameter server: gradients come in, weights go out.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "paceline/mem.h"
#include "worker/comm/comm.h"
#include "worker/lanes/placement.h"

enum { LANES = 32, ROUNDS = 21, TIMES_MAX = 50, CONTENDERS = 6 };

static const size_t default_sizes[] = {1 << 10, 4 << 10,   16 << 10,  64 << 10, 256 << 10,
                                       1 << 20, 4u << 20u, 16u << 20, 64u << 20};

/* The last one is MPI_Allreduce itself. */
static const struct contender {
    const char *name;
    enum algorithm algorithm;
    bool server;
} contenders[CONTENDERS] = {
    {"tree", ALGO_TREE, false},  {"recursiveDoubling", ALGO_RECURSIVE_DOUBLING, false},
    {"ring", ALGO_RING, false},  {"naive", ALGO_NAIVE, false},
    {"server", ALGO_TREE, true}, {"mpi", ALGO_MPI, false}};

/* One size, and what sums it. */
struct bench_problem {
    struct comm *comm;
    size_t n; /* floats */
    int n_blocks;
    float *blocks[LANES_MAX_BLOCKS];
    struct reducer *reducers[CONTENDERS - 1];
    struct placement placement;
    struct reducer_servers servers;
};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void update(void *arg, size_t offset, size_t n, const float *gradients)
{
    const struct bench_problem *p = arg;

    memcpy(p->servers.weights + offset, gradients + offset, n * sizeof *gradients);
}

static struct lane_tree tree_of(const struct comm *c, bool server)
{
    return (struct lane_tree){.total = LANES, .workers = comm_size(c) - server};
}

static int count_blocks(const struct comm *c, bool server)
{
    struct lanes lanes;

    lanes_init(&lanes, tree_of(c, server), comm_rank(c));
    return lanes.n_blocks;
}

static void problem_init(struct bench_problem *p, struct comm *c, const struct kernels *k,
                         size_t bytes)
{
    const int with = count_blocks(c, true), without = count_blocks(c, false);

    *p = (struct bench_problem){
        .comm = c, .n = bytes / sizeof(float), .n_blocks = with > without ? with : without};
    placement_init(&p->placement, PLACEMENT_BALANCED, NULL, 0, p->n, 1);
    p->placement.first = comm_size(c) - 1;
    p->servers = (struct reducer_servers){.placement = &p->placement,
                                          .weights = xaligned(p->n * sizeof(float)),
                                          .update = update,
                                          .arg = p};
    for (int i = 0; i < p->n_blocks; i++) {
        p->blocks[i] = xaligned(p->n * sizeof(float));
        memset(p->blocks[i], 0, p->n * sizeof(float));
    }
    for (int i = 0; i < CONTENDERS - 1; i++) {
        struct reducer_config config = {.algorithm = contenders[i].algorithm,
                                        .fusion_bytes = 4 << 20,
                                        .servers = contenders[i].server ? &p->servers : NULL};

        p->reducers[i] = reducer_new(c, k, &config, tree_of(c, contenders[i].server), p->n);
    }
}

static void problem_release(struct bench_problem *p)
{
    for (int i = 0; i < CONTENDERS - 1; i++)
        reducer_free(p->reducers[i]);
    placement_release(&p->placement);
    free(p->servers.weights);
    for (int i = 0; i < p->n_blocks; i++)
        free(p->blocks[i]);
}

static void reduce(struct bench_problem *p, int contender)
{
    size_t offset, n;

    if (contender == CONTENDERS - 1) {
        MPI_Allreduce(MPI_IN_PLACE, p->blocks[0], (int)p->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
    }
    reducer_begin(p->reducers[contender], LANES, p->blocks);
    reducer_submit(p->reducers[contender], 0, p->n);
    reducer_finish(p->reducers[contender]);
    while (reducer_take(p->reducers[contender], &offset, &n))
        ;
}

/* Seconds of one all-reduce on the slowest rank. */
static double measure(struct bench_problem *p, int contender, int times)
{
    double start, mine, slowest = 0;

    reduce(p, contender);
    comm_barrier(p->comm);
    start = seconds();
    for (int i = 0; i < times; i++)
        reduce(p, contender);
    mine = (seconds() - start) / times;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure_size(struct comm *c, const struct kernels *k, size_t bytes, int rounds)
{
    size_t fit = ((size_t)16 << 20) / bytes;
    int times = fit > TIMES_MAX ? TIMES_MAX : fit > 0 ? (int)fit : 1;
    struct bench_problem p;

    problem_init(&p, c, k, bytes);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < CONTENDERS; i++) {
            double s = measure(&p, i, times);

            if (comm_rank(c) == 0)
                printf("%s,%d,%zu,%d,%.9f\n", contenders[i].name, comm_size(c), bytes, round, s);
        }
    problem_release(&p);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);
    const char *why = "";
    const struct kernels *k = kernels_select(&why);
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;

    if (!k || comm_size(c) < 2 || comm_size(c) > LANES || rounds < 1) {
        fprintf(stderr, "allreduce: %s\n", k ? "needs 2 to 32 ranks and a round" : why);
        comm_abort(c, EXIT_FAILURE);
    }
    if (argc <= 2)
        for (size_t i = 0; i < ARRAY_LEN(default_sizes); i++)
            measure_size(c, k, default_sizes[i], rounds);
    for (int i = 2; i < argc; i++)
        measure_size(c, k, (size_t)strtoull(argv[i], NULL, 10), rounds);
    comm_finalize(c);
    return 0;
}
