// LINK: common/estimate.c common/mem.c
/* The estimates of study 003, section 3.3: its table 6.1 in the formulas of its section 4. */
#include "paceline/estimate.h"

#include <math.h>

#include "tests/test.h"

enum { VGG16E, GOOGLENET, SQUEEZENET, RESNET34, N_NETS };

/* Table 6.1: seconds of a gradient and of a transfer. */
static const struct estimate_costs nets[N_NETS] = {
    [VGG16E] = {.gradient_s = 0.719, .transfer_s = 5.153, .batches = 128},
    [GOOGLENET] = {.gradient_s = 0.763, .transfer_s = 0.210, .batches = 128},
    [SQUEEZENET] = {.gradient_s = 0.758, .transfer_s = 0.033, .batches = 128},
    [RESNET34] = {.gradient_s = 0.821, .transfer_s = 0.811, .batches = 128},
};

static const struct golden {
    enum estimate_type type;
    enum estimate_server server;
    int net;
    double speedup[8]; /* by workers, two decimals; 0: not given */
} golden[] = {
    {ESTIMATE_SYNC_JOIN, ESTIMATE_CENTRAL, VGG16E, {.07, .08, .08, .08}},
    {ESTIMATE_SYNC_JOIN,
     ESTIMATE_CENTRAL,
     GOOGLENET,
     {.64, 1.02, 1.26, 1.43, 1.56, 1.66, 1.74, 1.80}},
    {ESTIMATE_SYNC_JOIN,
     ESTIMATE_CENTRAL,
     SQUEEZENET,
     {.92, 1.74, 2.46, 3.12, 3.71, 4.24, 4.73, 5.18}},
    {ESTIMATE_SYNC_JOIN, ESTIMATE_CENTRAL, RESNET34, {.34, .45, .51, .54, .56, .58, .59, .60}},
    {ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, VGG16E, {1.00, .24, .28, .34}},
    {ESTIMATE_SYNC_JOIN,
     ESTIMATE_DISTRIBUTED,
     GOOGLENET,
     {1.00, 1.57, 2.19, 2.83, 3.47, 4.11, 4.76, 5.40}},
    {ESTIMATE_SYNC_JOIN,
     ESTIMATE_DISTRIBUTED,
     SQUEEZENET,
     {1.00, 1.92, 2.84, 3.75, 4.67, 5.59, 6.51, 7.43}},
    {ESTIMATE_SYNC_JOIN,
     ESTIMATE_DISTRIBUTED,
     RESNET34,
     {1.00, 1.01, 1.29, 1.61, 1.94, 2.27, 2.60, 2.93}},
    {ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, GOOGLENET, {.64, .68, .58, .49, .42, .36, .32, .28}},
    {ESTIMATE_SYNC_SPLIT,
     ESTIMATE_CENTRAL,
     SQUEEZENET,
     {.92, 1.53, 1.81, 1.88, 1.82, 1.72, 1.61, 1.49}},
    {ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, RESNET34, {.34, .25, .19, .15, .12, .10, .09, .08}},
    {ESTIMATE_SYNC_SPLIT,
     ESTIMATE_DISTRIBUTED,
     GOOGLENET,
     {1.00, 1.29, 1.43, 1.51, 1.56, 1.60, 1.63, 1.65}},
    {ESTIMATE_SYNC_SPLIT,
     ESTIMATE_DISTRIBUTED,
     SQUEEZENET,
     {1.00, 1.84, 2.56, 3.17, 3.71, 4.18, 4.60, 4.97}},
    {ESTIMATE_SYNC_SPLIT,
     ESTIMATE_DISTRIBUTED,
     RESNET34,
     {1.00, .67, .61, .58, .56, .55, .54, .54}},
    {ESTIMATE_ASYNC, ESTIMATE_CENTRAL, VGG16E, {.07, .09, .09, .09}},
    {ESTIMATE_ASYNC, ESTIMATE_CENTRAL, GOOGLENET, {.64, 1.09, 1.42, 1.67, 1.87, 2.00, 2.04, 2.08}},
    {ESTIMATE_ASYNC, ESTIMATE_CENTRAL, SQUEEZENET, {.92, 1.77, 2.55, 3.28, 3.95, 4.58, 5.16, 5.71}},
    {ESTIMATE_ASYNC, ESTIMATE_CENTRAL, RESNET34, {.34, .50, .60, .62, .63, .64, .64, .64}},
    {ESTIMATE_ASYNC,
     ESTIMATE_DISTRIBUTED,
     GOOGLENET,
     {1.00, 1.57, 2.19, 2.83, 3.47, 4.11, 4.76, 5.40}},
};

