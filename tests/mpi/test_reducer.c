// LINK: common worker/kernels worker/lanes/lanes.c worker/comm/comm.c
// LINK: worker/comm/reducer.c worker/comm/fold.c worker/comm/tree.c worker/comm/ring.c
// LINK: worker/comm/mpi.c worker/comm/doubling.c worker/comm/naive.c worker/lanes/placement.c
// LINK: worker/comm/chunk.c worker/comm/shaper.c worker/comm/timeout.c
// MPI: 1 2 3 4
// TIMEOUT: 600
#include <math.h>
#include <time.h>

#include "paceline/mem.h"
#include "tests/mpi/mpi_test.h"

enum { MAX_RANGES = 64, ALGORITHMS = ALGO_NAIVE + 1 };

/* Whether the sum is that of one rank, to the byte. */
static bool is_one_order(const struct reducer_config *config)
{
    return config->wire == WIRE_FP32 && config->algorithm != ALGO_RING &&
           config->algorithm != ALGO_MPI;
}

/* The gradients that one test reduces. */
struct reducer_problem {
    struct lane_tree tree;
    struct lanes lanes; /* this rank's */
    uint32_t n_samples;
    size_t n;
    float *want; /* the sum of one rank that has all lanes */
    /* This rank's partial sums; those of blocks without samples are NaN, which must not be read. */
    float *partials[LANES_MAX_BLOCKS];
    float *blocks[LANES_MAX_BLOCKS]; /* a copy, for the reducer */
};

static uint32_t hash(uint32_t a, uint32_t b)
{
    uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(x >> 32);
}

/* The value of a lane at i: of many sizes, at most 1, now and then -0. */
static float lane_value(int lane, size_t i)
{
    uint32_t bits = hash((uint32_t)lane, (uint32_t)i);

    if (bits % 16 == 0)
        return -0.0f;
    return ldexpf((float)(int32_t)bits * 0x1p-31f, -(int)(bits % 7));
}

/* The sum over lanes first .. first + count in tree order, lanes without samples left out; NaN
 * when all are. */
static float tree_value(const struct reducer_problem *t, int first, int count, size_t i)
{
    if (count == 1)
        return lane_samples(t->lanes.total, first, 1, t->n_samples) ? lane_value(first, i) : NAN;

    float left = tree_value(t, first, count / 2, i);
    float right = tree_value(t, first + count / 2, count / 2, i);

    return isnan(left) ? right : isnan(right) ? left : left + right;
}

static void problem_of(struct reducer_problem *t, struct comm *c, struct lane_tree tree,
                       uint32_t n_samples, size_t n)
{
    const int lanes = tree.total;

    *t = (struct reducer_problem){.tree = tree, .n_samples = n_samples, .n = n};
    lanes_init(&t->lanes, t->tree, comm_rank(c));
    t->want = xmalloc(n * sizeof *t->want);
    for (size_t i = 0; i < n; i++)
        t->want[i] = tree_value(t, 0, lanes, i);
    for (int b = 0; b < t->lanes.n_blocks; b++) {
        struct lane_block block = t->lanes.blocks[b];

        t->partials[b] = xmalloc(n * sizeof(float));
        t->blocks[b] = xaligned(n * sizeof(float));
        for (size_t i = 0; i < n; i++)
            t->partials[b][i] = tree_value(t, block.first, 1 << block.level, i);
    }
}

static void problem_init(struct reducer_problem *t, struct comm *c, int lanes, uint32_t n_samples,
                         size_t n)
{
    problem_of(t, c, (struct lane_tree){lanes, 0, comm_size(c)}, n_samples, n);
}

static void problem_release(struct reducer_problem *t)
{
    free(t->want);
    for (int b = 0; b < t->lanes.n_blocks; b++) {
        free(t->partials[b]);
        free(t->blocks[b]);
    }
}

static void fill_blocks(const struct reducer_problem *t)
{
    for (int b = 0; b < t->lanes.n_blocks; b++)
        memcpy(t->blocks[b], t->partials[b], t->n * sizeof(float));
}

/* Cuts the slab into layers, submitted from the last, and those into slices, in rising order. */
static void submit_all(struct reducer *r, const struct reducer_problem *t, uint32_t seed)
{
    size_t end = t->n, layers = 1 + seed % 7, slices = 1 + seed % 5;

    for (size_t layer = layers; layer-- > 0;) {
        size_t begin = t->n * layer * layer / (layers * layers), at = begin;

        for (size_t s = 1; s <= slices; s++) {
            size_t stop = begin + (end - begin) * s / slices;

            if (stop > at)
                reducer_submit(r, at, stop - at);
            at = stop;
            reducer_poll(r);
        }
        end = begin;
    }
}

