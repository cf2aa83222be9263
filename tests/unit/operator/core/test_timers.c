// LINK: operator/core/timers.c operator/core/hash_table.c common/mem.c
#include "operator/core/timers.h"

#include <stdlib.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "tests/unit/random.h"

static void check_pop(struct timers *t, int64_t now_ms, const char *want)
{
    AUTO(auto_free) char *key = timers_pop(t, now_ms);

    if (want)
        CHECK_STR(key, want);
    else
        CHECK(!key);
}

static void test_order(void)
{
    struct timers *t = timers_new();

    CHECK_INT(timers_next_ms(t, 0), -1);
    check_pop(t, INT64_MAX, NULL);
    timers_cancel(t, "a");

    timers_set(t, "a", 300);
    timers_set(t, "b", 100);
    timers_set(t, "c", 200);
    timers_set(t, "d", 100); /* as early as b, and set after it */
    CHECK_INT(timers_count(t), 4);
    CHECK_INT(timers_next_ms(t, 40), 60);
    CHECK_INT(timers_next_ms(t, 100), 0);
    CHECK_INT(timers_next_ms(t, 5000), 0);
    check_pop(t, 99, NULL);
    check_pop(t, 250, "b");
    check_pop(t, 250, "d");
    check_pop(t, 250, "c");
    check_pop(t, 250, NULL);
    CHECK_INT(timers_count(t), 1);

    timers_set(t, "a", 400); /* the earliest wins */
    CHECK_INT(timers_next_ms(t, 0), 300);
    timers_set(t, "a", 200);
    CHECK_INT(timers_next_ms(t, 0), 200);
    CHECK_INT(timers_count(t), 1);
    timers_set(t, "b", 150);
    timers_cancel(t, "b");
    CHECK_INT(timers_next_ms(t, 0), 200);
    timers_cancel(t, "a");
    CHECK_INT(timers_next_ms(t, 0), -1);
    timers_set(t, "a", 500); /* a cancelled time is forgotten */
    CHECK_INT(timers_next_ms(t, 0), 500);
    check_pop(t, 500, "a");

    timers_set(t, "far", INT64_MAX);
    CHECK_INT(timers_next_ms(t, INT64_MIN), INT64_MAX);
    timers_set(t, "past", INT64_MIN);
    check_pop(t, INT64_MIN, "past");
    timers_free(t); /* with one left in it */
    timers_free(NULL);
}

/* The same on a table of all keys, searched from end to end. */
#define KEYS 300
struct timers_model {
    bool set[KEYS];
    int64_t at[KEYS];
    uint64_t order[KEYS], clock;
};

static int earliest(const struct timers_model *m)
{
    int best = -1;

    for (int i = 0; i < KEYS; i++) {
        if (!m->set[i])
            continue;
        if (best < 0 || m->at[i] < m->at[best] ||
            (m->at[i] == m->at[best] && m->order[i] < m->order[best]))
            best = i;
    }
    return best;
}

static void key_of(char out[24], int i) { snprintf(out, 24, "ns/job-%d", i); }

static void check_earliest(struct timers *t, struct timers_model *m, int64_t now, bool pop)
{
    int first = earliest(m);
    bool due = first >= 0 && m->at[first] <= now;
    char key[24];

    CHECK_INT(timers_next_ms(t, now), first < 0 ? -1 : due ? 0 : m->at[first] - now);
    if (!pop)
        return;
    key_of(key, first);
    check_pop(t, now, due ? key : NULL);
    if (due)
        m->set[first] = false;
}

static void test_model(void)
{
    static struct timers_model m;
    struct timers *t = timers_new();
    int64_t now = 0;
    size_t n;

    for (int step = 0; step < 300000; step++) {
        uint32_t phase = (uint32_t)step / 20000 % 3; /* fills, holds, empties */
        int i = (int)random_below(KEYS);
        uint32_t what = random_below(10);
        char key[24];

        key_of(key, i);
        if (what < 6 - 2 * phase) {
            int64_t at = now + random_below(50); /* few times, so many are equal */
            timers_set(t, key, at);
            if (!m.set[i] || at < m.at[i]) {
                m.set[i] = true;
                m.at[i] = at;
                m.order[i] = m.clock++;
            }
        } else if (what < 7) {
            timers_cancel(t, key);
            m.set[i] = false;
        } else {
            check_earliest(t, &m, now, what < 8 + phase);
        }
        now += random_below(4) == 0;
    }
    n = 0;
    for (int i = 0; i < KEYS; i++)
        n += m.set[i];
    CHECK_INT(timers_count(t), n);
    while (timers_count(t) > 0)
        check_earliest(t, &m, INT64_MAX, true);
    timers_free(t);
}

int main(void)
{
    test_order();
    test_model();
    return test_result();
}
