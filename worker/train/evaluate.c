/* Evaluation of a set: all ranks share each batch by its lanes; see trainer.h. */
#include "paceline/mem.h"
#include "worker/train/step.h"
#include "worker/train/telemetry/watchdog.h"

static void evaluate_lanes(struct trainer *t, const struct batch *b, struct score_sums *sums)
{
    t->pass.n = b->n;
    t->pass.begins = b->index == 0;
    step_losses(t, &t->shared, b->n_global, b, model_forward(&t->model, &t->pass, b->x),
                model_output_gradient(&t->model), 0, sums);
    comm_lanes_begin(t->comm, t->lane_tree, t->lane_values, LANE_VALUES);
    comm_lanes_end(t->comm, t->all_lane_values);
}

/* Collective. On rank 0, sum gets the sums of each rank's n values, added in rank order; sum may be
 * mine. */
static void sum_doubles(struct trainer *t, const double *mine, size_t n, double *sum)
{
    const size_t size = (size_t)comm_size(t->comm);
    AUTO(auto_free) double *all = xcalloc(n * size, sizeof *all);

    comm_gather(t->comm, mine, n * sizeof *all, all, 0);
    for (size_t i = 0; i < n && comm_rank(t->comm) == 0; i++) {
        sum[i] = 0;
        for (size_t r = 0; r < size; r++)
            sum[i] += all[r * n + i];
    }
}

/* Collective. Every rank gets the sum of all ranks' counts. */
static void sum_counts(struct trainer *t, const struct score_sums *sums)
{
    const size_t size = (size_t)comm_size(t->comm);
    size_t n;
    int64_t *counts = score_sums_counts(sums, &n);

    if (size == 1 || !n)
        return;
    AUTO(auto_free) int64_t *all = xcalloc(n * size, sizeof *all);
    comm_gather(t->comm, counts, n * sizeof *all, all, 0);
    for (size_t i = 0; i < n && comm_rank(t->comm) == 0; i++) {
        counts[i] = 0;
        for (size_t r = 0; r < size; r++)
            counts[i] += all[r * n + i];
    }
    comm_broadcast(t->comm, counts, n * sizeof *counts, 0);
}

/* Collective. Each output's squared errors, folded over the lanes of batches of n. A lane belongs
 * to one rank; the others add 0 to it. */
static double *fold_errors(struct trainer *t, const struct score_sums *of, uint32_t n)
{
    const size_t each = (size_t)of->n, lanes = (size_t)of->lanes;
    AUTO(auto_free) double *all = xcalloc(each * lanes, sizeof *all);
    double *sums = xcalloc(each, sizeof *sums), column[LANES_MAX];

    for (size_t lane = 0; lane < lanes; lane++)
        sum_doubles(t, of->errors + lane * each, each, all + lane * each);
    for (size_t k = 0; k < each; k++) {
        for (size_t lane = 0; lane < lanes; lane++)
            column[lane] = all[lane * each + k];
        sums[k] = lanes_fold((int)lanes, n, column);
    }
    comm_broadcast(t->comm, sums, each * sizeof *sums, 0);
    return sums;
}

static struct evaluation evaluate(struct trainer *t, struct batcher *set, struct score_sums *sums)
{
    const enum phase was = phases_enter(&t->phases, PHASE_EVALUATE);
    struct profile *profile = t->pass.profile;
    AUTO(auto_free) double *errors = NULL;
    struct evaluation e = {0};

    t->pass.profile = NULL; /* it is of training */
    t->pass.training = false;
    score_sums_clear(sums);
    batcher_seek(set, 0, 0);
    for (uint32_t i = 0; i < batcher_batches(set); i++) {
        const struct batch *b = step_next(t, set);

        (t->strategy->evaluate ? t->strategy->evaluate : evaluate_lanes)(t, b, sums);
        step_add(&e.totals, step_fold(t, b->n_global, t->all_lane_values));
        watchdog_feed(t->at.step);
    }
    sum_counts(t, sums);
    if (sums->errors)
        errors = fold_errors(t, sums, batcher_samples(set, 0, 1));
    e.scores = score_sums_scores(sums, errors);
    t->pass.profile = profile;
    phases_leave(&t->phases, was);
    return e;
}

struct evaluation trainer_validate(struct trainer *t)
{
    return evaluate(t, t->validation, &t->validated);
}

struct evaluation trainer_test(struct trainer *t) { return evaluate(t, t->test, &t->tested); }
