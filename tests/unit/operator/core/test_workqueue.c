// LINK: operator/core/workqueue.c operator/core/timers.c operator/core/hash_table.c common/mem.c
#include "operator/core/workqueue.h"

#include "tests/test.h"
#include "tests/unit/random.h"

static void check_pop(struct workqueue *q, int64_t now_ms, const char *want)
{
    const char *key = workqueue_pop(q, now_ms);

    if (want)
        CHECK_STR(key, want);
    else
        CHECK(!key);
}

static void test_line(void)
{
    struct workqueue *q = workqueue_new();

    check_pop(q, 0, NULL);
    CHECK_INT(workqueue_next_ms(q, 0), -1);
    workqueue_add(q, "b", 0);
    workqueue_add(q, "a", 0);
    workqueue_add(q, "b", 0); /* once */
    workqueue_add(q, "c", 0);
    CHECK_INT(workqueue_depth(q), 3);
    CHECK_INT(workqueue_next_ms(q, 0), 0);
    check_pop(q, 0, "b");
    workqueue_add(q, "d", 0);
    check_pop(q, 0, "a");
    check_pop(q, 0, "c");
    check_pop(q, 0, "d");
    check_pop(q, 0, NULL);
    CHECK_INT(workqueue_depth(q), 0);
    CHECK_INT(workqueue_next_ms(q, 0), -1);
    workqueue_done(q, "b", 0);
    workqueue_done(q, "b", 0); /* done already */
    workqueue_done(q, "x", 0); /* never seen */
    check_pop(q, 0, NULL);
    workqueue_add(q, "b", 0);
    workqueue_done(q, "b", 0); /* waits, is not in flight */
    check_pop(q, 0, "b");
    workqueue_free(q);
    workqueue_free(NULL);
}

static void test_in_flight(void)
{
    struct workqueue *q = workqueue_new();
    const char *key;

    workqueue_add(q, "a", 0);
    key = workqueue_pop(q, 0);
    CHECK(!workqueue_wanted(q, "a"));
    workqueue_add(q, "a", 0);
    workqueue_add(q, "a", 0);
    CHECK_INT(workqueue_depth(q), 1);
    CHECK(workqueue_wanted(q, "a") && !workqueue_wanted(q, "b"));
    check_pop(q, 0, NULL); /* not twice at a time */
    CHECK_INT(workqueue_next_ms(q, 0), -1);
    workqueue_add(q, "b", 0);
    workqueue_done(q, key, 0); /* the queue's own string */
    CHECK_INT(workqueue_depth(q), 2);
    check_pop(q, 0, "b");
    check_pop(q, 0, "a");
    check_pop(q, 0, NULL);
    workqueue_done(q, "a", 0);
    check_pop(q, 0, NULL); /* once more, not for ever */
    workqueue_add(q, "a", 0);
    key = workqueue_pop(q, 0);
    workqueue_done(q, key, 0);
    workqueue_add(q, "left", 0);
    workqueue_free(q);
}

static void test_times(void)
{
    struct workqueue *q = workqueue_new();

    workqueue_add_at(q, "a", 100);
    workqueue_add_at(q, "a", 200);
    CHECK_INT(workqueue_next_ms(q, 30), 70);
    CHECK_INT(workqueue_depth(q), 0);
    check_pop(q, 99, NULL);
    check_pop(q, 100, "a");
    workqueue_done(q, "a", 100);
    check_pop(q, 300, NULL); /* 100 won, 200 is no second one */

    workqueue_add_at(q, "a", 400);
    workqueue_add(q, "a", 300);
    check_pop(q, 300, "a");
    workqueue_done(q, "a", 300);
    check_pop(q, 400, "a"); /* an add in between did not cancel it */

    workqueue_add_at(q, "a", 450); /* due in flight: comes back */
    check_pop(q, 460, NULL);
    CHECK_INT(workqueue_depth(q), 1);
    CHECK_INT(workqueue_next_ms(q, 460), -1);
    workqueue_done(q, "a", 470);
    check_pop(q, 470, "a");
    workqueue_add_at(q, "a", 480);
    workqueue_done(q, "a", 480); /* due as its look ends */
    check_pop(q, 480, "a");
    workqueue_done(q, "a", 480);

    workqueue_add_at(q, "late", 510);
    workqueue_add_at(q, "early", 505);
    workqueue_add(q, "now", 520); /* those were due before */
    check_pop(q, 520, "early");
    check_pop(q, 520, "late");
    check_pop(q, 520, "now");

    workqueue_add_at(q, "a", 600);
    workqueue_add_at(q, "now", 600);
    workqueue_add(q, "now", 530);
    workqueue_forget(q, "now"); /* only its time */
    workqueue_forget(q, "never seen");
    workqueue_done(q, "now", 530);
    check_pop(q, 530, "now");
    workqueue_done(q, "now", 530);
    check_pop(q, 600, "a");
    check_pop(q, 600, NULL);
    workqueue_free(q);
}

