/*
 * LSTM: two dense layers and a cell. What comes from the input is computed for all positions at
 * once, and so are the gradients of both weights; what comes from the hidden state, position by
 * position. Truncated back-propagation through time: gradients end at the first position.
 *
 * The state that a row of a batch ends with is what the same row of the next batch begins with. It
 * is a parameter that goes the way of gradients: each row's is summed with zeros for all others and
 * takes the place of what was. So whoever has a row finds its state, and checkpoints have it.
 * Evaluation keeps its own here, as its batches are of one rank's rows throughout.
 */
#include "paceline/mem.h"
#include "worker/layers/layer.h"

enum { FROM_INPUT, FROM_HIDDEN };

struct lstm {
    struct layer dense[2]; /* the gates' sums, of the input and of the hidden state */
    size_t units;          /* padded */
    /* Of each sample: at each position the gates, and what the position begins and ends with. */
    float *gates, *hidden, *cell, *tanh_cell;
    /* Of each sample, at the position that is being computed: */
    float *h[2], *c, *recurrent, *gradient, *dh, *dc;
    float *evaluated[2]; /* the state of an evaluation */
    float *kept;         /* the hidden state's weights in the order of the data gradient */
};

struct lstm_task {
    struct layer *l;
    const struct pass *p;
    float *y;
    const float *dy;
    int position;
};

static size_t gate_floats(const struct lstm *m) { return 4 * m->units; }

/* Of sample i at the running position. */
static size_t place(const struct lstm_task *t, uint32_t i)
{
    return ((size_t)t->p->first + i) * (size_t)t->l->rows + (size_t)t->position;
}

/* The states that the samples begin with. */
static void begin(struct layer *l, const struct pass *p)
{
    struct lstm *m = l->lstm;
    const size_t n = p->n * m->units;

    if (p->begins) {
        memset(m->h[0], 0, n * sizeof(float));
        memset(m->c, 0, n * sizeof(float));
        return;
    }
    const size_t first = (p->training ? p->row + p->first : p->first) * m->units;
    const float *hidden = p->training ? p->params + l->hidden->offset : m->evaluated[0];
    const float *cell = p->training ? p->params + l->cell->offset : m->evaluated[1];
    memcpy(m->h[0], hidden + first, n * sizeof(float));
    memcpy(m->c, cell + first, n * sizeof(float));
}

/* A thread has some units of all samples. */
static void forward_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];
    const struct kernels *k = t->p->kernels;
    const int blocks = (int)(m->units / 16);
    const int b0 = share_begin(blocks, thread, n_threads);
    const int b1 = share_begin(blocks, thread + 1, n_threads);
    const size_t from = (size_t)b0 * 16, to = (size_t)b1 * 16;
    const float *last = m->h[t->position % 2];
    float *next = m->h[1 - t->position % 2];

    for (int gate = 0; gate < 4 && b0 < b1; gate++)
        k->dense->forward(&rec->dense, m->recurrent, last, t->p->params + rec->weight->offset, NULL,
                          false, (int)t->p->n, gate * blocks + b0, gate * blocks + b1,
                          t->p->scratch[thread]);
    for (uint32_t i = 0; i < t->p->n; i++) {
        const size_t at = place(t, i) * m->units, state = i * m->units;

        memcpy(m->hidden + at + from, last + state + from, (to - from) * sizeof(float));
        memcpy(m->cell + at + from, m->c + state + from, (to - from) * sizeof(float));
        k->lstm->forward(m->gates + 4 * at, m->recurrent + 4 * state, m->c + state,
                         m->tanh_cell + at, next + state, m->units, from, to);
        memcpy(t->y + (i * (size_t)t->l->rows + (size_t)t->position) * m->units + from,
               next + state + from, (to - from) * sizeof(float));
    }
}

