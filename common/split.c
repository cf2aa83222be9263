#include "paceline/split.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "paceline/mem.h"

#define WORK_MAX 500000000L /* looks of the search, each at all edges of all parts */
#define ROUNDS_MAX 50       /* of local search */
#define EQUAL 1e-9          /* sums in different orders differ by less than this share */

struct split_cost split_cost(const struct split_graph *g, const int *worker, int workers)
{
    AUTO(auto_free) double *load = xcalloc((size_t)workers, sizeof *load);
    AUTO(auto_free) bool *reads = xcalloc((size_t)(g->n_parts * workers), sizeof *reads);
    struct split_cost c = {0};

    for (int i = 0; i < g->n_parts; i++) {
        load[worker[i]] += g->parts[i].load;
        c.slowest = fmax(c.slowest, load[worker[i]]);
    }
    for (int i = 0; i < g->n_edges; i++) {
        int from = g->edges[i].from, reader = worker[g->edges[i].to];
        bool *there = &reads[from * workers + reader];

        if (reader != worker[from] && !*there)
            c.bytes += g->parts[from].bytes;
        *there = true;
    }
    return c;
}

static bool is_less(double a, double b) { return a < b && (isinf(b) || b - a > EQUAL * fabs(b)); }

static bool split_is_better(struct split_cost a, struct split_cost b)
{
    return is_less(a.slowest, b.slowest) ||
           (!is_less(b.slowest, a.slowest) && is_less(a.bytes, b.bytes));
}

void split_naive(int n_parts, int workers, int *worker)
{
    for (int i = 0; i < n_parts; i++)
        worker[i] = (int)((long)i * workers / n_parts);
}

/* Workers in the order of their first parts. */
static void renumber(const struct split_graph *g, int workers, int *worker)
{
    AUTO(auto_free) int *name = xcalloc((size_t)workers, sizeof *name);
    int next = 0;

    for (int i = 0; i < g->n_parts; i++) {
        if (!name[worker[i]])
            name[worker[i]] = ++next;
        worker[i] = name[worker[i]] - 1;
    }
}

/* --- contiguous stages --- */

static bool is_chain(const struct split_graph *g)
{
    if (g->n_edges != g->n_parts - 1)
        return false;
    for (int i = 0; i < g->n_edges; i++)
        if (g->edges[i].from != i || g->edges[i].to != i + 1)
            return false;
    return true;
}

static double load_of(const struct split_graph *g, int begin, int end)
{
    double sum = 0;

    for (int i = begin; i < end; i++)
        sum += g->parts[i].load;
    return sum;
}

/* What a stage of parts [begin, end) is sent, at [begin * (n_parts + 1) + end]: the outputs of
 * parts before it that it reads, each once, however many of them read it and whoever else does. */
static double *stage_bytes(const struct split_graph *g)
{
    const int width = g->n_parts + 1;
    double *bytes = xcalloc((size_t)(width * width), sizeof *bytes);
    AUTO(auto_free)
    int *taken = xcalloc((size_t)g->n_parts, sizeof *taken); /* by stages up to it */

    for (int begin = 1; begin < g->n_parts; begin++)
        for (int part = begin; part < g->n_parts; part++) {
            double *sum = &bytes[begin * width + part + 1];

            *sum = sum[-1];
            for (int e = 0; e < g->n_edges; e++) {
                const int from = g->edges[e].from;

                if (g->edges[e].to != part || from >= begin || taken[from] == begin)
                    continue;
                taken[from] = begin;
                *sum += g->parts[from].bytes;
            }
        }
    return bytes;
}

/*
 * The stages of parts [0, n_parts): best[k][n] is the least of what `better` asks for with k stages
 * for the first n parts, begin[k][n] where the last of them begins. With most > 0 no stage may
 * have a larger load, and the least sum of bytes is meant; else the least load of the slowest.
 */
struct chain {
    const struct split_graph *graph;
    int stages;
    double most;
    const double *bytes; /* of stage_bytes */
    double *best;
    int *begin;
};

static void chain_extend(struct chain *c, int k, int n)
{
    const int width = c->graph->n_parts + 1;
    double *least = &c->best[k * width + n];

    *least = INFINITY;
    for (int b = k - 1; b < n; b++) {
        double before = c->best[(k - 1) * width + b], load = load_of(c->graph, b, n);
        double value = fmax(before, load);

        if (c->most > 0)
            value = is_less(c->most, load) ? INFINITY : before + c->bytes[b * width + n];
        if (value < *least) {
            *least = value;
            c->begin[k * width + n] = b;
        }
    }
}

/* The number of stages that is best; the fewest of equals. */
static int chain_fill(struct chain *c)
{
    const int n_parts = c->graph->n_parts, width = n_parts + 1;
    int best = 1;

    for (int n = 1; n <= n_parts; n++)
        c->best[n] = INFINITY;
    for (int k = 1; k <= c->stages; k++)
        for (int n = k; n <= n_parts; n++)
            chain_extend(c, k, n);
    for (int k = 2; k <= c->stages; k++)
        if (is_less(c->best[k * width + n_parts], c->best[best * width + n_parts]))
            best = k;
    return best;
}