static double speedup_of(const struct estimate_costs *costs, enum estimate_type type,
                         enum estimate_server server, int workers)
{
    return estimate_speedup(costs, estimate_training(costs, type, server, workers).mean_s);
}

static void check_golden(void)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        for (int n = 1; n <= 8 && golden[i].speedup[n - 1] > 0; n++) {
            double got = speedup_of(&nets[golden[i].net], golden[i].type, golden[i].server, n);

            if (fabs(got - golden[i].speedup[n - 1]) > 0.0051)
                TEST_FAIL("row %zu, %d workers: %.4f, the study has %.2f", i, n, got,
                          golden[i].speedup[n - 1]);
        }
    /* 4.21 is 4.12 in D/N rounds: the study has one row for both. */
    for (int net = 0; net < N_NETS; net++)
        for (int n = 1; n <= 8; n++)
            CHECK_NEAR(speedup_of(&nets[net], ESTIMATE_ASYNC, ESTIMATE_DISTRIBUTED, n),
                       speedup_of(&nets[net], ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, n), 1e-12);
}

/* Every formula by hand: N 4, D 8, g 10, c 1. */
static void check_formulas(void)
{
    static const struct {
        enum estimate_type type;
        enum estimate_server server;
        double best_s, worst_s;
    } by_hand[] = {
        {ESTIMATE_SYNC_JOIN, ESTIMATE_CENTRAL, 2 * 15.0, 2 * 18.0},     /* 4.6, 4.9 */
        {ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 2 * 11.5, 2 * 11.5}, /* 4.12 */
        {ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, 8 * 7.5, 8 * 10.5},     /* with g/N */
        {ESTIMATE_SYNC_SPLIT, ESTIMATE_DISTRIBUTED, 8 * 4.0, 8 * 4.0},  /* with g/N */
        {ESTIMATE_SYNC_SPLIT, ESTIMATE_ALL_REDUCE, 8 * 4.0, 8 * 4.0},   /* the same bytes */
        {ESTIMATE_ASYNC, ESTIMATE_CENTRAL, 3 + 2 * 12.0, 2 * 18.0},     /* 4.15, 4.18 */
        {ESTIMATE_ASYNC, ESTIMATE_DISTRIBUTED, 2 * 11.5, 2 * 11.5},     /* 4.21 */
    };
    struct estimate_costs costs = {.gradient_s = 10, .transfer_s = 1, .batches = 8};

    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        struct estimate e = estimate_training(&costs, by_hand[i].type, by_hand[i].server, 4);

        CHECK_NEAR(e.best_s, by_hand[i].best_s, 1e-9);
        CHECK_NEAR(e.worst_s, by_hand[i].worst_s, 1e-9);
        CHECK_NEAR(e.mean_s, (by_hand[i].best_s + by_hand[i].worst_s) / 2, 1e-9);
    }
    /* 4.13: a server that is always busy */
    costs.gradient_s = 1;
    CHECK_NEAR(estimate_training(&costs, ESTIMATE_ASYNC, ESTIMATE_CENTRAL, 4).best_s, 10, 1e-9);
}

