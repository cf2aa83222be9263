// LINK: common worker/strategy/staleness.c
/* The workers that may begin a batch, by SSP and DSSP: schedules of delays worked out by hand, and
 * the bound under random ones. */
#include "worker/strategy/staleness.h"

#include "tests/test.h"
#include "tests/unit/random.h"

#define WORKERS 4

/* Workers that take so long for a batch, each always the same. */
struct track {
    struct staleness bound;
    double takes[WORKERS], due[WORKERS]; /* due: below zero: it waits */
    double now;
    int64_t leads[64]; /* of worker 0's batches */
    int n_leads;
};

static void begin(struct track *t, int w)
{
    int64_t lead = staleness_lead(&t->bound, w);

    t->due[w] = staleness_begin(&t->bound, w, t->now) ? t->now + t->takes[w] : -1;
    if (t->due[w] >= 0 && w == 0 && t->n_leads < 64)
        t->leads[t->n_leads++] = lead;
    if (t->due[w] >= 0)
        CHECK(lead <= t->bound.high);
}

/* The next push; of several at once the one with the lowest number first. */
static void go_on(struct track *t)
{
    int next = -1;

    for (int w = 0; w < t->bound.n; w++)
        if (t->due[w] >= 0 && (next < 0 || t->due[w] < t->due[next]))
            next = w;
    CHECK(next >= 0); /* the slowest never waits */
    if (next < 0)
        return;
    t->now = t->due[next];
    staleness_push(&t->bound, next, t->now);
    t->due[next] = -1;
    begin(t, next);
    for (int w = 0; w < t->bound.n; w++)
        if (t->bound.runners[w].waits)
            begin(t, w);
}

static void start(struct track *t, int workers, const double *takes, int64_t low, int64_t high)
{
    *t = (struct track){0};
    staleness_init(&t->bound, workers, low, high);
    for (int w = 0; w < workers; w++) {
        t->takes[w] = takes[w];
        begin(t, w);
    }
}

static void check_leads(const double *takes, int workers, int64_t low, int64_t high,
                        const int64_t *want, int n)
{
    struct track t;

    start(&t, workers, takes, low, high);
    while (t.n_leads < n)
        go_on(&t);
    for (int i = 0; i < n; i++)
        CHECK_INT(t.leads[i], want[i]);
    staleness_release(&t.bound);
}
#define LEADS(takes, workers, low, high, ...)                        \
    check_leads(takes, workers, low, high, (int64_t[]){__VA_ARGS__}, \
                (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* Worker 0 pushes at 1, 2, 3, ..., worker 1 at 4, 8, 12, ... */
static void test_by_hand(void)
{
    const double takes[] = {1, 4};

    /* SSP: after the third batch it waits for each push of the slow one. */
    LEADS(takes, 2, 2, 2, 0, 1, 2, 2, 2, 2, 2);
    /* DSSP. At 3 nothing is known of worker 1, so it waits until 4, where its lead is 2 again. At 5
     * with lead 3 the next slow push is at 8: three batches more, until 8, with leads 3, 4, 5.
     * There it waits until its lead is 2: 20; at 21 it has lead 3 and three more to go until 24. */
    LEADS(takes, 2, 2, 6, 0, 1, 2, 2, 3, 4, 5, 2, 3, 4, 5, 2);
    /* Two at most: it waits from 7 on, the nearest to 8 that it may come. */
    LEADS(takes, 2, 2, 4, 0, 1, 2, 2, 3, 4, 2, 3, 4, 2);
    LEADS(takes, 2, 0, 2, 0, 0, 1, 2, 0, 1, 2, 0);
}

/* There is no credit where waiting now is cheapest: at 15 worker 1 is due at 16, at 22 only at 24.
 */
static void test_no_credit(void)
{
    LEADS(((const double[]){7, 8}), 2, 0, 1, 0, 0, 0, 0, 0);
    LEADS(((const double[]){4, 8}), 2, 0, 1, 0, 0, 1, 0, 1);
}

/* Only the fastest gets credit, by the last of those who are slow alike. */
static void test_who(void)
{
    struct staleness p;

    staleness_init(&p, 3, 0, 12);
    for (int w = 0; w < 3; w++)
        CHECK(staleness_begin(&p, w, 0));
    staleness_push(&p, 0, 1);
    CHECK(!staleness_begin(&p, 0, 1)); /* nobody else is timed */
    staleness_push(&p, 1, 4);
    CHECK(!staleness_begin(&p, 1, 4));
    staleness_push(&p, 2, 10);
    CHECK(staleness_begin(&p, 2, 10) && staleness_begin(&p, 0, 10) && staleness_begin(&p, 1, 10));
    staleness_push(&p, 0, 11);
    CHECK(
        staleness_begin(&p, 0, 11)); /* 9 more until 20, where worker 2 is due; worker 1 is at 14 */
    CHECK_INT(p.runners[0].credit, 8);
    staleness_push(&p, 0, 12);
    CHECK(staleness_begin(&p, 0, 12));
    staleness_push(&p, 1, 14);
    CHECK(!staleness_begin(&p, 1, 14)); /* worker 0 is ahead of it */
    CHECK(p.runners[1].waits && !p.runners[0].waits);
    staleness_release(&p);
}

/* After a meeting the leads are what they were, and credit and waits are gone. */
static void test_restart(void)
{
    const double takes[] = {1, 4};
    struct track t;

    start(&t, 2, takes, 2, 6);
    while (t.now < 5)
        go_on(&t);
    CHECK_INT(t.bound.runners[0].credit, 2);
    staleness_restart(&t.bound);
    CHECK_INT(t.bound.runners[0].credit, 0);
    CHECK_INT(staleness_lead(&t.bound, 0), 3);
    CHECK(!staleness_begin(&t.bound, 0, 100));
    staleness_leave(&t.bound, 0);
    CHECK(!t.bound.runners[0].waits);
    staleness_release(&t.bound);
}

/* Nobody waits for a worker whose share is over. */
static void test_skip(void)
{
    struct staleness p;

    staleness_init(&p, 2, 1, 1);
    for (int i = 0; i < 2; i++) {
        CHECK(staleness_begin(&p, 0, i));
        staleness_push(&p, 0, i + 1);
    }
    CHECK(!staleness_begin(&p, 0, 2));
    staleness_skip(&p, 1, 3);
    CHECK_INT(staleness_lead(&p, 0), 0);
    CHECK(staleness_begin(&p, 0, 2));
    staleness_release(&p);
}

/* Whatever they take: nobody is ever more than `high` ahead, and somebody always goes on. */
static void test_random(void)
{
    for (int i = 0; i < 300; i++) {
        const int workers = 1 + (int)random_below(WORKERS);
        const int64_t low = random_below(4), high = low + random_below(6);
        double takes[WORKERS];
        struct track t;

        for (int w = 0; w < workers; w++)
            takes[w] = random_below(9);
        start(&t, workers, takes, low, high);
        for (int step = 0; step < 200; step++) {
            t.takes[step % workers] = random_below(30);
            go_on(&t);
        }
        staleness_release(&t.bound);
    }
}

int main(void)
{
    test_by_hand();
    test_no_credit();
    test_who();
    test_restart();
    test_skip();
    test_random();
    return test_result();
}