static void lstm_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct lstm *m = l->lstm;
    struct layer *input = &m->dense[FROM_INPUT];
    struct lstm_task t = {.l = l, .p = p, .y = y};

    begin(l, p);
    input->ops->forward(input, p, m->gates + (size_t)p->first * (size_t)l->rows * gate_floats(m),
                        x);
    for (t.position = 0; p->n && t.position < l->rows; t.position++)
        threads_run(p->threads, forward_share, &t);
    /* For the gradient of the state, or for the next batch of an evaluation. */
    const size_t at = p->first * m->units, n = p->n * m->units;
    memcpy(m->evaluated[0] + at, m->h[l->rows % 2], n * sizeof(float));
    memcpy(m->evaluated[1] + at, m->c, n * sizeof(float));
}

/* A thread has some samples. */
static void cell_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const int end = share_begin((int)t->p->n, thread + 1, n_threads);

    for (int i = share_begin((int)t->p->n, thread, n_threads); i < end; i++) {
        const size_t at = place(t, (uint32_t)i) * m->units, state = (size_t)i * m->units;
        const size_t out = ((size_t)i * (size_t)t->l->rows + (size_t)t->position) * m->units;

        t->p->kernels->reduce->add(m->dh + state, t->dy + out, m->units);
        t->p->kernels->lstm->backward(m->gates + 4 * at, m->cell + at, m->tanh_cell + at,
                                      m->dh + state, m->dc + state, m->units);
        memcpy(m->gradient + 4 * state, m->gates + 4 * at, gate_floats(m) * sizeof(float));
    }
}

static float *kept_chunk(const struct lstm *m, int chunk)
{
    return m->kept + (size_t)chunk * DENSE_CHUNK * gate_floats(m);
}

/* All positions use the same weights. */
static void keep_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];

    for (int c = thread; c < dense_chunks(&rec->dense); c += n_threads)
        t->p->kernels->dense->keep_chunk(&rec->dense, c, kept_chunk(m, c),
                                         t->p->params + rec->weight->offset);
}

/* The gradient of the hidden state before the position, in chunks of its units. */
static void hidden_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];

    for (int c = thread; c < dense_chunks(&rec->dense); c += n_threads)
        t->p->kernels->dense->backward_kept(&rec->dense, c, m->dh, m->gradient, kept_chunk(m, c),
                                            (int)t->p->n);
}

/* What the block's rows ended with, +0 for all others; a state of -0 becomes +0 as well, as it
 * would in a sum with zeros. */
static void give_state(const struct layer *l, const struct pass *p, const struct param *state,
                       const float *values, int b, float *to)
{
    const struct lstm *m = l->lstm;
    const struct lane_ends *block = &p->blocks[b];
    float *row = to + (size_t)(p->row + p->first + block->begin) * m->units;

    memset(to, 0, state->floats * sizeof *to);
    p->kernels->reduce->add(row, values + (size_t)(p->first + block->begin) * m->units,
                            block_samples(block) * m->units);
}

static void give_states(struct layer *l, const struct pass *p)
{
    struct lstm *m = l->lstm;
    const struct param *states[] = {l->hidden, l->cell};

    for (int s = 0; s < 2; s++) {
        for (int b = 0; b < p->n_blocks; b++) {
            if (!block_samples(&p->blocks[b]))
                continue;
            float *to = p->sink->apply ? m->dh : p->sink->blocks[b] + states[s]->offset;
            give_state(l, p, states[s], m->evaluated[s], b, to);
            if (p->sink->apply)
                p->sink->apply(p->sink->arg, states[s]->offset, states[s]->floats, to, PARAM_STATE);
        }
        if (!p->sink->apply)
            p->sink->ready(p->sink->arg, states[s]->offset, states[s]->floats);
    }
}