/* The cost of algorithms of all-reduce, in transfers of all parameters. */
static void check_algorithms(void)
{
    static const struct {
        enum estimate_algorithm algorithm;
        int lanes, workers;
        double transfers;
    } by_hand[] = {
        {ESTIMATE_RING, 0, 1, 0},
        {ESTIMATE_RING, 0, 3, 4.0 / 3},
        {ESTIMATE_TREE, 0, 3, 4.0 / 3},
        {ESTIMATE_TREE, 32, 1, 0},
        {ESTIMATE_TREE, 32, 4, 6.0 / 4},
        {ESTIMATE_TREE, 8, 3, 6.0 / 3},   /* blocks 1, 2, 2 */
        {ESTIMATE_TREE, 32, 3, 10.0 / 3}, /* 8+2, 1+4+4+2, 1+2+8 */
        {ESTIMATE_RECURSIVE_DOUBLING, 0, 1, 0},
        {ESTIMATE_RECURSIVE_DOUBLING, 0, 4, 2},
        {ESTIMATE_RECURSIVE_DOUBLING, 0, 8, 3},
        {ESTIMATE_RECURSIVE_DOUBLING, 0, 5, 4},
        {ESTIMATE_RECURSIVE_DOUBLING, 32, 4, 2},
        {ESTIMATE_RECURSIVE_DOUBLING, 32, 3, 4 + 1 + 3}, /* 1+4+4+2 given; 16+4+1, 1+2+8 */
        {ESTIMATE_NAIVE, 0, 1, 0},
        {ESTIMATE_NAIVE, 0, 4, 3},
        {ESTIMATE_NAIVE, 32, 4, 3},
        {ESTIMATE_NAIVE, 32, 3, 8},
    };

    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        struct estimate_costs costs = {
            .transfer_s = 2, .algorithm = by_hand[i].algorithm, .lanes = by_hand[i].lanes};
        struct estimate e = estimate_update(&costs, ESTIMATE_ALL_REDUCE, by_hand[i].workers, 5);

        if (fabs(e.mean_s - (5 + 2 * by_hand[i].transfers)) > 1e-9)
            TEST_FAIL("row %zu: %.4f transfers, not %.4f", i, (e.mean_s - 5) / 2,
                      by_hand[i].transfers);
    }
    CHECK(sizeof by_hand > 0);
}

/* Several servers in the central one's place: each has a part, a worker sends all of them. */
static void check_servers(void)
{
    struct estimate_costs costs = {.transfer_s = 1, .batches = 8, .gradient_s = 1, .servers = 2};
    struct estimate e = estimate_update(&costs, ESTIMATE_CENTRAL, 4, 10);

    CHECK_NEAR(e.best_s, 12.5, 1e-9);
    CHECK_NEAR(e.worst_s, 14, 1e-9);
    e = estimate_update(&costs, ESTIMATE_CENTRAL, 1, 10);
    CHECK_NEAR(e.best_s, 12, 1e-9);
    CHECK_NEAR(e.worst_s, 12, 1e-9);
    CHECK_NEAR(estimate_training(&costs, ESTIMATE_ASYNC, ESTIMATE_CENTRAL, 1).worst_s, 24, 1e-9);
    e = estimate_training(&costs, ESTIMATE_ASYNC, ESTIMATE_CENTRAL, 4);
    CHECK_NEAR(e.best_s, 1.5 + 2 * 3, 1e-9);
    CHECK_NEAR(e.worst_s, 2 * 5, 1e-9);
    /* 32 lanes on 3 workers: 2, 4 and 3 sums, and 11 lanes for the busiest */
    costs = (struct estimate_costs){.transfer_s = 1, .batches = 8, .gradient_s = 32, .lanes = 32};
    e = estimate_training(&costs, ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, 3);
    CHECK_NEAR(e.best_s, 8 * (10 + 11), 1e-9);
    CHECK_NEAR(e.worst_s, 8 * (12 + 11), 1e-9);
    e = estimate_training(&costs, ESTIMATE_SYNC_SPLIT, ESTIMATE_DISTRIBUTED, 3);
    CHECK_NEAR(e.best_s, 8 * (10 / 3.0 + 11), 1e-9);
    e = estimate_training(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_CENTRAL, 3);
    CHECK_NEAR(e.worst_s, 8 / 3.0 * (6 + 32), 1e-9);
    costs.servers = 8;
    e = estimate_training(&costs, ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, 3);
    CHECK_NEAR(e.best_s, 8 * (5 + 11), 1e-9); /* what worker 1 sends, and gets */
}

