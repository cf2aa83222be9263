/* Local response normalisation: of each pixel by itself, from its neighbouring channels. */
#include "worker/layers/layer.h"

struct lrn_task {
    const struct layer *l;
    const struct pass *p;
    float *to;
    const float *dy, *x, *y; /* dy: on the way back */
};

static void lrn_share(void *arg, int thread, int n_threads)
{
    const struct lrn_task *t = arg;
    const struct lrn_kernels *k = t->p->kernels->lrn;
    const struct lrn *lrn = &t->l->lrn;
    float *room = t->p->scratch[thread];
    const int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads); i < end; i++) {
        const size_t at = (size_t)i * t->l->out_floats;

        if (t->dy)
            k->backward(lrn, t->to + at, t->dy + at, t->x + at, t->y + at, room);
        else
            k->forward(lrn, t->to + at, t->x + at, room);
    }
}

static void lrn_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct lrn_task t = {.l = l, .p = p, .to = y, .x = x};

    threads_run(p->threads, lrn_share, &t);
}

static void lrn_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                         const float *x, const float *y)
{
    struct lrn_task t = {.l = l, .p = p, .to = dx, .dy = dy, .x = x, .y = y};

    if (dx)
        threads_run(p->threads, lrn_share, &t);
}

static void lrn_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    (void)o;
    l->out_floats = l->in_floats;
    l->reads_output = true;
    l->lrn = (struct lrn){.blocks = blocks_of(n->in.c),
                          .pixels = n->in.h * n->in.w,
                          .half = n->spec.size / 2,
                          .alpha = (float)n->spec.alpha,
                          .beta = (float)n->spec.beta,
                          .k = (float)n->spec.k};
    l->scratch_floats = lrn_room(&l->lrn);
}

const struct layer_ops lrn_ops = {
    .kind = "lrn", .init = lrn_init, .forward = lrn_forward, .backward = lrn_backward};
