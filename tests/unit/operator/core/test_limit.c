// LINK: operator/core/limit.c
#include "operator/core/limit.h"

#include "tests/test.h"
#include "tests/unit/random.h"

#define HOUR_MS 3600000

static void test_bucket(void)
{
    struct limit l;

    limit_init(&l, 10, 3, 1000);
    CHECK_INT(limit_next_ms(&l, 1000), 0);
    for (int i = 0; i < 3; i++)
        CHECK(limit_take(&l, 1000));
    CHECK(!limit_take(&l, 1000));
    CHECK_INT(limit_next_ms(&l, 1000), 100);
    CHECK_INT(limit_next_ms(&l, 1040), 60);
    CHECK(!limit_take(&l, 1099));
    CHECK(limit_take(&l, 1100));
    CHECK(!limit_take(&l, 1100));

    /* A clock that goes back makes nothing, and what was made is not made again. */
    CHECK(!limit_take(&l, 500));
    CHECK(!limit_take(&l, 1199));
    CHECK(limit_take(&l, 1200));

    /* Never more than the burst. */
    for (int i = 0; i < 3; i++)
        CHECK(limit_take(&l, HOUR_MS));
    CHECK(!limit_take(&l, HOUR_MS));
    CHECK(limit_take(&l, HOUR_MS + 100));

    limit_init(&l, 10, 2, 1000);
    CHECK(limit_take(&l, 1000));
    CHECK(limit_take(&l, 900));   /* the second token, on a clock that went back */
    CHECK(!limit_take(&l, 1099)); /* counts from 1000, not from 900 */
    CHECK(limit_take(&l, 1100));
}

static void test_bounds(void)
{
    struct limit l;

    limit_init(&l, 0, 5, 0);
    for (int i = 0; i < 1000; i++)
        CHECK(limit_take(&l, 0));
    CHECK_INT(limit_next_ms(&l, 0), 0);

    limit_init(&l, 2, 0, 0); /* a burst of 0 would block for ever */
    CHECK(limit_take(&l, 0));
    CHECK(!limit_take(&l, 0));
    CHECK_INT(limit_next_ms(&l, 0), 500);
    CHECK(limit_take(&l, 500));

    limit_init(&l, 1e-300, 1, 0);
    CHECK(limit_take(&l, 0));
    CHECK_INT(limit_next_ms(&l, 0), INT64_MAX);

    limit_init(&l, 1000, 1.5, INT64_MIN); /* as far apart as clocks get */
    CHECK(limit_take(&l, INT64_MAX));
    CHECK(!limit_take(&l, INT64_MAX));
}

/* next_ms is exact, and over any time no more goes through than rate and burst allow, and all of
 * that when somebody always waits. */
static void test_rate(void)
{
    static const double rates[] = {0.3, 1, 7, 50, 333, 1000, 20000};

    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double burst = 1 + random_below(20) + rates[r] / 1000; /* a millisecond fits in */
        int64_t now = random_below(1000000), begin = now, taken = 0;
        struct limit l;

        limit_init(&l, rates[r], burst, now);
        for (int i = 0; i < 20000; i++) {
            int64_t next = limit_next_ms(&l, now);
            if (next > 1)
                CHECK(!limit_take(&l, now + next - 1));
            now += next;
            if (!limit_take(&l, now))
                TEST_FAIL("not at the time that was named");
            taken++;
        }
        double allowed = burst + (double)(now - begin) / 1000 * rates[r];
        CHECK((double)taken <= allowed + 1e-3);
        /* A token that waits for the end of its millisecond delays none of those after it. */
        CHECK((double)taken >= allowed - 1 - rates[r] / 1000);
    }
}

static void test_spend(void)
{
    struct limit l;

    limit_init(&l, 100, 500, 1000);
    limit_spend(&l, 499, 1000);
    CHECK_INT(limit_next_ms(&l, 1000), 0); /* one is left */
    limit_spend(&l, 101, 1000);
    CHECK_INT(limit_next_ms(&l, 1000), 1010); /* 100 below none, and one to go */
    CHECK_INT(limit_next_ms(&l, 1500), 510);
    limit_spend(&l, 100, 1500);
    CHECK_INT(limit_next_ms(&l, 1500), 1510);
    limit_spend(&l, 100, 900); /* a clock that goes back */
    CHECK_INT(limit_next_ms(&l, 1500), 2510);
    CHECK(!limit_take(&l, 4000));
    CHECK(limit_take(&l, 4010));
    CHECK(!limit_is_full(&l, 9009));
    CHECK(limit_is_full(&l, 9010));
}

int main(void)
{
    test_bucket();
    test_bounds();
    test_rate();
    test_spend();
    return test_result();
}
