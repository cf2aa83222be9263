/*
 * LSTM: two dense layers and a cell. What comes from the input is computed for all positions at
 * once, and so are the gradients of both weights; what comes from the hidden state, position by
 * position. Truncated back-propagation through time: gradients end at the first position.
 *
 * In bf16 both layers are; the cell, and the states between positions, are not. All positions of a
 * pass use the same weights, so these are packed in front of it, and on the way back kept in the
 * order of the data gradient. They lie in `packed`, until the dense layers' own passes need it.
 *
 * The state that a row of a batch ends with is what the same row of the next batch begins with. It
 * is a parameter that goes the way of gradients: each row's is summed with zeros for all others and
 * takes the place of what was. So whoever has a row finds its state, and checkpoints have it.
 * Evaluation keeps its own here, as its batches are of one rank's rows throughout.
 */
#include "paceline/mem.h"
#include "worker/layers/layer.h"
#include "worker/layers/param_list.h"

enum { FROM_INPUT, FROM_HIDDEN };

struct lstm {
    struct layer dense[2]; /* the gates' sums, of the input and of the hidden state */
    size_t units;          /* padded */
    /* Of each sample: at each position the gates, and what the position begins and ends with. */
    float *gates, *hidden, *cell, *tanh_cell;
    /* Of each sample, at the position that is being computed: */
    float *h[2], *c, *recurrent, *gradient, *dh, *dc;
    float *evaluated[2]; /* the state of an evaluation */
};

struct lstm_task {
    struct layer *l;
    const struct pass *p;
    const struct dense_kernels *k; /* of the hidden state's layer */
    float *y;
    const float *dy;
    int position;
};

static struct lstm_task lstm_task(struct layer *l, const struct pass *p)
{
    const struct kernels *k = p->kernels;

    return (struct lstm_task){.l = l, .p = p, .k = l->bf16 ? k->dense_bf16 : k->dense};
}

static size_t gate_floats(const struct lstm *m) { return 4 * m->units; }

/* Of sample i at the running position. */
static size_t lstm_place(const struct lstm_task *t, uint32_t i)
{
    return ((size_t)t->p->first + i) * (size_t)t->l->rows + (size_t)t->position;
}

/* The states that the samples begin with. */
static void lstm_begin(struct layer *l, const struct pass *p)
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
struct units {
    size_t from, to;
};

static struct units units_of(const struct lstm *m, int thread, int n_threads)
{
    const int blocks = (int)(m->units / 16);

    return (struct units){(size_t)share_begin(blocks, thread, n_threads) * 16,
                          (size_t)share_begin(blocks, thread + 1, n_threads) * 16};
}

/* Lies after the weights of the hidden state: its rows before a position, since others may still
 * read those of the one before; or those of the gates' gradient. */
static float *packed_states(const struct lstm_task *t, int position)
{
    const struct lstm *m = t->l->lstm;

    return t->l->packed + dense_bf16_weight_words(&m->dense[FROM_HIDDEN].dense) +
           (size_t)(position % 2) * dense_bf16_row_words((int)t->p->n, (int)m->units);
}
static float *packed_gates(const struct lstm_task *t) { return packed_states(t, 0); }

static void lstm_pack_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];
    const struct units u = units_of(m, thread, n_threads);
    const int chunks = dense_chunks(&rec->dense);

    t->k->pack(&rec->dense, t->l->packed, t->p->params + rec->weight->offset,
               share_begin(chunks, thread, n_threads), share_begin(chunks, thread + 1, n_threads));
    t->k->pack_rows(packed_states(t, 0), m->h[0], (int)t->p->n, (int)m->units, (int)u.from,
                    (int)u.to);
}

/* What the gates of some units get from the hidden state; where they are all, in one go. */
static void recurrent_share(const struct lstm_task *t, struct units u, float *scratch)
{
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];
    const float *x = t->k->pack_rows ? packed_states(t, t->position) : m->h[t->position % 2];
    const float *w = t->k->pack ? t->l->packed : t->p->params + rec->weight->offset;
    const int blocks = (int)m->units / 16;
    const int step = u.to - u.from == m->units ? 4 * blocks : blocks;

    for (int gate = 0; gate < 4 * blocks && u.from < u.to; gate += step) {
        const int ob0 = gate + (int)u.from / 16;
        const int ob1 = step > blocks ? step : gate + (int)u.to / 16;

        t->k->forward(&rec->dense, m->recurrent, x, w, NULL, false, (int)t->p->n, ob0, ob1,
                      scratch);
    }
}

