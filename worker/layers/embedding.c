/*
 * Embedding: a row of values for each word. The gradient of a row is the sum over the places of its
 * word: inside a lane sample by sample, position by position, from +0; lanes in the one tree. A sum
 * that begins with +0 is never -0, so lanes without the word may be skipped or added as zeros, and
 * it makes no difference which.
 */
#include "paceline/mem.h"
#include "worker/layers/layer.h"
#include "worker/layers/param_list.h"

#define CHUNK 64 /* words whose gradients are made together */

struct embedding {
    uint32_t words;
    size_t width;     /* floats of a row */
    uint32_t *starts; /* where the places of each word begin; one more, for the end */
    uint32_t
        *places;   /* sample * positions + position, of one word after the other, each in order */
    float *levels; /* per thread: a row for each level of the lane tree */
    size_t level_floats;
};

struct embedding_task {
    const struct layer *l;
    const struct pass *p;
    const struct lane_ends *block;
    float *y, *dw; /* dw NULL: gradients are applied */
    const float *x, *dy;
};

static void embedding_forward_share(void *arg, int thread, int n_threads)
{
    const struct embedding_task *t = arg;
    const struct embedding *m = t->l->embedding;
    const float *weights = t->p->params + t->l->weight->offset;
    const int n = (int)t->p->n * t->l->rows, end = share_begin(n, thread + 1, n_threads);

    for (int i = share_begin(n, thread, n_threads); i < end; i++)
        memcpy(t->y + (size_t)i * m->width, weights + (size_t)t->x[i] * m->width,
               m->width * sizeof(float));
}

static void embedding_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct embedding_task t = {.l = l, .p = p, .y = y, .x = x};

    threads_run(p->threads, embedding_forward_share, &t);
}

/* The places of each word of a block: a counting sort. */
static void sort_places(struct embedding *m, const float *x, uint32_t begin, uint32_t end)
{
    memset(m->starts, 0, (m->words + 2) * sizeof *m->starts);
    for (uint32_t i = begin; i < end; i++)
        m->starts[(uint32_t)x[i] + 2]++;
    for (uint32_t w = 2; w < m->words + 2; w++)
        m->starts[w] += m->starts[w - 1];
    for (uint32_t i = begin; i < end; i++) /* now starts[w + 1] is where w's next place goes */
        m->places[m->starts[(uint32_t)x[i] + 1]++] = i;
}

/* dst = the sum over a subtree of lanes, of a word that is at these places, in order. Returns how
 * many of them it has taken; 0: dst is as it was. */
static uint32_t sum_node(const struct embedding_task *t, uint32_t first, int level,
                         const uint32_t *places, uint32_t n, float *dst, float *levels)
{
    const struct embedding *m = t->l->embedding;
    const uint32_t rows = (uint32_t)t->l->rows, half = level ? 1u << (level - 1) : 0;
    const uint32_t end = (t->block->begin + t->block->end[first + (1u << level) - 1]) * rows;
    uint32_t taken = 0;

    if (!n || places[0] >= end)
        return 0;
    if (level == 0) {
        memset(dst, 0, m->width * sizeof *dst);
        for (; taken < n && places[taken] < end; taken++)
            t->p->kernels->reduce->add(dst, t->dy + places[taken] * m->width, m->width);
        return taken;
    }
    taken = sum_node(t, first, level - 1, places, n, dst, levels);
    float *right = taken ? levels + (size_t)(level - 1) * m->width : dst;
    const uint32_t more =
        sum_node(t, first + half, level - 1, places + taken, n - taken, right, levels);
    if (taken && more)
        t->p->kernels->reduce->add(dst, right, m->width);
    return taken + more;
}

/* The gradients of words [w0, w1) of the block. */
static void sum_words(const struct embedding_task *t, uint32_t w0, uint32_t w1, float *dst,
                      float *levels)
{
    const struct embedding *m = t->l->embedding;

    memset(dst, 0, (w1 - w0) * m->width * sizeof *dst);
    for (uint32_t w = w0; w < w1; w++)
        sum_node(t, 0, t->block->level, m->places + m->starts[w], m->starts[w + 1] - m->starts[w],
                 dst + (w - w0) * m->width, levels);
}

static void embedding_backward_share(void *arg, int thread, int n_threads)
{
    const struct embedding_task *t = arg;
    const struct embedding *m = t->l->embedding;
    const struct gradient_sink *sink = t->p->sink;
    const int chunks = (int)((m->words + CHUNK - 1) / CHUNK);
    float *levels = m->levels + (size_t)thread * m->level_floats;

    for (int c = thread; c < chunks; c += n_threads) { /* the first words are the frequent ones */
        const uint32_t w0 = (uint32_t)c * CHUNK;
        const uint32_t w1 = m->words - w0 < CHUNK ? m->words : w0 + CHUNK;
        const size_t at = w0 * m->width;

        sum_words(t, w0, w1, t->dw ? t->dw + at : t->p->scratch[thread], levels);
        if (!t->dw)
            sink->apply(sink->arg, t->l->weight->offset + at, (w1 - w0) * m->width,
                        t->p->scratch[thread], PARAM_WEIGHT);
    }
}

static void embedding_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                               const float *x, const float *y)
{
    struct embedding_task t = {.l = l, .p = p, .dy = dy};
    const uint32_t rows = (uint32_t)l->rows;
    (void)dx, (void)y; /* nothing is trained below the words */

    if (l->weight->frozen)
        return;
    for (int b = 0; b < p->n_blocks; b++) {
        t.block = &p->blocks[b];
        t.dw = p->sink->apply ? NULL : p->sink->blocks[b] + l->weight->offset;
        if (!block_samples(t.block))
            continue;
        sort_places(l->embedding, x, t.block->begin * rows,
                    (t.block->begin + block_samples(t.block)) * rows);
        threads_run(p->threads, embedding_backward_share, &t);
        pass_poll(p);
    }
    if (!p->sink->apply)
        p->sink->ready(p->sink->arg, l->weight->offset, l->weight->floats);
}

static void embedding_release(struct layer *l)
{
    free(l->embedding->starts);
    free(l->embedding->places);
    free(l->embedding->levels);
    free(l->embedding);
}

static void embedding_init(struct layer *l, const struct net_layer *n,
                           const struct layer_options *o)
{
    struct embedding *m = l->embedding = xcalloc(1, sizeof *m);

    l->out = n->out;
    l->in_floats = (size_t)n->in.w;
    l->out_floats = map_floats(n->out);
    m->words = (uint32_t)n->spec.vocabulary;
    m->width = l->out_floats / (size_t)l->rows;
    m->starts = xcalloc(o->levels < 0 ? 1 : m->words + 2, sizeof *m->starts);
    m->places = xcalloc((size_t)o->samples * (size_t)l->rows + 1, sizeof *m->places);
    m->level_floats = m->width * (size_t)(o->levels + 1);
    m->levels = xaligned((m->level_floats * (size_t)o->threads + 16) * sizeof *m->levels);
    l->scratch_floats = CHUNK * m->width;
}

/* A row for each word. */
static void embedding_add_params(struct layer *l, const struct net_layer *n,
                                 struct param_list *list)
{
    const int words = n->spec.vocabulary;

    l->weight = param_list_add_matrix(list, n, "weight", (size_t)words * l->embedding->width, words,
                                      n->out.c);
    l->weight->fan_in = words;
}

const struct layer_ops embedding_ops = {.kind = "embedding",
                                        .init = embedding_init,
                                        .add_params = embedding_add_params,
                                        .forward = embedding_forward,
                                        .backward = embedding_backward,
                                        .release = embedding_release};