static void lstm_backward(struct layer *l, const struct pass *p, float *dx, float *dy,
                          const float *x, const float *y)
{
    struct lstm *m = l->lstm;
    struct lstm_task t = {.l = l, .p = p, .dy = dy};
    const size_t n = p->n * m->units, first = (size_t)p->first * (size_t)l->rows;
    float *gates = m->gates + first * gate_floats(m);
    (void)y;

    memset(m->dh, 0, n * sizeof(float));
    memset(m->dc, 0, n * sizeof(float));
    threads_run(p->threads, keep_share, &t);
    for (t.position = l->rows; p->n && t.position-- > 0;) {
        threads_run(p->threads, cell_share, &t);
        if (t.position > 0)
            threads_run(p->threads, hidden_share, &t);
        if (p->poll)
            p->poll(p->poll_arg);
    }
    give_states(l, p);
    struct layer *hidden = &m->dense[FROM_HIDDEN], *input = &m->dense[FROM_INPUT];
    hidden->packed = input->packed = l->packed;
    hidden->ops->backward(hidden, p, NULL, gates, m->hidden + first * m->units, NULL);
    input->ops->backward(input, p, dx, gates, x, NULL);
}

#define N_BUFFERS 13

static float **buffer_at(struct lstm *m, int i)
{
    float **all[N_BUFFERS] = {&m->gates,       &m->hidden, &m->cell, &m->tanh_cell,
                              &m->h[0],        &m->h[1],   &m->c,    &m->recurrent,
                              &m->gradient,    &m->dh,     &m->dc,   &m->evaluated[0],
                              &m->evaluated[1]};

    return all[i];
}

static void lstm_release(struct layer *l)
{
    struct lstm *m = l->lstm;

    for (int i = 0; i < N_BUFFERS; i++)
        free(*buffer_at(m, i));
    for (int i = 0; i < 2; i++)
        m->dense[i].ops->release(&m->dense[i]);
    free(m->kept);
    free(m);
}

static const struct layer_ops lstm_ops = {
    .kind = "lstm", .forward = lstm_forward, .backward = lstm_backward, .release = lstm_release};

/* In floats for each sample: as in buffer_at(). */
static size_t buffer_floats(const struct layer *l, int i)
{
    const size_t units = l->lstm->units, rows = (size_t)l->rows;
    const size_t floats[] = {4 * units * rows, units * rows, units * rows, units * rows};

    return i < (int)ARRAY_LEN(floats) ? floats[i] : 4 * units;
}

void layer_lstm(struct layer *l, const struct net_layer *n, uint32_t samples, int levels,
                uint32_t batch)
{
    struct lstm *m = l->lstm = xcalloc(1, sizeof *m);
    struct net_layer gates = *n;

    l->ops = &lstm_ops;
    l->name = n->spec.name;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
    m->units = l->out_floats / (size_t)l->rows;
    gates.out.c = (int)gate_floats(m);
    for (int i = 0; i < 2; i++) {
        struct layer *d = &m->dense[i];

        d->rows = l->rows;
        d->in_floats = i == FROM_INPUT ? l->in_floats : l->out_floats;
        layer_dense(d, &gates, false, false, samples, levels);
        l->scratch_floats =
            d->scratch_floats > l->scratch_floats ? d->scratch_floats : l->scratch_floats;
        l->packed_floats = d->packed_floats; /* the gates' gradient, for either */
    }
    m->kept = xaligned((samples ? m->units : 0) * gate_floats(m) * sizeof(float));
    for (int i = 0; i < N_BUFFERS; i++) {
        float **buffer = buffer_at(m, i);
        const size_t n_samples = buffer == &m->dh && batch > samples ? batch : samples;
        *buffer = xaligned((buffer_floats(l, i) * n_samples + 16) * sizeof(float));
    }
}

size_t layer_lstm_floats(const struct layer *l)
{
    size_t floats = 0;

    for (int i = 0; i < N_BUFFERS; i++)
        floats += buffer_floats(l, i);
    return floats;
}

struct dense layer_lstm_dense(const struct layer *l, bool hidden)
{
    return l->lstm->dense[hidden ? FROM_HIDDEN : FROM_INPUT].dense;
}

void layer_lstm_params(struct layer *l, struct param *weight, struct param *recurrent,
                       struct param *bias)
{
    l->weight = l->lstm->dense[FROM_INPUT].weight = weight;
    l->lstm->dense[FROM_INPUT].bias = bias;
    l->bias = bias;
    l->lstm->dense[FROM_HIDDEN].weight = l->recurrent = recurrent;
}
