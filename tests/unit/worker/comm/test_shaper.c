// LINK: worker/comm/shaper.c common/mem.c common/err.c common/text.c
#include "tests/test.h"
#include "worker/comm/shaper.h"

/* Alone a message takes its bytes; two share the line, and what the first leaves the second gets.
 */
static void test_out(void)
{
    struct shaper s;

    shaper_init(&s, 100, 0);
    CHECK(shaper_is_on(&s));

    int a = shaper_send(&s, 10, 200);

    CHECK(!shaper_sent(&s, 11.99, a));
    CHECK(shaper_sent(&s, 12, a));

    int b = shaper_send(&s, 20, 300);
    int c = shaper_send(&s, 21, 50); /* b has 200 left; both at 50: c until 22, b with 150 */

    CHECK(!shaper_sent(&s, 21.99, c));
    CHECK(shaper_sent(&s, 22.01, c));
    CHECK(!shaper_sent(&s, 23.49, b));
    CHECK(shaper_sent(&s, 23.51, b));
    CHECK(b != c);
    CHECK_INT(s.n, 2); /* places are used again */

    /* A late caller finds both through, and the line idle since. */
    b = shaper_send(&s, 30, 100);
    c = shaper_send(&s, 30, 100);
    CHECK(shaper_sent(&s, 99, c));
    CHECK(shaper_sent(&s, 99, b));
    b = shaper_send(&s, 99, 100);
    CHECK(!shaper_sent(&s, 99.99, b));
    CHECK(shaper_sent(&s, 100, b));
    shaper_release(&s);
}

/* An idle line in has carried the message while it was sent; a busy one carries it after the last.
 */
static void test_in(void)
{
    struct shaper s;

    shaper_init(&s, 100, 0.5);
    CHECK_NEAR(shaper_receive(&s, 10, 300, 1), 10.5, 1e-12);
    CHECK_NEAR(shaper_receive(&s, 10, 300, 1), 13.5, 1e-12);
    CHECK_NEAR(shaper_receive(&s, 14, 300, 1), 16.5, 1e-12); /* the line was busy until 13 */
    CHECK_NEAR(shaper_receive(&s, 50, 100, 1), 50.5, 1e-12);

    /* Three that shared their senders' lines with two others each took 9 seconds: from 91 on. */
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(shaper_receive(&s, 100, 300, 3), 100.5, 1e-12);
    CHECK_NEAR(shaper_receive(&s, 100, 300, 3), 103.5, 1e-12);
    shaper_release(&s);
}

/* Latency alone leaves the lines free; nothing at all is off. */
static void test_latency(void)
{
    struct shaper s;

    shaper_init(&s, 0, 2);
    CHECK(shaper_is_on(&s));
    CHECK(shaper_sent(&s, 1, shaper_send(&s, 1, 1 << 30)));
    CHECK_NEAR(shaper_receive(&s, 1, 1 << 30, 1), 3, 1e-12);
    CHECK_NEAR(shaper_receive(&s, 1, 1 << 30, 1), 3, 1e-12);
    shaper_release(&s);
    CHECK(!shaper_is_on(&s));
}

int main(void)
{
    test_out();
    test_in();
    test_latency();
    return test_result();
}