/* Conclusions from the formulas: where join and split pay off, and where a server saturates. */
static void check_optima(void)
{
    const struct estimate_costs *google = &nets[GOOGLENET], *squeeze = &nets[SQUEEZENET];
    double ratio = google->transfer_s / google->gradient_s;
    struct estimate_costs costs = {.gradient_s = 1, .transfer_s = 1.5, .batches = 128};

    /* distributed join gains from more than 2c/g workers on */
    CHECK(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 2) < 1);
    CHECK_NEAR(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 3), 1, 1e-12);
    CHECK(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 4) > 1);
    /* distributed split gains where g > 2c */
    costs.transfer_s = 0.5;
    CHECK_NEAR(speedup_of(&costs, ESTIMATE_SYNC_SPLIT, ESTIMATE_DISTRIBUTED, 5), 1, 1e-12);
    /* central join saturates at 2g/3c */
    CHECK_NEAR(speedup_of(google, ESTIMATE_SYNC_JOIN, ESTIMATE_CENTRAL, 1000000), 2 / ratio / 3,
               1e-4);
    /* central split is fastest at sqrt(2g/3c) workers: 3.9 for SqueezeNet */
    CHECK_INT(estimate_best(squeeze, ESTIMATE_SYNC_SPLIT, ESTIMATE_CENTRAL, 8).workers, 4);
    CHECK_INT((int)lround(sqrt(2 * squeeze->gradient_s / 3 / squeeze->transfer_s)), 4);
}

static void check_bounds(void)
{
    for (int net = 0; net < N_NETS; net++)
        for (int type = 0; type < N_ESTIMATE_TYPES; type++)
            for (int n = 1; n <= 8; n *= 2) {
                struct estimate e = estimate_training(&nets[net], type, ESTIMATE_CENTRAL, n);

                CHECK(e.best_s <= e.worst_s);
                CHECK_NEAR(e.mean_s, (e.best_s + e.worst_s) / 2, 1e-9);
            }
}

/* Algorithm 3.7 by hand, and what it does to a speedup. */
static void check_shards(void)
{
    static const size_t tensors[] = {10, 4, 4, 6, 76};
    struct estimate_costs costs = nets[GOOGLENET];
    double equal = speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 2);

    CHECK_NEAR(estimate_largest_shard(tensors, 5, 1), 1, 1e-12);
    CHECK_NEAR(estimate_largest_shard(tensors, 4, 2), 14 / 24.0, 1e-12); /* 10+..: 10, 4+4+6 */
    CHECK_NEAR(estimate_largest_shard(tensors, 5, 2), 86 / 100.0, 1e-12);
    CHECK_NEAR(estimate_largest_shard(tensors, 5, 8), 0.76, 1e-12);
    CHECK_NEAR(estimate_largest_shard(NULL, 0, 4), 0.25, 1e-12);
    costs.tensors = tensors;
    costs.n_tensors = 5;
    CHECK(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 2) < equal);
    CHECK_NEAR(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_ALL_REDUCE, 2), equal, 1e-12);
    CHECK_NEAR(speedup_of(&costs, ESTIMATE_SYNC_JOIN, ESTIMATE_DISTRIBUTED, 2),
               1 / ((2 * 0.210 * 0.86 + 0.763) / 2 / 0.763), 1e-9);
}

/* The study's own conclusions. */
static void check_choice(void)
{
    struct estimate_choice c = estimate_best(&nets[VGG16E], -1, -1, 4);

    CHECK_INT(c.workers, 1);
    CHECK_NEAR(c.speedup, 1, 1e-12);
    c = estimate_best(&nets[SQUEEZENET], -1, -1, 8);
    CHECK_INT(c.workers, 8);
    CHECK_INT(c.server, ESTIMATE_DISTRIBUTED);
    c = estimate_best(&nets[RESNET34], ESTIMATE_ASYNC, ESTIMATE_CENTRAL, 8);
    CHECK(c.speedup < 1);
    CHECK(!estimate_exists(ESTIMATE_ASYNC, ESTIMATE_ALL_REDUCE));
}

int main(void)
{
    check_golden();
    check_formulas();
    check_algorithms();
    check_servers();
    check_optima();
    check_bounds();
    check_shards();
    check_choice();
    return test_result();
}
