// LINK: common worker/lanes/placement.c
/* Parameters on servers: nothing is left out, nothing twice, and the loads are what they should be.
 */
#include "tests/test.h"
#include "worker/lanes/placement.h"

enum { SERVERS_MAX = 5 };

static void check_whole(const struct placement *p, size_t n, size_t load[SERVERS_MAX])
{
    size_t next = 0;

    for (int i = 0; i < p->n; i++) {
        CHECK_INT(p->shards[i].offset, next);
        CHECK(p->shards[i].n > 0);
        CHECK(placement_find(p, next) == &p->shards[i]);
        next += p->shards[i].n;
        CHECK(placement_find(p, next - 1) == &p->shards[i]);
        load[p->shards[i].server] += p->shards[i].n;
    }
    CHECK_INT(next, n);
}

/* By hand: sizes 50, 10, 10, 30, 20, 30 on two and on three servers. */
static void test_greedy(void)
{
    static const struct shard tensors[] = {{0, 50, 0},  {50, 10, 0},  {60, 10, 0},
                                           {70, 30, 0}, {100, 20, 0}, {120, 30, 0}};
    static const int two[] = {0, 1, 1, 1, 0, 1}, three[] = {0, 1, 2, 1, 2, 2};
    static const int *const want[] = {two, three};

    for (int servers = 2; servers <= 3; servers++) {
        size_t load[SERVERS_MAX] = {0};
        struct placement p;

        placement_init(&p, PLACEMENT_GREEDY, tensors, 6, 150, servers);
        CHECK_INT(p.n, 6);
        for (int i = 0; i < 6; i++)
            CHECK_INT(p.shards[i].server, want[servers - 2][i]);
        check_whole(&p, 150, load);
        placement_release(&p);
    }
}

static void test_balanced(void)
{
    static const size_t sizes[] = {1, 255, 256, 257, 5000, 100000, 3274634};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int servers = 1; servers <= SERVERS_MAX; servers++) {
            size_t load[SERVERS_MAX] = {0}, most = 0, each, stripes;
            struct placement p;

            placement_init(&p, PLACEMENT_BALANCED, NULL, 0, sizes[i], servers);
            check_whole(&p, sizes[i], load);
            for (int s = 0; s < servers; s++)
                most = load[s] > most ? load[s] : most;
            each = (sizes[i] + (size_t)servers - 1) / (size_t)servers;
            stripes = each > 4 * 15872 ? (each + 15871) / 15872 : 4;
            CHECK(most <= each + 256 * stripes); /* stripes are of whole 256 */
            placement_release(&p);
        }
}

int main(void)
{
    test_greedy();
    test_balanced();
    return test_result();
}
