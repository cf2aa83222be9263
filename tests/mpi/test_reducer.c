// LINK: common worker/kernels worker/model/lanes.c worker/comm/comm.c
// LINK: worker/comm/reducer.c worker/comm/fold.c worker/comm/tree.c worker/comm/ring.c
// LINK: worker/comm/mpi.c
// MPI: 1 2 3 4
#include <math.h>

#include "paceline/mem.h"
#include "tests/mpi/mpi_test.h"

enum { MAX_RANGES = 64 };

/* What one test reduces. */
struct problem {
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

/* What a lane has at i: of many sizes, at most 1, now and then -0. */
static float lane_value(int lane, size_t i)
{
    uint32_t bits = hash((uint32_t)lane, (uint32_t)i);

    if (bits % 16 == 0)
        return -0.0f;
    return ldexpf((float)(int32_t)bits * 0x1p-31f, -(int)(bits % 7));
}

/* The sum over lanes first .. first + count in tree order, lanes without samples left out; NaN
 * when all are. */
static float tree_value(const struct problem *t, int first, int count, size_t i)
{
    if (count == 1)
        return lane_samples(t->lanes.total, first, 1, t->n_samples) ? lane_value(first, i) : NAN;

    float left = tree_value(t, first, count / 2, i);
    float right = tree_value(t, first + count / 2, count / 2, i);

    return isnan(left) ? right : isnan(right) ? left : left + right;
}

static void problem_init(struct problem *t, struct comm *c, int lanes, uint32_t n_samples, size_t n)
{
    *t = (struct problem){.n_samples = n_samples, .n = n};
    lanes_init(&t->lanes, lanes, comm_rank(c), comm_size(c));
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

static void problem_release(struct problem *t)
{
    free(t->want);
    for (int b = 0; b < t->lanes.n_blocks; b++) {
        free(t->partials[b]);
        free(t->blocks[b]);
    }
}

static void fill_blocks(const struct problem *t)
{
    for (int b = 0; b < t->lanes.n_blocks; b++)
        memcpy(t->blocks[b], t->partials[b], t->n * sizeof(float));
}

/* Cuts the slab into layers, submitted from the last, and those into slices, in rising order. */
static void submit_all(struct reducer *r, const struct problem *t, uint32_t seed)
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
static void take_all(struct reducer *r, const struct problem *t)
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

static void check_result(struct comm *c, const struct problem *t,
                         const struct reducer_config *config)
{
    const float *got = t->blocks[0];
    bool bf16 = config->wire == WIRE_BF16;
    double rounding = bf16 ? 0x1p-9 : 0x1p-24, worst = 0;
    double tolerance = rounding * t->lanes.total * (comm_size(c) + 1); /* one rounding per hop */
    uint32_t low_bits = 0;
    struct err err = {0};

    if (comm_size(c) == 1 || (config->algorithm == ALGO_TREE && !bf16)) {
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
static void check_reduce(struct comm *c, const struct kernels *k, const struct problem *t,
                         const struct reducer_config *config)
{
    struct reducer *r = reducer_new(c, k, config, t->lanes.total, t->n);

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
    struct problem t;

    problem_init(&t, c, lanes, n_samples, n);
    for (uint32_t i = 0; i < 24; i++) {
        struct reducer_config config = {
            .algorithm = (enum algorithm[]){ALGO_TREE, ALGO_RING, ALGO_MPI}[i % 3],
            .wire = i / 3 % 2 ? WIRE_BF16 : WIRE_FP32,
            .schedule = i / 6 % 2 ? COMM_END : COMM_OVERLAP,
            .fusion_bytes = fusions[hash(i, (uint32_t)n) % ARRAY_LEN(fusions)],
            .thread = i / 12,
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

/* Overlap sends at once, end not before finish; the bytes sent are the fewest that can be. */
static void check_traffic(struct comm *c, const struct kernels *k, enum algorithm algorithm,
                          enum comm_schedule schedule, enum wire_type wire)
{
    struct reducer_config config = {.algorithm = algorithm, .schedule = schedule, .wire = wire};
    int64_t early, size = comm_size(c), value_bytes = wire == WIRE_BF16 ? 2 : 4;
    struct problem t;

    problem_init(&t, c, 16, 16, 200000);

    struct reducer *r = reducer_new(c, k, &config, t.lanes.total, t.n);

    fill_blocks(&t);
    CHECK_INT(reducer_stats(r).bytes_sent, 0);
    reducer_begin(r, t.n_samples, t.blocks);
    reducer_submit(r, 0, t.n);
    early = (int64_t)reducer_stats(r).bytes_sent;
    CHECK((early > 0) == (schedule == COMM_OVERLAP && size > 1));
    reducer_finish(r);
    take_all(r, &t);
    CHECK(reducer_stats(r).wait_seconds >= 0);

    int64_t sent = sum_over_ranks(c, (int64_t)reducer_stats(r).bytes_sent);

    if (algorithm == ALGO_RING || (size & (size - 1)) == 0)
        CHECK_INT(sent, 2 * (size - 1) * (int64_t)t.n * value_bytes);
    else
        CHECK(sent > 2 * (size - 1) * (int64_t)t.n * value_bytes);
    reducer_free(r);
    problem_release(&t);
}

static void test_traffic(struct comm *c, const struct kernels *k)
{
    for (int i = 0; i < 8; i++)
        check_traffic(c, k, i & 1 ? ALGO_RING : ALGO_TREE, i & 2 ? COMM_END : COMM_OVERLAP,
                      i & 4 ? WIRE_BF16 : WIRE_FP32);
}

/*
 * Large enough that pieces are shorter than the longest and longer than the shortest: on a number
 * of ranks that is no power of two these own different numbers of blocks, and must cut alike.
 */
static void test_uneven(struct comm *c, const struct kernels *k)
{
    struct reducer_config config = {.algorithm = ALGO_TREE, .fusion_bytes = 4 << 20};
    struct problem t;

    problem_init(&t, c, 16, 64, 700000);
    check_reduce(c, k, &t, &config);
    problem_release(&t);
}

/* Ranges wait until fusion_bytes are together; what a step leaves does not count in the next. */
static void test_fusion(struct comm *c, const struct kernels *k)
{
    enum { RANGE = 60000 };
    struct reducer_config config = {.algorithm = ALGO_RING, .fusion_bytes = RANGE * 6};
    struct problem t;

    problem_init(&t, c, 4, 4, 2 * RANGE);

    struct reducer *r = reducer_new(c, k, &config, t.lanes.total, t.n);

    for (int step = 0; step < 2; step++) {
        uint64_t before = reducer_stats(r).bytes_sent;

        fill_blocks(&t);
        reducer_begin(r, t.n_samples, t.blocks);
        reducer_submit(r, RANGE, RANGE);
        CHECK_INT(reducer_stats(r).bytes_sent, before);
        reducer_submit(r, 0, RANGE);
        CHECK((reducer_stats(r).bytes_sent > before) == (comm_size(c) > 1));
        reducer_finish(r);
        take_all(r, &t);
    }
    reducer_free(r);
    problem_release(&t);
}

/* The values of the lanes travel while a step is under way. */
static void test_lanes_within_step(struct comm *c, const struct kernels *k, bool thread)
{
    struct reducer_config config = {.algorithm = ALGO_TREE, .thread = thread};
    struct problem t;
    double mine[16], all[16];

    problem_init(&t, c, 16, 16, 100000);

    struct reducer *r = reducer_new(c, k, &config, t.lanes.total, t.n);

    for (int i = 0; i < t.lanes.count; i++)
        mine[i] = t.lanes.first + i;
    fill_blocks(&t);
    reducer_begin(r, t.n_samples, t.blocks);
    reducer_submit(r, t.n / 2, t.n - t.n / 2);
    comm_lanes_begin(c, &t.lanes, mine, 1);
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
        test_lanes_within_step(c, k, false);
        test_lanes_within_step(c, k, true);
    }
    return mpi_test_result(c);
}