static void lstm_forward_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct kernels *k = t->p->kernels;
    const struct units u = units_of(m, thread, n_threads);
    const size_t bytes = (u.to - u.from) * sizeof(float);
    const float *last = m->h[t->position % 2];
    float *next = m->h[1 - t->position % 2];

    recurrent_share(t, u, t->p->scratch[thread]);
    for (uint32_t i = 0; i < t->p->n; i++) {
        const size_t at = lstm_place(t, i) * m->units, state = i * m->units;
        const size_t out = (i * (size_t)t->l->rows + (size_t)t->position) * m->units;

        memcpy(m->hidden + at + u.from, last + state + u.from, bytes);
        memcpy(m->cell + at + u.from, m->c + state + u.from, bytes);
        k->lstm->forward(m->gates + 4 * at, m->recurrent + 4 * state, m->c + state,
                         m->tanh_cell + at, next + state, m->units, u.from, u.to);
        memcpy(t->y + out + u.from, next + state + u.from, bytes);
    }
    if (t->k->pack_rows)
        t->k->pack_rows(packed_states(t, t->position + 1), next, (int)t->p->n, (int)m->units,
                        (int)u.from, (int)u.to);
}

/* The dense layers' passes have the room that is ours, before or after what we do there. */
static void share_room(struct layer *l)
{
    for (int i = 0; i < 2; i++)
        l->lstm->dense[i].packed = l->packed;
}

static void lstm_forward(struct layer *l, const struct pass *p, float *y, const float *x)
{
    struct lstm *m = l->lstm;
    struct layer *input = &m->dense[FROM_INPUT];
    struct lstm_task t = lstm_task(l, p);

    t.y = y;
    lstm_begin(l, p);
    share_room(l);
    input->ops->forward(input, p, m->gates + (size_t)p->first * (size_t)l->rows * gate_floats(m),
                        x);
    if (t.k->pack && p->n)
        threads_run(p->threads, lstm_pack_share, &t);
    for (t.position = 0; p->n && t.position < l->rows; t.position++)
        threads_run(p->threads, lstm_forward_share, &t);
    /* For the gradient of the state, or for the next batch of an evaluation. */
    const size_t at = p->first * m->units, n = p->n * m->units;
    memcpy(m->evaluated[0] + at, m->h[l->rows % 2], n * sizeof(float));
    memcpy(m->evaluated[1] + at, m->c, n * sizeof(float));
}

static void cell_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct kernels *k = t->p->kernels;
    const struct units u = units_of(m, thread, n_threads);
    const size_t n = u.to - u.from;

    for (uint32_t i = 0; i < t->p->n; i++) {
        const size_t at = lstm_place(t, i) * m->units, state = i * m->units;
        const size_t out = (i * (size_t)t->l->rows + (size_t)t->position) * m->units;

        k->reduce->add(m->dh + state + u.from, t->dy + out + u.from, n);
        k->lstm->backward(m->gates + 4 * at, m->cell + at, m->tanh_cell + at, m->dh + state,
                          m->dc + state, m->units, u.from, u.to);
        for (size_t g = u.from; g < gate_floats(m); g += m->units)
            memcpy(m->gradient + 4 * state + g, m->gates + 4 * at + g, n * sizeof(float));
    }
    for (int gate = 0; gate < 4 && t->k->pack_rows; gate++)
        t->k->pack_rows(packed_gates(t), m->gradient, (int)t->p->n, (int)gate_floats(m),
                        gate * (int)m->units + (int)u.from, gate * (int)m->units + (int)u.to);
}

static void keep_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct layer *rec = &t->l->lstm->dense[FROM_HIDDEN];

    for (int c = thread; c < dense_chunks(&rec->dense); c += n_threads)
        t->k->keep_chunk(&rec->dense, c, t->l->packed, t->p->params + rec->weight->offset);
}

/* The gradient of the hidden state before the position, in chunks of its units. */
static void hidden_share(void *arg, int thread, int n_threads)
{
    const struct lstm_task *t = arg;
    const struct lstm *m = t->l->lstm;
    const struct layer *rec = &m->dense[FROM_HIDDEN];
    const float *dy = t->k->pack_rows ? packed_gates(t) : m->gradient;

    for (int c = thread; c < dense_chunks(&rec->dense); c += n_threads)
        t->k->backward_kept(&rec->dense, c, m->dh, dy, t->l->packed, (int)t->p->n,
                            t->p->scratch[thread]);
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
    struct lstm_task t = lstm_task(l, p);
    const size_t n = p->n * m->units, first = (size_t)p->first * (size_t)l->rows;
    float *gates = m->gates + first * gate_floats(m);
    (void)y;

    t.dy = dy;
    memset(m->dh, 0, n * sizeof(float));
    memset(m->dc, 0, n * sizeof(float));
    share_room(l);
    if (p->n)
        threads_run(p->threads, keep_share, &t);
    for (t.position = l->rows; p->n && t.position-- > 0;) {
        threads_run(p->threads, cell_share, &t);
        if (t.position > 0)
            threads_run(p->threads, hidden_share, &t);
        pass_poll(p);
    }
    give_states(l, p);
    struct layer *hidden = &m->dense[FROM_HIDDEN], *input = &m->dense[FROM_INPUT];
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
    free(m);
}

