// LINK: common/split.c common/mem.c
// TIMEOUT: 300
/* Splitting a network: chains against every contiguous split, graphs against every split. */
#include "paceline/split.h"

#include <stdbool.h>

#include "paceline/mem.h"
#include "tests/test.h"

enum { PARTS_MAX = 20, EDGES_MAX = PARTS_MAX * PARTS_MAX };

struct split_fixture {
    struct split_part parts[PARTS_MAX];
    struct split_edge edges[EDGES_MAX];
    struct split_graph graph;
};

static unsigned random_below(unsigned long *state, unsigned n)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(*state >> 33) % n;
}

static void add_edge(struct split_fixture *f, int from, int to)
{
    f->edges[f->graph.n_edges++] = (struct split_edge){from, to};
}

/* Whole numbers, so that sums are exact. chain: one reads the other; else each reads up to three.
 */
static void make(struct split_fixture *f, unsigned long seed, int n, bool chain)
{
    memset(f, 0, sizeof *f);
    f->graph = (struct split_graph){.parts = f->parts, .n_parts = n, .edges = f->edges};
    for (int i = 0; i < n; i++) {
        f->parts[i].load = random_below(&seed, 4) ? 1 + random_below(&seed, 1000) : 0;
        f->parts[i].bytes = 1 + random_below(&seed, 1000);
        if (chain && i)
            add_edge(f, i - 1, i);
        for (int from = 0; !chain && from < i; from++)
            if (from == i - 1 ? random_below(&seed, 4) : !random_below(&seed, 4))
                add_edge(f, from, i);
    }
}

/* The cost of a split, written down a second time. */
static struct split_cost cost_of(const struct split_fixture *f, const int *worker, int workers)
{
    struct split_cost c = {0};

    for (int w = 0; w < workers; w++) {
        double load = 0;

        for (int i = 0; i < f->graph.n_parts; i++) {
            bool reads = false;

            load += worker[i] == w ? f->parts[i].load : 0;
            for (int e = 0; e < f->graph.n_edges; e++)
                reads |= f->edges[e].from == i && worker[f->edges[e].to] == w && worker[i] != w;
            c.bytes += reads ? f->parts[i].bytes : 0;
        }
        c.slowest = load > c.slowest ? load : c.slowest;
    }
    return c;
}

/* Splits that are alike up to `part`, and what is the best of all so far. */
static void try_all(const struct split_fixture *f, int workers, bool contiguous, int part,
                    int *worker, struct split_cost *best)
{
    const int before = part ? worker[part - 1] : 0;
    const int first = contiguous ? before : 0;
    const int last = contiguous ? before + (part > 0) : workers - 1;

    if (part == f->graph.n_parts) {
        const struct split_cost c = cost_of(f, worker, workers);

        if (c.slowest < best->slowest || (c.slowest == best->slowest && c.bytes < best->bytes))
            *best = c;
        return;
    }
    for (int w = first; w <= last && w < workers; w++) {
        worker[part] = w;
        try_all(f, workers, contiguous, part + 1, worker, best);
    }
}

/* The best of all splits, or of the contiguous ones. */
static struct split_cost exhaustive(const struct split_fixture *f, int workers, bool contiguous)
{
    struct split_cost best = {INFINITY, INFINITY};
    int worker[PARTS_MAX] = {0};

    try_all(f, workers, contiguous, 0, worker, &best);
    return best;
}

static void check_best(const struct split_fixture *f, int workers, bool contiguous, double within)
{
    struct split_cost want = exhaustive(f, workers, contiguous), got;
    int worker[PARTS_MAX];

    split_best(&f->graph, workers, worker);
    for (int i = 0; i < f->graph.n_parts; i++) {
        CHECK(worker[i] >= 0 && worker[i] < workers);
        CHECK(!contiguous || i == 0 || worker[i] == worker[i - 1] ||
              worker[i] == worker[i - 1] + 1);
    }
    got = cost_of(f, worker, workers);
    CHECK(got.slowest <= within * want.slowest);
    CHECK(got.slowest < want.slowest || got.bytes <= within * want.bytes);
    CHECK_NEAR(split_cost(&f->graph, worker, workers).slowest, got.slowest, 1e-9);
    CHECK_NEAR(split_cost(&f->graph, worker, workers).bytes, got.bytes, 1e-9);
}

