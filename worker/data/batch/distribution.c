#include "worker/data/batch/distribution.h"

#include "paceline/mem.h"
#include "worker/kernels/random.h"

static const struct job_distribution *how(const struct distribution *d)
{
    return &d->job->dataset.distribution;
}

static uint64_t asked_size(const struct distribution *d, int worker)
{
    return how(d)->n_sizes ? (uint64_t)how(d)->sizes[(size_t)worker % how(d)->n_sizes] : 1;
}

/* Where shares begin and end; those of `replicated` all have everything. */
static void cut(struct distribution *d)
{
    const bool replicated = how(d)->kind == DISTRIBUTION_REPLICATED;
    uint64_t sum = 0, before = 0;

    for (int w = 0; w < d->workers; w++)
        sum += asked_size(d, w);
    for (int w = 0; w < d->workers; w++) {
        const uint64_t end = before + asked_size(d, w);

        d->begin[w] = (uint32_t)(d->n * before / sum);
        d->size[w] = replicated ? d->n : (uint32_t)(d->n * end / sum) - d->begin[w];
        before = end;
    }
}

void distribution_init(struct distribution *d, const struct job *job, const struct dataset *set,
                       const uint32_t *index, uint32_t n, int workers)
{
    *d = (struct distribution){.job = job, .n = n, .workers = workers, .classes = 1, .round = -1};
    d->label = xcalloc(n, sizeof *d->label);
    for (uint32_t i = 0; i < n; i++) {
        d->label[i] = set->labels ? set->labels[index ? index[i] : i] : 0;
        d->classes = d->label[i] < d->classes ? d->classes : d->label[i] + 1;
    }
    const size_t most = (size_t)(d->classes > workers ? d->classes : workers) + 1;
    d->begin = xcalloc((size_t)workers, sizeof *d->begin);
    d->size = xcalloc((size_t)workers, sizeof *d->size);
    d->owner = xcalloc(n, sizeof *d->owner);
    d->list = xcalloc(n, sizeof *d->list);
    d->next = xcalloc(most, sizeof *d->next);
    d->left = xcalloc((size_t)d->classes, sizeof *d->left);
    d->weights = xcalloc((size_t)(d->classes * workers), sizeof *d->weights);
    cut(d);
}

void distribution_release(struct distribution *d)
{
    free(d->begin);
    free(d->size);
    free(d->label);
    free(d->owner);
    free(d->list);
    free(d->next);
    free(d->left);
    free(d->weights);
    *d = (struct distribution){0};
}

static void list_identity(struct distribution *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        d->list[i] = i;
}

static void list_drawn(struct distribution *d)
{
    random_permutation(d->list, d->n, d->job->training.seed, RANDOM_DEAL, (uint32_t)d->round);
}

/* next[c]: how many samples have a label below c; next[classes] = n. */
static void count_labels(struct distribution *d)
{
    memset(d->next, 0, ((size_t)d->classes + 1) * sizeof *d->next);
    for (uint32_t i = 0; i < d->n; i++)
        d->next[d->label[i] + 1]++;
    for (int c = 0; c < d->classes; c++)
        d->next[c + 1] += d->next[c];
}

/* By counting, so those of a label stay in their order. */
static void list_by_label(struct distribution *d)
{
    count_labels(d);
    for (uint32_t i = 0; i < d->n; i++)
        d->list[d->next[d->label[i]]++] = i;
}

static void deal_list(struct distribution *d)
{
    for (int w = 0; w < d->workers; w++)
        for (uint32_t k = 0; k < d->size[w]; k++)
            d->owner[d->list[d->begin[w] + k]] = (uint16_t)w;
}

/*
 * A label drawn from Polya's urn: the next one is c with a chance proportional to alpha * K * p_c +
 * (how many the worker has of c). Over a whole share that is as if its mix had been drawn from the
 * Dirichlet distribution first (Blackwell and MacQueen 1973), without gamma variates, whose
 * logarithms would not be the same bits everywhere.
 */
static int draw_label(const struct distribution *d, double *urn, uint32_t u)
{
    double sum = 0, at;
    int last = 0;

    for (int c = 0; c < d->classes; c++)
        sum += d->left[c] ? urn[c] : 0;
    at = (u + 0.5) * 0x1p-32 * sum;
    for (int c = 0; c < d->classes; c++) {
        if (!d->left[c])
            continue;
        last = c;
        at -= urn[c];
        if (at < 0)
            break;
    }
    urn[last]++;
    return last;
}

/* The worker's next sample. */
static void deal_drawn(struct distribution *d, int worker, uint32_t k)
{
    const struct random_key key = {.seed = d->job->training.seed,
                                   .purpose = RANDOM_DEAL,
                                   .stream = (uint32_t)d->round,
                                   .item = (uint32_t)worker + 1};
    const int c = draw_label(d, d->weights + (ptrdiff_t)worker * d->classes, random_u32(&key, k));

    for (d->left[c]--; d->label[d->list[d->next[c]]] != c; d->next[c]++)
        continue;
    d->owner[d->list[d->next[c]++]] = (uint16_t)worker;
}

/* Workers draw in turn, in proportion to their sizes, lest the last ones get what is left. */
static void deal_dirichlet(struct distribution *d)
{
    uint32_t turns = 0;

    memset(d->left, 0, (size_t)d->classes * sizeof *d->left);
    for (uint32_t i = 0; i < d->n; i++)
        d->left[d->label[i]]++;
    for (int w = 0; w < d->workers; w++) {
        turns = d->size[w] > turns ? d->size[w] : turns;
        for (int c = 0; c < d->classes; c++)
            d->weights[(ptrdiff_t)w * d->classes + c] =
                how(d)->alpha * d->classes * d->left[c] / d->n;
    }
    list_drawn(d);
    memset(d->next, 0, (size_t)d->classes * sizeof *d->next);
    for (uint64_t turn = 0; turn < turns; turn++)
        for (int w = 0; w < d->workers; w++) {
            const uint32_t k = (uint32_t)(turn * d->size[w] / turns);

            if ((turn + 1) * d->size[w] / turns > k)
                deal_drawn(d, w, k);
        }
}

static void distribution_deal(struct distribution *d)
{
    switch (how(d)->kind) {
    case DISTRIBUTION_DEALT:
    case DISTRIBUTION_REPLICATED:
        return;
    case DISTRIBUTION_DIRICHLET:
        deal_dirichlet(d);
        return;
    case DISTRIBUTION_IID:
        list_drawn(d);
        break;
    case DISTRIBUTION_CONTIGUOUS:
        list_identity(d);
        break;
    case DISTRIBUTION_BY_LABEL:
        list_by_label(d);
        break;
    }
    deal_list(d);
}

void distribution_order(struct distribution *d, uint32_t *order, uint32_t epoch)
{
    const int64_t every = how(d)->every, round = every ? epoch / every : 0;

    if (round != d->round) {
        d->round = round;
        distribution_deal(d);
    }
    if (d->job->dataset.shuffle)
        random_permutation(d->list, d->n, d->job->training.seed, RANDOM_SHUFFLE, epoch);
    else
        list_identity(d);
    if (how(d)->kind == DISTRIBUTION_REPLICATED) {
        memcpy(order, d->list, d->n * sizeof *order);
        return;
    }
    memcpy(d->next, d->begin, (size_t)d->workers * sizeof *d->next);
    for (uint32_t i = 0; i < d->n; i++)
        order[d->next[d->owner[d->list[i]]]++] = d->list[i];
}