/* Takes everything; each element exactly once. */
static void take_all(struct reducer *r, const struct reducer_problem *t)
{
    AUTO(auto_free) unsigned char *seen = xcalloc(t->n, 1);
    size_t offset = 0, n = 0, total = 0, twice = 0;

    while (reducer_take(r, &offset, &n)) {
        CHECK(n > 0 && offset + n <= t->n);
        for (size_t i = offset; i < offset + n; i++)
            twice += seen[i]++;
        total += n;
    }
    CHECK_INT(total, t->n);
    CHECK_INT(twice, 0);
    CHECK(!reducer_take(r, &offset, &n));
}

static void check_result(struct comm *c, const struct reducer_problem *t,
                         const struct reducer_config *config)
{
    const float *got = t->blocks[0];
    bool bf16 = config->wire == WIRE_BF16;
    double rounding = bf16 ? 0x1p-9 : 0x1p-24, worst = 0;
    double tolerance = rounding * t->lanes.total * (comm_size(c) + 1); /* one rounding per hop */
    uint32_t low_bits = 0;
    struct err err = {0};

    if (comm_size(c) == 1 || is_one_order(config)) {
        CHECK_BYTES(got, t->want, t->n * sizeof *got);
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        uint32_t bits;

        memcpy(&bits, &got[i], sizeof bits);
        low_bits |= bits & 0xffff;
        worst = fmax(worst, isfinite(got[i]) ? fabs((double)got[i] - t->want[i]) : INFINITY);
    }
    CHECK_NEAR(worst, 0, tolerance);
    CHECK((low_bits == 0) == bf16);
    CHECK_INT(comm_agree(c, "the sum", got, t->n * sizeof *got, &err), 0);
}

/* Two steps of one reducer: the second finds the buffers as the first left them. */
static void check_reduce(struct comm *c, const struct kernels *k, const struct reducer_problem *t,
                         const struct reducer_config *config)
{
    struct reducer *r = reducer_new(c, k, config, t->tree, t->n);

    for (uint32_t step = 0; step < 2; step++) {
        fill_blocks(t);
        reducer_begin(r, t->n_samples, t->blocks);
        submit_all(r, t, hash((uint32_t)t->n, step + config->algorithm));
        reducer_finish(r);
        take_all(r, t);
        check_result(c, t, config);
    }
    reducer_free(r);
}

static void check_problem(struct comm *c, const struct kernels *k, int lanes, uint32_t n_samples,
                          size_t n)
{
    static const size_t fusions[] = {0, 4096, 1 << 20, (size_t)1 << 40};
    struct reducer_problem t;

    problem_init(&t, c, lanes, n_samples, n);
    for (uint32_t i = 0; i < 4 * ALGORITHMS; i++) {
        uint32_t way = i / ALGORITHMS; /* each two of three switches, and all three over problems */
        struct reducer_config config = {
            .algorithm = (enum algorithm)(i % ALGORITHMS),
            .wire = way & 1 ? WIRE_BF16 : WIRE_FP32,
            .schedule = way & 2 ? COMM_END : COMM_OVERLAP,
            .fusion_bytes = fusions[hash(i, (uint32_t)n) % ARRAY_LEN(fusions)],
            .thread = (way ^ way >> 1 ^ n) & 1,
        };

        check_reduce(c, k, &t, &config);
    }
    problem_release(&t);
}

static int64_t sum_over_ranks(struct comm *c, int64_t value)
{
    int64_t all[64], sum = 0;

    comm_gather(c, &value, sizeof value, all, 0);
    for (int rank = 0; comm_rank(c) == 0 && rank < comm_size(c); rank++)
        sum += all[rank];
    comm_broadcast(c, &sum, sizeof sum, 0);
    return sum;
}

/* The bytes that all ranks send together, as multiples of the slab; 16 lanes on 3 ranks are 2, 3
 * and 2 blocks. */
static int64_t slabs_sent(enum algorithm algorithm, int64_t size)
{
    static const int64_t doubling[] = {0, 0, 2, 3 + 2 + 2 + 1, 8}, naive[] = {0, 0, 2, 14, 12};

    if (algorithm == ALGO_RECURSIVE_DOUBLING)
        return doubling[size];
    return algorithm == ALGO_NAIVE ? naive[size] : 2 * (size - 1);
}

/* Overlap sends at once, end not before finish; the bytes sent are the fewest that can be. */
static void check_traffic(struct comm *c, const struct kernels *k, enum algorithm algorithm,
                          enum comm_schedule schedule, enum wire_type wire)
{
    struct reducer_config config = {.algorithm = algorithm, .schedule = schedule, .wire = wire};
    const int64_t before = (int64_t)comm_bytes_sent(c);
    int64_t early, size = comm_size(c), value_bytes = wire == WIRE_BF16 ? 2 : 4;
    struct reducer_problem t;

