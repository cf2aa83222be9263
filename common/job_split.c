#include "paceline/job_split.h"

#include <math.h>

#include "paceline/mem.h"

const char *const split_kind_names[] = {
    [SPLIT_AUTOMATIC] = "automatic", [SPLIT_NAIVE] = "naive", [SPLIT_BY_HAND] = "by hand"};

enum split_kind job_split_kind(const struct job *job)
{
    return job->strategy.n_layer_placement ? SPLIT_BY_HAND : SPLIT_AUTOMATIC;
}

static int split_by_hand(const struct job *job, const struct net_parts *parts,
                         const struct net *net, int workers, int *worker, struct err *err)
{
    const int64_t *placement = job->strategy.layer_placement;

    if (job->strategy.n_layer_placement != net->n_layers)
        return err_set(err, ERR_INVALID,
                       "spec.strategy.layerPlacement: found %zu entries; needed: %zu, the worker "
                       "of each layer",
                       job->strategy.n_layer_placement, net->n_layers);
    for (int p = 0; p < parts->n; p++) {
        const size_t first = parts->items[p].first, n = parts->items[p].n;

        if (placement[first] >= workers)
            return err_set(err, ERR_INVALID,
                           "spec.strategy.layerPlacement: layer %s is on worker %lld; allowed: "
                           "workers 0 to %d",
                           net->layers[first].spec.name, (long long)placement[first], workers - 1);
        for (size_t i = first; i < first + n; i++)
            if (placement[i] != placement[first])
                return err_set(err, ERR_INVALID,
                               "spec.strategy.layerPlacement: layer %s is on worker %lld; needed: "
                               "%lld, the worker of %s, for they are computed together",
                               net->layers[i].spec.name, (long long)placement[i],
                               (long long)placement[first], net->layers[first].spec.name);
        worker[p] = (int)placement[first];
    }
    return 0;
}

int job_split(const struct job *job, const struct net_parts *parts, const struct net *net,
              enum split_kind kind, int workers, int *worker, struct err *err)
{
    const struct split_graph graph = {.parts = parts->costs,
                                      .n_parts = parts->n,
                                      .edges = parts->edges,
                                      .n_edges = parts->n_edges};

    if (workers > parts->n)
        return err_set(err, ERR_INVALID,
                       "spec.replicas.worker.replicas: found %d workers for a network of %d parts; "
                       "allowed with ModelParallel: a worker for each part, a layer with what is "
                       "computed together with it",
                       workers, parts->n);
    if (kind == SPLIT_BY_HAND)
        return split_by_hand(job, parts, net, workers, worker, err);
    if (kind == SPLIT_NAIVE)
        split_naive(parts->n, workers, worker);
    else
        split_best(&graph, workers, worker);
    return 0;
}

/* Jobs of another strategy are looked at, too. */
static double job_split_micro_batches(const struct job *job)
{
    return job->strategy.micro_batches > 0 ? (double)job->strategy.micro_batches : 1;
}

/* Copies of the gradient: none where it goes straight into the update, else a binary counter. */
static double gradient_copies(const struct job *job)
{
    return job_split_micro_batches(job) > 1 ? 1 + log2(job_split_micro_batches(job)) : 0;
}

/* A worker's own parts; *floats gets those of their activations for a sample. */
static struct split_share own_share(const struct net_parts *parts, const int *worker, int w,
                                    double copies, double *floats)
{
    struct split_share share = {0};
    size_t widest = 0;

    *floats = 0;
    for (int i = 0; i < parts->n; i++) {
        const struct net_part *p = &parts->items[i];

        if (worker[i] != w)
            continue;
        share.load += parts->costs[i].load;
        share.parameters += sizeof(float) * copies * (double)p->parameters;
        *floats += (double)p->floats;
        widest = p->out > widest ? p->out : widest;
    }
    *floats += 2 * (double)widest; /* gradients of activations, in turns */
    return share;
}

/* Floats for a sample of what comes to the worker, or goes, over the edges. */
static double edge_floats(const struct net_parts *parts, const int *worker, int w)
{
    AUTO(auto_free) bool *read = xcalloc((size_t)parts->n, sizeof *read);
    double floats = 0;

    for (int e = 0; e < parts->n_edges; e++) {
        const int from = parts->edges[e].from, to = parts->edges[e].to;
        const double out = (double)parts->items[from].out;

        if (worker[from] == worker[to] || (worker[from] != w && worker[to] != w))
            continue;
        floats += parts->items[from].back ? out : 0; /* a gradient on its way */
        if (worker[to] == w && !read[from])
            floats += out; /* what it reads of another worker */
        read[from] = read[from] || worker[to] == w;
    }
    return floats;
}

void job_split_shares(const struct job *job, const struct net_parts *parts, const int *worker,
                      int workers, struct split_share *shares)
{
    const double slots = job_optimizer_slots(&job->training.optimizer);
    const double copies = 1 + slots + gradient_copies(job);

    for (int w = 0; w < workers; w++) {
        double floats;

        shares[w] = own_share(parts, worker, w, copies, &floats);
        floats += edge_floats(parts, worker, w);
        shares[w].activations = sizeof(float) * floats * (double)job->training.batch_size;
    }
}

double job_split_ceiling(const struct job *job, const struct split_share *shares, int workers)
{
    const double m = job_split_micro_batches(job);
    double all = 0, slowest = 0;
    int stages = 0;

    for (int w = 0; w < workers; w++) {
        all += shares[w].load;
        slowest = fmax(slowest, shares[w].load);
        stages += shares[w].load > 0;
    }
    return slowest > 0 ? all / slowest * m / (m + stages - 1) : 1;
}
