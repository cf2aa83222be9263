// LINK: operator/core/backoff.c
#include "operator/core/backoff.h"

#include <math.h>

#include "tests/test.h"

static void test_backoff(void)
{
    uint64_t random = 1;
    int64_t low = INT64_MAX, high = 0;

    for (int failures = 0; failures < 70; failures++) {
        double base = fmin(1000 * pow(2, failures), 60000);
        for (int i = 0; i < 1000; i++) {
            int64_t ms = backoff_ms(failures, 1000, 60000, &random);
            if (!((double)ms >= base / 2 && (double)ms <= fmin(base * 1.5, 60000)))
                TEST_FAIL("%d failures wait %lld", failures, (long long)ms);
        }
    }
    for (int i = 0; i < 1000; i++) {
        int64_t ms = backoff_ms(3, 1000, 60000, &random);
        low = ms < low ? ms : low;
        high = ms > high ? ms : high;
    }
    CHECK(low < 4200 && high > 11800); /* all of 0.5 to 1.5 */

    CHECK_INT(backoff_ms(5, 1000, 0, &random), 0);
    CHECK_INT(backoff_ms(INT32_MAX, 0, 10, &random), 0);
    CHECK(backoff_ms(-1, 1000, 60000, &random) <= 1500);
    for (int i = 0; i < 100; i++) {
        int64_t one = backoff_ms(0, 1, 10, &random);
        CHECK(one == 1 || one == 2); /* no busy loop */
        CHECK(backoff_ms(0, 100, 10, &random) <= 10);
        CHECK(backoff_ms(1000, 1, INT64_MAX, &random) > INT64_MAX / 2);
    }

    /* One seed, one history; a seed of 0 is one as well. */
    uint64_t a = 0, b = 0;
    int different = 0, below = 0;
    for (int i = 0; i < 100; i++) {
        int64_t ms = backoff_ms(10, 1000, INT64_MAX, &a);
        CHECK_INT(ms, backoff_ms(10, 1000, INT64_MAX, &b));
        below += ms < 1000 << 10;
        different += ms != backoff_ms(10, 1000, INT64_MAX, &random);
    }
    CHECK(different > 90);
    CHECK(below > 20 && below < 80);

    low = INT64_MAX; /* a first wait above the maximum is spread below that */
    for (int i = 0; i < 100; i++) {
        int64_t ms = backoff_ms(0, 5000, 1000, &random);
        low = ms < low ? ms : low;
    }
    CHECK(low >= 500 && low < 600);
}

int main(void)
{
    test_backoff();
    return test_result();
}
