/*
 * LocalSGD: between meetings each worker trains alone (local_update.h says how batches are shared);
 * at a meeting all take the mean of their weights and of their optimisers' state.
 *
 *     w = sum over i of (n_i / n) * w_i           n_i: samples of worker i since the last meeting
 *
 * Stich 2019 (arXiv 1805.09767), where all n_i are equal; the weights n_i / n are those of
 * McMahan et al. 2017 (arXiv 1602.05629) and make a difference in an epoch's last row. State is
 * averaged as in Yu, Jin and Yang 2019 (arXiv 1905.03817), so that after a meeting nothing is any
 * worker's own, and a checkpoint is whole. Before the epoch localFrom a meeting follows each row
 * (post-local SGD: Lin et al. 2020, arXiv 1808.07217). That is AllReduce where the update is linear
 * in the gradient: with SGD, momentum or not, without clipping, up to rounding.
 */
#include "paceline/mem.h"
#include "worker/strategy/local_update.h"
#include "worker/strategy/strategies.h"

static void local_sgd_init(struct trainer *t)
{
    t->own = xcalloc(1, sizeof(struct local_update));
    local_update_init(t->own, t);
}

static void local_sgd_release(struct trainer *t)
{
    local_update_release(t->own);
    free(t->own);
}

static void average(struct trainer *t, struct local_update *l)
{
    int64_t samples = 0;

    if (t->workers == 1)
        return;
    for (int w = 0; w < t->workers; w++)
        samples += l->notes[w].totals.samples;
    for (int slot = -1; slot < t->optimizer.n_slots; slot++)
        local_update_sum(t, l, slot < 0 ? t->model.weights : t->optimizer.slots[slot],
                         (float)((double)l->mine.samples / (double)samples));
}

static int local_sgd_step(struct trainer *t, struct err *err)
{
    const bool local = t->at.epoch >= t->job->strategy.local_from;
    struct local_update *l = t->own;
    const bool over = local_update_step(t, l, local ? t->job->strategy.average_every : 1);

    if (t->together && local_update_meet(t, l, err) != 0)
        return -1;
    if (over)
        average(t, l);
    return 0;
}

/* At a meeting every rank has all of it. */
static void local_sgd_gather(struct trainer *t) { (void)t; }

const struct strategy local_sgd = {
    .share = local_update_share,
    .takes = local_update_takes,
    .init = local_sgd_init,
    .release = local_sgd_release,
    .step = local_sgd_step,
    .gather = local_sgd_gather,
};
