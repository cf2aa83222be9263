/*
 * ElasticAveraging: workers train alone (local_update.h) on elastic bands. At a meeting each worker
 * x_i and the centre c pull at each other:
 *
 *     d_i = a * (x_i - c)        a: strategy.elasticForce; 0: 0.9 / N, as in the paper
 *     x_i = x_i - d_i
 *     c   = c + sum over i of d_i
 *
 * Zhang, Choromanska and LeCun 2015 (arXiv 1412.6651), equations 5 and 6 with beta = N * a, every
 * averageEvery updates as in their algorithm 1 (which takes the gradient before the pull, not
 * after it); EAMSGD, algorithm 2, is the sgd optimiser with momentum and nesterov. With N * a
 * <= 1 the new centre (1 - N*a)*c + a*(x_1 + ... + x_N) lies between the old one and the workers.
 *
 * The model is the centre: it is evaluated and saved, with the mean of the workers' optimiser
 * state; workers stay where they are meanwhile. The workers' own weights are in no checkpoint
 * (their number may change): after a resume all begin at the centre, so the course is another than
 * without it.
 */
#include "paceline/mem.h"
#include "worker/strategy/local_update.h"
#include "worker/strategy/strategies.h"

struct elastic {
    struct local_update local;
    bool begun;     /* there is a centre */
    bool at_centre; /* the trainer's weights and state are what all share; kept has this worker's */
    float *centre;  /* the same on every worker */
    float *distance;                  /* d_i, and their sum */
    float *kept[1 + OPTIM_MAX_SLOTS]; /* weights, state */
};

static float *elastic_slab_of(const struct trainer *t, int slot)
{
    return slot < 0 ? t->model.weights : t->optimizer.slots[slot];
}

static float *new_slab(struct trainer *t)
{
    t->gradient_floats += t->model.n_floats;
    return xaligned(t->model.n_floats * sizeof(float));
}

static void elastic_init(struct trainer *t)
{
    struct elastic *e = t->own = xcalloc(1, sizeof *e);

    local_update_init(&e->local, t);
    e->centre = new_slab(t);
    e->distance = new_slab(t);
    for (int slot = -1; slot < t->optimizer.n_slots; slot++)
        e->kept[slot + 1] = new_slab(t);
}

static void elastic_release(struct trainer *t)
{
    struct elastic *e = t->own;

    local_update_release(&e->local);
    free(e->centre);
    free(e->distance);
    for (size_t i = 0; i < ARRAY_LEN(e->kept); i++)
        free(e->kept[i]);
    free(e);
}

static void elastic_copy(const struct trainer *t, float *to, const float *from)
{
    memcpy(to, from, t->model.n_floats * sizeof *to);
}

/* All begin at what was made, or loaded; later each goes on from its own. */
static void go_out(struct trainer *t, struct elastic *e)
{
    if (!e->begun)
        elastic_copy(t, e->centre, t->model.weights);
    e->begun = true;
    for (int slot = -1; e->at_centre && slot < t->optimizer.n_slots; slot++)
        elastic_copy(t, elastic_slab_of(t, slot), e->kept[slot + 1]);
    e->at_centre = false;
}

static void elastic_gather(struct trainer *t)
{
    struct elastic *e = t->own;

    if (!e->begun || e->at_centre)
        return;
    for (int slot = -1; slot < t->optimizer.n_slots; slot++)
        elastic_copy(t, e->kept[slot + 1], elastic_slab_of(t, slot));
    elastic_copy(t, t->model.weights, e->centre);
    for (int slot = 0; slot < t->optimizer.n_slots; slot++)
        local_update_sum(t, &e->local, t->optimizer.slots[slot], (float)(1.0 / t->workers));
    e->at_centre = true;
}

static void elastic_pull(struct trainer *t, struct elastic *e)
{
    const double given = t->job->strategy.elastic_force;
    const float force = (float)(given > 0 ? given : 0.9 / t->workers);
    float *x = t->model.weights, *d = e->distance;

    for (size_t i = 0; i < t->model.n_floats; i++) {
        d[i] = force * (x[i] - e->centre[i]);
        x[i] -= d[i];
    }
    local_update_sum(t, &e->local, d, 1);
    t->kernels->reduce->add(e->centre, d, t->model.n_floats);
}

static int elastic_step(struct trainer *t, struct err *err)
{
    struct elastic *e = t->own;
    bool over;

    go_out(t, e);
    over = local_update_step(t, &e->local, t->job->strategy.average_every);
    if (t->together && local_update_meet(t, &e->local, err) != 0)
        return -1;
    if (over)
        elastic_pull(t, e);
    return 0;
}

const struct strategy elastic = {
    .share = local_update_share,
    .takes = local_update_takes,
    .init = elastic_init,
    .release = elastic_release,
    .step = elastic_step,
    .gather = elastic_gather,
};