static void test_graphs(void)
{
    struct split_fixture f;

    for (unsigned long seed = 1; seed <= 50; seed++) {
        make(&f, seed, 5 + (int)(seed % 8), false);
        check_best(&f, 2, false, 1.05);
        if (f.graph.n_parts <= 11 || seed % 3 == 0)
            check_best(&f, 3, false, 1.05);
    }
}

static void test_chains(void)
{
    struct split_fixture f;

    for (unsigned long seed = 1; seed <= 50; seed++) {
        make(&f, seed, 1 + (int)(seed % 10), true);
        for (int workers = 1; workers <= 4; workers++)
            check_best(&f, workers, true, 1);
    }
}

/* Graphs that are too large to be searched: what a stage reads of several stages before it is sent
 * once, as everywhere. */
static void test_stages(void)
{
    struct split_fixture f;

    for (unsigned long seed = 1; seed <= 30; seed++) {
        make(&f, seed, SPLIT_SEARCHED + 1 + (int)(seed % 4), false);
        for (int workers = 2; workers <= 4; workers++)
            check_best(&f, workers, true, 1);
    }
}

/* Loads 4, 5, 3 on two: contiguous 8, for a chain; where the middle one reads nothing, 7. */
static void test_by_hand(void)
{
    struct split_fixture f;
    int worker[3];

    make(&f, 1, 3, true);
    f.parts[0].load = 4, f.parts[1].load = 5, f.parts[2].load = 3;
    split_best(&f.graph, 2, worker);
    CHECK(split_cost(&f.graph, worker, 2).slowest == 8);
    CHECK(worker[0] == 0 && worker[1] == 1 && worker[2] == 1);
    f.edges[0] = (struct split_edge){0, 2};
    f.edges[1] = (struct split_edge){0, 2};
    split_best(&f.graph, 2, worker);
    CHECK(split_cost(&f.graph, worker, 2).slowest == 7);
    CHECK(split_cost(&f.graph, worker, 2).bytes == 0);
    CHECK(worker[0] == 0 && worker[1] == 1 && worker[2] == 0);
    f.edges[1] = (struct split_edge){0, 1}; /* two readers on one worker: sent once */
    f.edges[0] = (struct split_edge){0, 2};
    CHECK(split_cost(&f.graph, (int[]){0, 1, 1}, 2).bytes == f.parts[0].bytes);
    CHECK(split_cost(&f.graph, (int[]){0, 1, 2}, 3).bytes == 2 * f.parts[0].bytes);
}

static void test_naive(void)
{
    int worker[5];

    split_naive(5, 2, worker);
    CHECK(worker[0] == 0 && worker[2] == 0 && worker[3] == 1 && worker[4] == 1);
    split_naive(3, 3, worker);
    CHECK(worker[0] == 0 && worker[1] == 1 && worker[2] == 2);
}

/* Too many to search: it ends all the same, and is no worse than the naive one. */
static void test_large(void)
{
    enum { N = 200 };
    AUTO(auto_free) struct split_part *parts = xcalloc(N, sizeof *parts);
    AUTO(auto_free) struct split_edge *edges = xcalloc(2 * N, sizeof *edges);
    struct split_graph g = {.parts = parts, .n_parts = N, .edges = edges};
    int worker[N], naive[N];
    unsigned long seed = 7;

    for (int i = 0; i < N; i++) {
        parts[i] =
            (struct split_part){1 + random_below(&seed, 1000), 1 + random_below(&seed, 1000)};
        for (int back = 1; back <= 2 && i >= back; back++)
            edges[g.n_edges++] = (struct split_edge){i - back, i};
    }
    split_best(&g, 4, worker);
    split_naive(N, 4, naive);
    CHECK(split_cost(&g, worker, 4).slowest <= split_cost(&g, naive, 4).slowest);
}

int main(void)
{
    test_graphs();
    test_chains();
    test_stages();
    test_by_hand();
    test_naive();
    test_large();
    return test_result();
}