static void split_stages(const struct split_graph *g, int workers, int *worker)
{
    const int stages = workers < g->n_parts ? workers : g->n_parts, width = g->n_parts + 1;
    const size_t size = (size_t)((stages + 1) * width);
    AUTO(auto_free) double *best = xcalloc(size, sizeof *best);
    AUTO(auto_free) int *begin = xcalloc(size, sizeof *begin);
    AUTO(auto_free) double *bytes = stage_bytes(g);
    struct chain c = {.graph = g, .stages = stages, .bytes = bytes, .best = best, .begin = begin};
    int k = chain_fill(&c), end = g->n_parts;

    c.most = best[k * width + g->n_parts];
    if (c.most > 0)
        k = chain_fill(&c);
    for (; k > 0; k--) {
        int first = begin[k * width + end];

        for (int i = first; i < end; i++)
            worker[i] = k - 1;
        end = first;
    }
}

/* --- any graph --- */

/* The largest load first, to the worker that has the least. */
static void split_greedily(const struct split_graph *g, int workers, const int *order, int *worker)
{
    AUTO(auto_free) double *load = xcalloc((size_t)workers, sizeof *load);

    for (int i = 0; i < g->n_parts; i++) {
        int least = 0;

        for (int w = 1; w < workers; w++)
            least = load[w] < load[least] ? w : least;
        worker[order[i]] = least;
        load[least] += g->parts[order[i]].load;
    }
}

/* Moves parts, and swaps pairs of them, as long as that is better. */
static void improve(const struct split_graph *g, int workers, int *worker)
{
    struct split_cost now = split_cost(g, worker, workers);
    bool moved = true;

    for (int round = 0; moved && round < ROUNDS_MAX; round++) {
        moved = false;
        for (int i = 0; i < g->n_parts; i++) {
            for (int other = 0; other < workers + i; other++) { /* a worker, or an earlier part */
                const int was = worker[i], j = other - workers;
                struct split_cost then;

                worker[i] = j < 0 ? other : worker[j];
                if (j >= 0)
                    worker[j] = was;
                then = split_cost(g, worker, workers);
                if (split_is_better(then, now)) {
                    now = then;
                    moved = true;
                    continue;
                }
                if (j >= 0)
                    worker[j] = worker[i];
                worker[i] = was;
            }
        }
    }
}

struct search {
    const struct split_graph *graph;
    const int *order; /* in which parts are placed */
    int workers;
    int *worker; /* of the parts placed so far; else -1 */
    double *load;
    double ideal; /* no split's slowest is below this */
    int *best;
    struct split_cost least;
    long looks; /* that are left */
};

/* The bytes that placing the part adds between it and the parts that are placed. */
static double more_bytes(const struct search *s)
{
    const struct split_graph *g = s->graph;
    double bytes = 0;

    for (int from = 0; from < g->n_parts; from++) {
        unsigned long readers = 0; /* workers, as bits; beyond 64 some are taken for one another */

        for (int e = 0; s->worker[from] >= 0 && e < g->n_edges; e++) {
            int reader = s->worker[g->edges[e].to];

            if (g->edges[e].from == from && reader >= 0 && reader != s->worker[from])
                readers |= 1ul << (reader % 64);
        }
        bytes += g->parts[from].bytes * __builtin_popcountl(readers);
    }
    return bytes;
}

static void split_place(struct search *s, int depth, int used)
{
    const int part = s->order[depth];

    if (depth == s->graph->n_parts) {
        struct split_cost c = split_cost(s->graph, s->worker, s->workers);

        if (split_is_better(c, s->least)) {
            s->least = c;
            memcpy(s->best, s->worker, (size_t)s->graph->n_parts * sizeof *s->best);
        }
        return;
    }
    for (int w = 0; w <= used && w < s->workers && s->looks > 0; w++) {
        const double before = s->load[w];
        struct split_cost bound = {.slowest = s->ideal};

        s->looks--;
        s->worker[part] = w;
        s->load[w] = before + s->graph->parts[part].load;
        for (int i = 0; i < s->workers; i++)
            bound.slowest = fmax(bound.slowest, s->load[i]);
        bound.bytes = more_bytes(s);
        if (split_is_better(bound, s->least))
            split_place(s, depth + 1, w == used ? used + 1 : used);
        s->load[w] = before;
    }
    s->worker[part] = -1;
}

static void by_load(const struct split_graph *g, int *order)
{
    for (int i = 0; i < g->n_parts; i++) {
        int at = i;

        for (; at > 0 && g->parts[order[at - 1]].load < g->parts[i].load; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void split_graph(const struct split_graph *g, int workers, int *worker)
{
    AUTO(auto_free) int *order = xcalloc((size_t)g->n_parts + 1, sizeof *order);
    AUTO(auto_free) int *placed = xcalloc((size_t)g->n_parts, sizeof *placed);
    AUTO(auto_free) double *load = xcalloc((size_t)workers, sizeof *load);
    struct search s = {.graph = g,
                       .order = order,
                       .workers = workers,
                       .worker = placed,
                       .load = load,
                       .ideal = load_of(g, 0, g->n_parts) / workers,
                       .best = worker,
                       .looks = WORK_MAX / ((long)g->n_parts * (g->n_edges + 1))};

    by_load(g, order);
    split_greedily(g, workers, order, worker);
    improve(g, workers, worker);
    s.least = split_cost(g, worker, workers);
    for (int i = 0; i < g->n_parts; i++)
        placed[i] = -1;
    split_place(&s, 0, 0);
    renumber(g, workers, worker);
}

void split_best(const struct split_graph *g, int workers, int *worker)
{
    if (is_chain(g) || g->n_parts > SPLIT_SEARCHED)
        split_stages(g, workers, worker);
    else
        split_graph(g, workers, worker);
}