/* In floats for each sample: as in buffer_at(). */
static size_t buffer_floats(const struct layer *l, int i)
{
    const size_t units = l->lstm->units, rows = (size_t)l->rows;
    const size_t floats[] = {4 * units * rows, units * rows, units * rows, units * rows};

    return i < (int)ARRAY_LEN(floats) ? floats[i] : 4 * units;
}

/* Of what one of the hidden state's weights and rows makes, for n samples. */
static size_t lstm_packed_floats(const struct layer *l, int n)
{
    const struct dense *d = &l->lstm->dense[FROM_HIDDEN].dense;

    if (n == 0)
        return 0;
    return l->bf16 ? dense_bf16_weight_words(d) + dense_bf16_row_words(n, d->out)
                   : (size_t)d->in * (size_t)d->out;
}

static size_t lstm_larger(size_t a, size_t b) { return a > b ? a : b; }

static void lstm_init(struct layer *l, const struct net_layer *n, const struct layer_options *o)
{
    struct lstm *m = l->lstm = xcalloc(1, sizeof *m);
    const uint32_t samples = o->samples, batch = o->batch;
    struct layer_options plain = *o;
    struct net_layer gates = *n;

    l->bf16 = o->bf16;
    l->out = n->out;
    l->out_floats = map_floats(n->out);
    m->units = l->out_floats / (size_t)l->rows;
    plain.relu = false;
    gates.out.c = (int)gate_floats(m);
    for (int i = 0; i < 2; i++) {
        struct layer *d = &m->dense[i];

        d->rows = l->rows;
        d->in_floats = i == FROM_INPUT ? l->in_floats : l->out_floats;
        d->ops = &dense_ops;
        d->ops->init(d, &gates, &plain);
        l->scratch_floats = lstm_larger(l->scratch_floats, d->scratch_floats);
        l->packed_floats = lstm_larger(l->packed_floats, d->packed_floats);
    }
    l->packed_floats = lstm_larger(l->packed_floats, lstm_packed_floats(l, (int)samples));
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

/* PyTorch's, but for one bias instead of two, and [i, f, g, o] as there. */
static void lstm_add_params(struct layer *l, const struct net_layer *n, struct param_list *list)
{
    static const char *const weights[] = {"weight", "recurrent"}, *const states[] = {"hidden",
                                                                                     "cell"};
    struct lstm *m = l->lstm;
    struct param **state[] = {&l->hidden, &l->cell};
    struct param *bias;

    for (int i = 0; i < 2; i++) {
        const struct dense *d = &m->dense[i].dense;

        m->dense[i].weight =
            param_list_add_matrix(list, n, weights[i], (size_t)d->in * (size_t)d->out, 4 * n->out.c,
                                  i == FROM_INPUT ? n->in.c : n->out.c);
    }
    bias = param_list_add(list, n, "bias", PARAM_BIAS, 4 * m->units);
    bias->n_dims = 1;
    bias->dims[0] = 4 * n->out.c;
    bias->initializer = INIT_ZERO;
    bias->forget = n->spec.forget_bias;
    l->weight = m->dense[FROM_INPUT].weight;
    l->recurrent = m->dense[FROM_HIDDEN].weight;
    l->bias = m->dense[FROM_INPUT].bias = bias;
    for (int i = 0; i < 2; i++) {
        *state[i] = param_list_add(list, n, states[i], PARAM_STATE, list->batch * m->units);
        (*state[i])->n_dims = 2;
        (*state[i])->dims[0] = list->batch;
        (*state[i])->dims[1] = n->out.c;
        (*state[i])->initializer = INIT_ZERO;
    }
}

const struct layer_ops lstm_ops = {.kind = "lstm",
                                   .init = lstm_init,
                                   .add_params = lstm_add_params,
                                   .forward = lstm_forward,
                                   .backward = lstm_backward,
                                   .release = lstm_release};