/* The same with arrays. */
#define KEYS 60
struct workqueue_model {
    int line[KEYS];
    int n;
    bool waits[KEYS], flies[KEYS], again[KEYS], timed[KEYS];
    int64_t at[KEYS];
    uint64_t order[KEYS], clock;
};

static void model_ready(struct workqueue_model *m, int i)
{
    if (m->flies[i]) {
        m->again[i] = true;
    } else if (!m->waits[i]) {
        m->waits[i] = true;
        m->line[m->n++] = i;
    }
}

static int model_first(const struct workqueue_model *m)
{
    int first = -1;

    for (int i = 0; i < KEYS; i++)
        if (m->timed[i] && (first < 0 || m->at[i] < m->at[first] ||
                            (m->at[i] == m->at[first] && m->order[i] < m->order[first])))
            first = i;
    return first;
}

static void model_advance(struct workqueue_model *m, int64_t now)
{
    int i;

    while ((i = model_first(m)) >= 0 && m->at[i] <= now) {
        m->timed[i] = false;
        model_ready(m, i);
    }
}

static int model_pop(struct workqueue_model *m)
{
    int i = m->n ? m->line[0] : -1;

    if (i < 0)
        return -1;
    memmove(m->line, m->line + 1, (size_t)--m->n * sizeof *m->line);
    m->waits[i] = false;
    m->flies[i] = true;
    return i;
}

static void model_done(struct workqueue_model *m, int i)
{
    bool again = m->flies[i] && m->again[i];

    m->flies[i] = m->again[i] = false;
    if (again)
        model_ready(m, i);
}

static int64_t model_next(const struct workqueue_model *m, int64_t now)
{
    int first = model_first(m);

    if (m->n)
        return 0;
    return first < 0 ? -1 : m->at[first] <= now ? 0 : m->at[first] - now;
}

static int model_depth(const struct workqueue_model *m)
{
    int depth = m->n;

    for (int i = 0; i < KEYS; i++)
        depth += m->again[i];
    return depth;
}

static void key_of(char out[32], int i)
{
    if (i < 0)
        snprintf(out, 32, "(none)");
    else
        snprintf(out, 32, "namespace/job-%d", i);
}

static void step_model(struct workqueue *q, struct workqueue_model *m, int64_t now)
{
    int i = (int)random_below(KEYS);
    uint32_t what = random_below(14);
    char key[32];

    key_of(key, i);
    if (what < 3) {
        workqueue_add(q, key, now);
        model_advance(m, now);
        model_ready(m, i);
    } else if (what < 5) {
        int64_t at = now + random_below(40);
        workqueue_add_at(q, key, at);
        if (!m->timed[i] || at < m->at[i]) {
            m->timed[i] = true;
            m->at[i] = at;
            m->order[i] = m->clock++;
        }
    } else if (what < 9) {
        const char *got = workqueue_pop(q, now);
        model_advance(m, now);
        key_of(key, model_pop(m));
        CHECK_STR(got ? got : "(none)", key);
    } else if (what < 13) {
        workqueue_done(q, key, now);
        model_advance(m, now);
        model_done(m, i);
    } else {
        workqueue_forget(q, key);
        m->timed[i] = false;
    }
    CHECK_INT(workqueue_depth(q), model_depth(m));
    CHECK_INT(workqueue_next_ms(q, now), model_next(m, now));
}

static void test_model(void)
{
    for (int round = 0; round < 20; round++) {
        struct workqueue *q = workqueue_new();
        struct workqueue_model m = {0};
        int64_t now = 0;

        for (int step = 0; step < 20000; step++) {
            step_model(q, &m, now);
            now += random_below(3) == 0;
        }
        workqueue_free(q);
    }
}

int main(void)
{
    test_line();
    test_in_flight();
    test_times();
    test_model();
    return test_result();
}