    problem_init(&t, c, 16, 16, 196 * 1024); /* no rest so small that all ranks sum all of it */

    struct reducer *r = reducer_new(c, k, &config, t.tree, t.n);

    fill_blocks(&t);
    reducer_begin(r, t.n_samples, t.blocks);
    reducer_submit(r, 0, t.n);
    early = (int64_t)comm_bytes_sent(c) - before;
    reducer_finish(r);
    take_all(r, &t);
    CHECK(reducer_wait_seconds(r) >= 0);

    int64_t sent = sum_over_ranks(c, (int64_t)comm_bytes_sent(c) - before);

    bool at_once = schedule == COMM_OVERLAP && size > 1;

    CHECK((sum_over_ranks(c, early) > 0) == at_once);
    if (algorithm != ALGO_RECURSIVE_DOUBLING || size % 2 == 0) /* else some wait for others first */
        CHECK((early > 0) == at_once);

    int64_t want = slabs_sent(algorithm, size) * (int64_t)t.n * value_bytes;

    if (algorithm == ALGO_TREE && (size & (size - 1)) != 0)
        CHECK(sent > want);
    else
        CHECK_INT(sent, want);
    reducer_free(r);
    problem_release(&t);
}

static void test_traffic(struct comm *c, const struct kernels *k)
{
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++)
        for (int i = 0; i < 4 && algorithm != ALGO_MPI; i++)
            check_traffic(c, k, (enum algorithm)algorithm, i & 1 ? COMM_END : COMM_OVERLAP,
                          i & 2 ? WIRE_BF16 : WIRE_FP32);
}

/*
 * Large enough that chunks are shorter than the longest and longer than the shortest: on a number
 * of ranks that is no power of two these own different numbers of blocks, and must cut alike.
 */
static void test_uneven(struct comm *c, const struct kernels *k)
{
    struct reducer_problem t;

    problem_init(&t, c, 16, 64, 700000);
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
        struct reducer_config config = {.algorithm = (enum algorithm)algorithm,
                                        .fusion_bytes = 4 << 20};

        check_reduce(c, k, &t, &config);
    }
    problem_release(&t);
}

/* Ranges wait until fusion_bytes are together; what a step leaves does not count in the next. */
static void test_fusion(struct comm *c, const struct kernels *k)
{
    enum { RANGE = 60000 };
    struct reducer_config config = {.algorithm = ALGO_RING, .fusion_bytes = RANGE * 6};
    struct reducer_problem t;

    problem_init(&t, c, 4, 4, 2 * RANGE);

    struct reducer *r = reducer_new(c, k, &config, t.tree, t.n);

    for (int step = 0; step < 2; step++) {
        uint64_t before = comm_bytes_sent(c);

        fill_blocks(&t);
        reducer_begin(r, t.n_samples, t.blocks);
        reducer_submit(r, RANGE, RANGE);
        CHECK_INT(comm_bytes_sent(c), before);
        reducer_submit(r, 0, RANGE);
        CHECK((comm_bytes_sent(c) > before) == (comm_size(c) > 1));
        reducer_finish(r);
        take_all(r, &t);
    }
    reducer_free(r);
    problem_release(&t);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The values of the lanes travel while a step is under way. */
static void test_lanes_within_step(struct comm *c, const struct kernels *k, bool thread)
{
    struct reducer_config config = {.algorithm = ALGO_TREE, .thread = thread};
    struct reducer_problem t;
    double mine[16], all[16];

    problem_init(&t, c, 16, 16, 100000);

    struct reducer *r = reducer_new(c, k, &config, t.tree, t.n);

    for (int i = 0; i < t.lanes.count; i++)
        mine[i] = t.lanes.first + i;
    fill_blocks(&t);
    reducer_begin(r, t.n_samples, t.blocks);
    reducer_submit(r, t.n / 2, t.n - t.n / 2);
    comm_lanes_begin(c, t.tree, mine, 1);
    reducer_submit(r, 0, t.n / 2);
    reducer_finish(r);
    comm_lanes_end(c, all);
    take_all(r, &t);
    check_result(c, &t, &config);
    for (int i = 0; i < 16; i++)
        CHECK(all[i] == i);
    reducer_free(r);
    problem_release(&t);
}

/* A simulated network, for which chunks are cut as for a real one, changes no byte, and takes at
 * least the time that its slowest line needs: what all send, shared by all. */
static void test_simulated(struct comm *c, const struct kernels *k, size_t n, double bandwidth,
                           bool thread)
{
    struct reducer_problem t;

    problem_init(&t, c, 16, 40, n);
    comm_simulate(c, bandwidth, 0.001);
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
        struct reducer_config config = {
            .algorithm = (enum algorithm)algorithm, .fusion_bytes = 1 << 16, .thread = thread};
        struct reducer *r = reducer_new(c, k, &config, t.tree, t.n);
        uint64_t before = comm_bytes_sent(c);
        double begin = seconds(), least;

        fill_blocks(&t);
        reducer_begin(r, t.n_samples, t.blocks);
        submit_all(r, &t, 5);
        reducer_finish(r);
        take_all(r, &t);
        least = (double)(comm_bytes_sent(c) - before) / bandwidth;
        if (algorithm != ALGO_MPI)
            CHECK(seconds() - begin >= least);
        check_result(c, &t, &config);
        reducer_free(r);
    }
    comm_simulate(c, 0, 0);
    problem_release(&t);
}

