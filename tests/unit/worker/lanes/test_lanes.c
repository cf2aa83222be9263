// LINK: worker/lanes/lanes.c
#include <math.h>
#include <stdbool.h>

#include "tests/test.h"
#include "worker/lanes/lanes.h"

enum { MAX_LANES = 64 };

static double random_value(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

/* The tree from its leaves up, level by level; sums of absent nodes are NaN. */
static double fold_levels(int first, int count, const double *per_lane)
{
    double sum[MAX_LANES];

    memcpy(sum, per_lane + first, (size_t)count * sizeof *sum);
    for (int n = count; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++) {
            double left = sum[2 * i], right = sum[2 * i + 1];

            sum[i] = isnan(left) ? right : isnan(right) ? left : left + right;
        }
    return sum[0];
}

/* One value per lane that has samples; NaN, which would spoil any sum, where none are. */
static void fill(double *per_lane, int total, uint32_t n)
{
    uint64_t state = (uint64_t)total << 32 | n;

    for (int lane = 0; lane < total; lane++) {
        double value = random_value(&state);

        per_lane[lane] = lane_samples(total, lane, 1, n) ? value : NAN;
    }
}

static void check_cover(int total, int size)
{
    int next = 0;

    for (int rank = 0; rank < size; rank++) {
        struct lanes l;

        lanes_init(&l, (struct lane_tree){total, 0, size}, rank);
        CHECK_INT(l.first, next);
        CHECK_INT(l.first, (int64_t)rank * total / size);
        for (int i = 0; i < l.n_blocks; i++) {
            int count = 1 << l.blocks[i].level;

            CHECK_INT(l.blocks[i].first, next);
            CHECK_INT(next % count, 0);
            next += count;
            /* Two blocks that are children of one node would be one block. */
            if (i > 0 && l.blocks[i - 1].level == l.blocks[i].level)
                CHECK((l.blocks[i].first >> l.blocks[i].level) % 2 == 0);
        }
        CHECK_INT(next, l.first + l.count);
    }
    CHECK_INT(next, total);
}

static void check_fold(int total, int size, uint32_t n)
{
    double per_lane[MAX_LANES], sums[MAX_LANES];
    struct lane_block blocks[MAX_LANES];
    struct lane_add adds[MAX_LANES];
    bool present[MAX_LANES];
    int count = 0, n_adds, root;

    fill(per_lane, total, n);
    for (int rank = 0; rank < size; rank++) {
        struct lanes l;

        lanes_init(&l, (struct lane_tree){total, 0, size}, rank);
        for (int i = 0; i < l.n_blocks; i++, count++) {
            struct lane_block b = blocks[count] = l.blocks[i];

            sums[count] = fold_levels(b.first, 1 << b.level, per_lane);
            present[count] = block_present((struct lane_tree){.total = total}, b, n);
        }
    }
    root = lanes_plan(total, blocks, present, adds, &n_adds);
    for (int i = 0; i < n_adds; i++)
        sums[adds[i].into] += sums[adds[i].from];

    double want = fold_levels(0, total, per_lane);

    CHECK(root >= 0 && n_adds < count);
    CHECK_BYTES(&sums[root], &want, sizeof want);
}

static void test_every_cut(void)
{
    for (int total = 1; total <= MAX_LANES; total *= 2)
        for (int size = 1; size <= total; size++) {
            check_cover(total, size);
            for (uint32_t n = 1; n <= 2 * (uint32_t)total; n++)
                check_fold(total, size, n);
        }
    check_cover(LANES_MAX, 3);
    check_cover(LANES_MAX, 1000);
}

static void test_fold_of_lanes(void)
{
    double per_lane[MAX_LANES];

    for (int total = 1; total <= MAX_LANES; total *= 2)
        for (uint32_t n = 1; n <= 2 * (uint32_t)total; n++) {
            fill(per_lane, total, n);

            double got = lanes_fold(total, n, per_lane);
            double want = fold_levels(0, total, per_lane);

            CHECK_BYTES(&got, &want, sizeof want);
        }
    CHECK(lanes_fold(4, 0, per_lane) == 0.0);
}

/* A lane that is alone keeps its sign of zero: nothing is added to it. */
static void test_negative_zero(void)
{
    double per_lane[4] = {NAN, NAN, NAN, -0.0};

    CHECK_INT(lane_samples(4, 3, 1, 1), 1);
    CHECK(signbit(lanes_fold(4, 1, per_lane)));
}

static void test_samples(void)
{
    CHECK_INT(lane_begin(64, 1, 96), 1);
    CHECK_INT(lane_begin(64, 2, 96), 3);
    CHECK_INT(lane_samples(64, 0, 64, 96), 96);
    CHECK_INT(lane_samples(64, 0, 32, 96), 48);
    CHECK_INT(lane_begin(64, 64, 4000000000u), 4000000000u);
}

static void test_nothing_present(void)
{
    struct lane_block blocks[] = {{0, 1}, {2, 1}};
    bool present[] = {false, false};
    struct lane_add adds[2];
    int n_adds = 7;

    CHECK_INT(lanes_plan(4, blocks, present, adds, &n_adds), -1);
    CHECK_INT(n_adds, 0);
}

int main(void)
{
    test_samples();
    test_every_cut();
    test_fold_of_lanes();
    test_negative_zero();
    test_nothing_present();
    return test_result();
}
