// LINK: common worker/model/memory_plan.c
/* Places in one slab: what is needed together never overlaps, and no more is taken than must be
 * where that is known. */
#include <stdint.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/model/memory_plan.h"

enum { NEEDS = 40, TRIALS = 500, STEPS = 30 };

/* The most that is needed at one step: no plan takes less. */
static size_t at_once(const struct memory_need *needs, int n)
{
    size_t most = 0;

    for (int step = 0; step < STEPS; step++) {
        size_t now = 0;
        for (int i = 0; i < n; i++)
            now +=
                needs[i].from <= step && step <= needs[i].to ? (needs[i].floats + 15) / 16 * 16 : 0;
        most = now > most ? now : most;
    }
    return most;
}

/* Step by step over a slab of names, so by another way than the plan's own. */
static void check_apart(const struct memory_need *needs, int n, size_t floats)
{
    AUTO(auto_free) int *owner = xmalloc(floats * sizeof *owner);
    int overlaps = 0;

    for (int step = 0; step < STEPS; step++) {
        memset(owner, -1, floats * sizeof *owner);
        for (int i = 0; i < n; i++) {
            if (step < needs[i].from || needs[i].to < step)
                continue;
            for (size_t f = 0; f < needs[i].floats; f++) {
                overlaps += needs[i].at + f >= floats || owner[needs[i].at + f] >= 0;
                if (needs[i].at + f < floats)
                    owner[needs[i].at + f] = i;
            }
        }
    }
    CHECK_INT(overlaps, 0);
}

static void test_random(void)
{
    uint32_t x = 1;

    for (int trial = 0; trial < TRIALS; trial++) {
        struct memory_need needs[NEEDS] = {0};
        const int n = 1 + trial % NEEDS;
        for (int i = 0; i < n; i++) {
            x = x * 1664525u + 1013904223u;
            needs[i].floats = x >> 24;
            needs[i].from = (int)(x >> 8 & 0xffff) % STEPS;
            needs[i].to = needs[i].from + (int)(x >> 16 & 7);
        }
        const size_t floats = memory_plan(needs, n);
        for (int i = 0; i < n; i++)
            CHECK_INT(needs[i].at % 16, 0);
        CHECK(floats >= at_once(needs, n));
        CHECK(floats < 2 * at_once(needs, n) + 16);
        check_apart(needs, n, floats);
    }
}

/* By hand: a chain of 160, 320, 32, 64 needs two neighbours at once at most. */
static void test_chain(void)
{
    struct memory_need chain[] = {
        {.floats = 160, .from = 0, .to = 1},
        {.floats = 320, .from = 1, .to = 2},
        {.floats = 32, .from = 2, .to = 3},
        {.floats = 64, .from = 3, .to = 4},
    };
    CHECK_INT(memory_plan(chain, 4), 480);
    CHECK_INT(chain[1].at, 0);
    CHECK_INT(chain[0].at, 320);
    CHECK_INT(chain[2].at, 320);
    CHECK_INT(chain[3].at, 0);
}

/* One that is needed throughout, beside two that are not; of 5 floats, so places are rounded. */
static void test_throughout(void)
{
    struct memory_need needs[] = {
        {.floats = 5, .from = 0, .to = 0},
        {.floats = 5, .from = 0, .to = 9},
        {.floats = 5, .from = 1, .to = 9},
    };
    CHECK_INT(memory_plan(needs, 3), 32);
    CHECK_INT(needs[0].at, 0);
    CHECK_INT(needs[1].at, 16);
    CHECK_INT(needs[2].at, 0);
}

static void test_nothing(void)
{
    struct memory_need none = {.floats = 0, .from = 0, .to = 9};

    CHECK_INT(memory_plan(NULL, 0), 0);
    CHECK_INT(memory_plan(&none, 1), 0);
}

int main(void)
{
    test_chain();
    test_throughout();
    test_nothing();
    test_random();
    return test_result();
}
