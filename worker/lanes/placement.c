#include "worker/lanes/placement.h"

#include <assert.h>

#include "paceline/mem.h"

#define STRIPE_MAX ((size_t)62 * 256) /* floats; 62 KB, which networks take at once (reducer.h) */
#define STRIPE_ALIGN ((size_t)256)
#define STRIPES_EACH ((size_t)4) /* per server, at least */

static void place_greedily(struct placement *p, const struct shard *tensors, int n, int servers)
{
    AUTO(auto_free) size_t *load = xcalloc((size_t)servers, sizeof *load);

    p->shards = xcalloc((size_t)n, sizeof *p->shards);
    p->n = n;
    for (int i = 0; i < n; i++) {
        int least = 0;

        for (int s = 1; s < servers; s++)
            least = load[s] < load[least] ? s : least;
        p->shards[i] = (struct shard){tensors[i].offset, tensors[i].n, least};
        load[least] += tensors[i].n;
    }
}

static void place_stripes(struct placement *p, size_t n_floats, int servers)
{
    size_t each = (n_floats + (size_t)servers - 1) / (size_t)servers;
    size_t stripes = (each + STRIPE_MAX - 1) / STRIPE_MAX, stripe;

    if (stripes < STRIPES_EACH)
        stripes = STRIPES_EACH;
    stripe = (each + stripes - 1) / stripes;
    stripe = (stripe + STRIPE_ALIGN - 1) / STRIPE_ALIGN * STRIPE_ALIGN;
    p->n = (int)((n_floats + stripe - 1) / stripe);
    p->shards = xcalloc((size_t)p->n, sizeof *p->shards);
    for (int i = 0; i < p->n; i++) {
        size_t offset = (size_t)i * stripe, left = n_floats - offset;

        p->shards[i] = (struct shard){offset, left < stripe ? left : stripe, i % servers};
    }
}

void placement_init(struct placement *p, enum placement_kind kind, const struct shard *tensors,
                    int n_tensors, size_t n_floats, int servers)
{
    assert(servers > 0 && n_floats > 0);
    *p = (struct placement){.servers = servers};
    if (kind == PLACEMENT_GREEDY)
        place_greedily(p, tensors, n_tensors, servers);
    else
        place_stripes(p, n_floats, servers);
}

void placement_release(struct placement *p)
{
    free(p->shards);
    *p = (struct placement){0};
}

const struct shard *placement_find(const struct placement *p, size_t offset)
{
    int low = 0, high = p->n - 1;

    while (low < high) {
        int middle = (low + high + 1) / 2;

        if (p->shards[middle].offset <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return &p->shards[low];
}