/* Weights that their servers change by the sum; how many values this rank has updated. */
struct served {
    float *weights;
    size_t updated;
};

static void descend(void *arg, size_t offset, size_t n, const float *gradients)
{
    struct served *s = arg;

    for (size_t i = offset; i < offset + n; i++)
        s->weights[i] -= gradients[i];
    s->updated += n;
}

/* Two updates by servers after the workers, or among them: each value by one rank, and its new
 * weight on every worker. A server has no blocks, but a place to sum in. */
static void check_servers(struct comm *c, const struct kernels *k, int servers, size_t n)
{
    const int workers = comm_size(c) - servers;
    struct placement placement;
    struct reducer_servers owners = {.placement = &placement, .update = descend};
    struct reducer_config config = {.fusion_bytes = 1 << 16, .servers = &owners};
    struct served mine = {.weights = xcalloc(n, sizeof(float))};
    struct reducer_problem t;

    placement_init(&placement, PLACEMENT_BALANCED, NULL, 0, n, servers ? servers : workers);
    placement.first = servers ? workers : 0;
    problem_of(&t, c, (struct lane_tree){16, 0, workers}, 40, n);
    if (!t.lanes.n_blocks)
        t.blocks[0] = xaligned(n * sizeof(float));
    owners.weights = mine.weights;
    owners.arg = &mine;

    struct reducer *r = reducer_new(c, k, &config, t.tree, n);

    for (uint32_t step = 0; step < 2; step++) {
        fill_blocks(&t);
        reducer_begin(r, t.n_samples, t.blocks);
        submit_all(r, &t, 77);
        reducer_finish(r);
        take_all(r, &t);
    }
    for (size_t i = 0; i < n && comm_rank(c) < workers; i++)
        CHECK(mine.weights[i] == (0.0f - t.want[i]) - t.want[i]);
    CHECK_INT(sum_over_ranks(c, (int64_t)mine.updated), 2 * (int64_t)n);
    CHECK((mine.updated > 0) == (!servers || comm_rank(c) >= workers));
    reducer_free(r);
    if (!t.lanes.n_blocks)
        free(t.blocks[0]);
    problem_release(&t);
    placement_release(&placement);
    free(mine.weights);
}

static void test_servers(struct comm *c, const struct kernels *k)
{
    for (int servers = 0; servers < comm_size(c) && comm_size(c) > 1; servers++) {
        check_servers(c, k, servers, 70001);
        check_servers(c, k, servers, 300000);
    }
}

int main(int argc, char **argv)
{
    struct comm *c = comm_init(&argc, &argv);
    const char *why = "";
    const struct kernels *k = kernels_select(&why);

    CHECK(k != NULL);
    if (k) {
        for (int lanes = 1; lanes <= 64; lanes *= 2)
            for (uint32_t i = 0; i < 4 && comm_size(c) <= lanes; i++) {
                uint32_t few = 1 + hash((uint32_t)lanes, i) % (uint32_t)lanes;

                check_problem(c, k, lanes, i % 2 ? few : 2 * few + (uint32_t)lanes,
                              1 + hash(i, (uint32_t)lanes) % (i < 2 ? 300 : 9000));
            }
        check_problem(c, k, 4, 4, 100003);
        check_problem(c, k, 4, 1, 100003);
        check_problem(c, k, 32, 96, 70001);
        check_problem(c, k, 4, 9, 1200007);
        test_traffic(c, k);
        test_uneven(c, k);
        test_fusion(c, k);
        test_servers(c, k);
        test_lanes_within_step(c, k, false);
        test_lanes_within_step(c, k, true);
        test_simulated(c, k, 70001, 20e6, false);
        test_simulated(c, k, 70001, 20e6, true);
        test_simulated(c, k, 700001, 200e6, false); /* more chunks than are under way at once */
    }
    return mpi_test_result(c);
}
