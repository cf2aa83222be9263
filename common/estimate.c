#include "paceline/estimate.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

#include "paceline/mem.h"

const char *const estimate_type_names[N_ESTIMATE_TYPES] = {
    [ESTIMATE_SYNC_JOIN] = "sync-join",
    [ESTIMATE_SYNC_SPLIT] = "sync-split",
    [ESTIMATE_ASYNC] = "async",
};

const char *const estimate_server_names[N_ESTIMATE_SERVERS] = {
    [ESTIMATE_CENTRAL] = "central",
    [ESTIMATE_DISTRIBUTED] = "distributed",
    [ESTIMATE_ALL_REDUCE] = "all-reduce",
};

const char *const estimate_algorithm_names[N_ESTIMATE_ALGORITHMS] = {
    [ESTIMATE_TREE] = "tree",
    [ESTIMATE_RING] = "ring",
    [ESTIMATE_RECURSIVE_DOUBLING] = "recursiveDoubling",
    [ESTIMATE_NAIVE] = "naive",
};

bool estimate_exists(enum estimate_type type, enum estimate_server server)
{
    return type != ESTIMATE_ASYNC || server != ESTIMATE_ALL_REDUCE;
}

double estimate_largest_shard(const size_t *tensors, size_t n, int servers)
{
    AUTO(auto_free) double *load = xcalloc((size_t)servers, sizeof *load);
    double all = 0, largest = 0;

    for (size_t i = 0; i < n; i++) {
        int least = 0;

        for (int s = 1; s < servers; s++)
            if (load[s] < load[least])
                least = s;
        load[least] += (double)tensors[i];
        all += (double)tensors[i];
        largest = fmax(largest, load[least]);
    }
    return all > 0 ? largest / all : 1.0 / servers;
}

/* The share of all parameters that the busiest of the servers keeps. */
static double estimate_largest_share(const struct estimate_costs *costs, int servers)
{
    return costs->n_tensors ? estimate_largest_shard(costs->tensors, costs->n_tensors, servers)
                            : 1.0 / servers;
}

/* Aligned blocks, of powers of two, that lanes [first, end) are cut into. */
static int count_blocks(int first, int end)
{
    int blocks = 0;

    for (int size; first < end; first += size, blocks++)
        for (size = 1; first % (2 * size) == 0 && first + 2 * size <= end;)
            size *= 2;
    return blocks;
}

/* Sums that workers first .. first + n - 1 have between them: of aligned parts of the lanes. */
static int blocks_of(const struct estimate_costs *costs, int workers, int first, int n)
{
    if (costs->lanes < workers)
        return 1;
    return count_blocks(first * costs->lanes / workers, (first + n) * costs->lanes / workers);
}

/* The number of sums to send: of all workers, of the one with the most and the least. */
struct blocks {
    int all, most, least;
};

static struct blocks count_all_blocks(const struct estimate_costs *costs, int workers)
{
    struct blocks b = {.least = INT_MAX};

    for (int w = 0; w < workers; w++) {
        int n = blocks_of(costs, workers, w, 1);

        b.all += n;
        b.most = n > b.most ? n : b.most;
        b.least = n < b.least ? n : b.least;
    }
    return b;
}

/* Each worker sends its sums to every other: the busier direction of the busiest. */
static double everybody_to_everybody(const struct estimate_costs *costs, int workers)
{
    const struct blocks b = count_all_blocks(costs, workers);

    return fmax(b.most * (workers - 1), b.all - b.least);
}

/* Groups of 1, 2, 4, ... workers exchange their sums. Beyond a power of two the first workers go in
 * pairs, whose second gives its sums away before and gets the result after. */
static double recursive_doubling(const struct estimate_costs *costs, int workers)
{
    int half = 1, pairs, most = 0;
    double sum = 0;

    while (2 * half <= workers)
        half *= 2;
    pairs = workers - half;
    for (int i = 0; i < pairs; i++)
        most = (int)fmax(most, blocks_of(costs, workers, 2 * i + 1, 1));
    sum += pairs ? most + 1 : 0;
    for (int size = 1; size < half; size *= 2) {
        most = 0;
        for (int number = 0; number < half; number += size) {
            int first = number + (number < pairs ? number : pairs), next = number + size;

            next += next < pairs ? next : pairs;
            most = (int)fmax(most, blocks_of(costs, workers, first, next - first));
        }
        sum += most;
    }
    return sum;
}

/* Owners of parts are sent the sums of theirs, and send what they make of them to everybody; the
 * busiest has this share of all parameters. Equation 4.12, where workers have one sum each and
 * shares are equal: 2 (N-1)/N. */
static double owners(const struct estimate_costs *costs, int workers, double share)
{
    return share * (everybody_to_everybody(costs, workers) + workers - 1);
}

/* Transfers of all parameters that one update of all-reduce lasts as long as. */
static double all_reduce(const struct estimate_costs *costs, int workers)
{
    switch (costs->algorithm) {
    case ESTIMATE_RECURSIVE_DOUBLING:
        return recursive_doubling(costs, workers);
    case ESTIMATE_NAIVE:
        return everybody_to_everybody(costs, workers);
    case ESTIMATE_TREE:
        return owners(costs, workers, 1.0 / workers);
    default: /* ring: workers add up their sums before */
        return 2.0 * (workers - 1) / workers;
    }
}

/* Equations 4.4 to 4.9, where workers have one sum each, and one server has all parameters. At
 * best a server receives one worker's sums while it sends another the weights. A worker sends, and
 * receives, no less than its own. */
static struct estimate central(const struct estimate_costs *costs, int workers)
{
    const double share = estimate_largest_share(costs, costs->servers ? costs->servers : 1);
    const struct blocks b = count_all_blocks(costs, workers);

    return (struct estimate){.best_s = fmax((b.all + 1) * share, b.most + 1),
                             .worst_s = fmax((b.all + workers) * share, b.most + 1)};
}

/* Of one update, in transfers of all parameters. */
static struct estimate count_transfers(const struct estimate_costs *costs,
                                       enum estimate_server server, int workers)
{
    double transfers;

    if (server == ESTIMATE_CENTRAL)
        return central(costs, workers);
    transfers = server == ESTIMATE_DISTRIBUTED
                    ? owners(costs, workers, estimate_largest_share(costs, workers))
                    : all_reduce(costs, workers);
    return (struct estimate){.best_s = transfers, .worst_s = transfers};
}

static struct estimate with_mean(double best_s, double worst_s)
{
    return (struct estimate){best_s, worst_s, (best_s + worst_s) / 2};
}

struct estimate estimate_update(const struct estimate_costs *costs, enum estimate_server server,
                                int workers, double compute_s)
{
    struct estimate transfers = count_transfers(costs, server, workers);

    return with_mean(transfers.best_s * costs->transfer_s + compute_s,
                     transfers.worst_s * costs->transfer_s + compute_s);
}

/* Equations 4.13 to 4.18. The server that is never idle decides, or the last worker to begin. */
static struct estimate async_central(const struct estimate_costs *costs, int workers)
{
    double share = estimate_largest_share(costs, costs->servers ? costs->servers : 1);
    double D = costs->batches, g = costs->gradient_s, c = costs->transfer_s, N = workers;

    return with_mean(fmax((D + 1) * share * c + g, (N - 1) * share * c + D / N * (2 * c + g)),
                     D / N * (2 * fmax(N * share, 1) * c + g));
}

/* Of a batch that all workers share, whole lanes each. */
static double busiest_share(const struct estimate_costs *costs, int workers)
{
    if (costs->lanes < workers)
        return 1.0 / workers;
    return ceil((double)costs->lanes / workers) / costs->lanes;
}

struct estimate estimate_training(const struct estimate_costs *costs, enum estimate_type type,
                                  enum estimate_server server, int workers)
{
    struct estimate_costs whole = *costs;
    double updates = costs->batches / workers;
    struct estimate e;

    assert(workers > 0 && estimate_exists(type, server));
    if (type == ESTIMATE_ASYNC && server == ESTIMATE_CENTRAL)
        return async_central(costs, workers);
    if (type == ESTIMATE_SYNC_SPLIT) {
        updates = costs->batches;
        e = estimate_update(costs, server, workers,
                            costs->gradient_s * busiest_share(costs, workers));
    } else { /* 4.21: async distributed is as sync join */
        whole.lanes = 0;
        e = estimate_update(&whole, server, workers, costs->gradient_s);
    }
    return with_mean(updates * e.best_s, updates * e.worst_s);
}

double estimate_speedup(const struct estimate_costs *costs, double seconds)
{
    return costs->batches * costs->gradient_s / seconds;
}

struct estimate_choice estimate_best(const struct estimate_costs *costs, int type, int server,
                                     int workers)
{
    struct estimate_choice best = {.speedup = 0};

    for (int n = 1; n <= workers; n++)
        for (int k = 0; k < N_ESTIMATE_TYPES * N_ESTIMATE_SERVERS; k++) {
            int t = k / N_ESTIMATE_SERVERS, s = k % N_ESTIMATE_SERVERS;
            double speedup;

            if ((type >= 0 && t != type) || (server >= 0 && s != server) || !estimate_exists(t, s))
                continue;
            speedup = estimate_speedup(costs, estimate_training(costs, t, s, n).mean_s);
            if (speedup > best.speedup * (1 + 1e-12))
                best = (struct estimate_choice){t, s, n, speedup};
        }
    return best;
}
