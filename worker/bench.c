/* paceline-worker bench: training steps in memory, each kernel alone, or the network as a list that
 * others can build it from; for bench/. */
#include "paceline/mem.h"
#include "worker/commands.h"
#include "worker/train/telemetry/events.h"

#define WARM_STEPS 3
#define REPEAT_SECONDS 0.3

static void send_rate(const char *kernel, double flops, double seconds)
{
    cJSON *e = event_new("kernel");
    cJSON_AddStringToObject(e, "kernel", kernel);
    cJSON_AddNumberToObject(e, "gflops", flops / seconds / 1e9);
    cJSON_AddNumberToObject(e, "seconds", seconds);
    event_send(e);
}

static void ignore_range(void *arg, size_t offset, size_t n, const float *g, enum param_kind kind)
{
    (void)arg, (void)offset, (void)n, (void)g, (void)kind;
}

struct layer_run {
    struct trainer *t;
    struct layer *l;
    const float *x;
    float *y, *dy, *dx;
};

static void run_forward(const struct layer_run *r)
{
    r->l->ops->forward(r->l, &r->t->pass, r->y, r->x);
}
static void run_data(const struct layer_run *r)
{
    bool frozen = r->l->weight->frozen;
    r->l->weight->frozen = true;
    r->l->ops->backward(r->l, &r->t->pass, r->dx, r->dy, r->x, r->y);
    r->l->weight->frozen = frozen;
}
/* Without dx. In a step with one a convolution's dy has been gated by its ReLU before, in place. */
static void run_weights(const struct layer_run *r)
{
    const bool relu = r->l->relu, gated = r->dx && r->l->conv.c && !r->l->pool;
    r->l->relu = relu && !gated;
    r->l->ops->backward(r->l, &r->t->pass, NULL, r->dy, r->x, r->y);
    r->l->relu = relu;
}

/* The fastest of many repetitions: what the kernel can do on a noisy host. */
static double fastest(void (*run)(const struct layer_run *), const struct layer_run *r)
{
    double best = 1e30, begin = trainer_seconds();
    while (trainer_seconds() - begin < REPEAT_SECONDS) {
        double start = trainer_seconds();
        run(r);
        double seconds = trainer_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static double layer_flops(const struct trainer *t, const struct layer *l)
{
    for (size_t i = 0; i < t->net.n_layers; i++) {
        if (t->net.layers[i].spec.name == l->name)
            return t->net.layers[i].flops_forward * t->pass.n;
    }
    return 0;
}

/* Room for the output of any layer, or for what it takes. */
static float *widest(const struct trainer *t)
{
    size_t floats = 0;
    for (int i = 0; i < t->model.n_layers; i++) {
        const struct layer *l = &t->model.layers[i];
        floats = l->in_floats > floats ? l->in_floats : floats;
        floats = l->out_floats > floats ? l->out_floats : floats;
    }
    return xaligned(floats * t->pass.n * sizeof(float));
}

/* Whether a layer before it is the same convolution. */
static bool is_again(const struct model *m, int i)
{
    const struct layer *l = &m->layers[i];
    bool again = false;

    for (int k = 0; k < i && l->conv.c; k++) {
        const struct layer *other = &m->layers[k];
        again |= memcmp(&l->conv, &other->conv, offsetof(struct conv, plain)) == 0 &&
                 l->relu == other->relu && l->pool == other->pool && !l->bias == !other->bias;
    }
    return again;
}

static void bench_layers(struct trainer *t, const float *input)
{
    struct model *m = &t->model;
    struct gradient_sink sink = {.apply = ignore_range, .n_blocks = 1};
    AUTO(auto_free) float *dy = widest(t);
    AUTO(auto_free) float *dx = widest(t);
    t->pass.sink = &sink;
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layers[i];
        struct layer_run r = {t,
                              l,
                              model_output(m, l->inputs[0], &t->pass, input),
                              m->activations[i],
                              dy,
                              i > m->lowest_trained ? dx : NULL};
        char name[120];
        if (!l->weight || is_again(m, i))
            continue;
        for (size_t k = 0; k < l->out_floats * t->pass.n; k++)
            r.dy[k] = (float)(k % 7) - 3.0f;
        snprintf(name, sizeof name, "%s forward", l->name);
        send_rate(name, layer_flops(t, l), fastest(run_forward, &r));
        if (r.dx) {
            snprintf(name, sizeof name, "%s data gradient", l->name);
            send_rate(name, layer_flops(t, l), fastest(run_data, &r));
        }
        snprintf(name, sizeof name, "%s weight gradient", l->name);
        send_rate(name, layer_flops(t, l), fastest(run_weights, &r));
    }
    t->pass.sink = &t->sink;
}

static void add_pair(cJSON *e, const char *name, int first, int second)
{
    cJSON_AddItemToObject(e, name, cJSON_CreateIntArray((const int[]){first, second}, 2));
}

static void add_shape(cJSON *e, const char *name, struct shape s)
{
    cJSON_AddItemToObject(e, name, cJSON_CreateIntArray((const int[]){s.c, s.h, s.w}, 3));
}

/* All that is needed to build the layer elsewhere, and to say what it costs. */
static void send_layer(const struct net *net, const struct net_layer *n)
{
    cJSON *e = event_new("layer"), *inputs = cJSON_AddArrayToObject(e, "inputs");

    for (int i = 0; i < n->n_inputs; i++) {
        const char *from = n->inputs[i] < 0 ? NET_INPUT : net->layers[n->inputs[i]].spec.name;

        cJSON_AddItemToArray(inputs, cJSON_CreateString(from));
    }
    cJSON_AddStringToObject(e, "name", n->spec.name);
    cJSON_AddStringToObject(e, "type", layer_type_names[n->spec.type]);
    cJSON_AddBoolToObject(e, "rows", n->rows);
    add_shape(e, "in", n->in);
    add_shape(e, "out", n->out);
    add_pair(e, "kernel", n->spec.kernel[0], n->spec.kernel[1]);
    add_pair(e, "stride", n->spec.stride[0], n->spec.stride[1]);
    add_pair(e, "padding", n->pad_top, n->pad_left); /* before; after: what is left to need */
    cJSON_AddBoolToObject(e, "bias", n->spec.bias);
    cJSON_AddNumberToObject(e, "rate", n->spec.rate);
    cJSON_AddNumberToObject(e, "epsilon", n->spec.epsilon);
    cJSON_AddNumberToObject(e, "size", n->spec.size);
    cJSON_AddNumberToObject(e, "alpha", n->spec.alpha);
    cJSON_AddNumberToObject(e, "beta", n->spec.beta);
    cJSON_AddNumberToObject(e, "k", n->spec.k);
    cJSON_AddNumberToObject(e, "lossWeight", n->spec.loss_weight);
    cJSON_AddNumberToObject(e, "momentum", n->spec.momentum);
    cJSON_AddNumberToObject(e, "range", n->spec.range);
    cJSON_AddNumberToObject(e, "vocabulary", n->spec.vocabulary);
    cJSON_AddNumberToObject(e, "parameters", (double)(n->weights + n->biases));
    cJSON_AddNumberToObject(e, "flopsForward", n->flops_forward);
    event_send(e);
}

int worker_bench(struct trainer *t, const struct worker_options *o, struct err *err)
{
    long steps = o->steps > 0 ? o->steps : 50;

    for (size_t i = 0; o->describe && i < t->net.n_layers; i++)
        send_layer(&t->net, &t->net.layers[i]);
    if (o->describe)
        return 0;
    for (int i = 0; i < WARM_STEPS; i++) {
        if (trainer_step(t, err) != 0)
            return -1;
    }
    if (o->layers) {
        AUTO(auto_free)
        float *input = xaligned(t->model.layers[0].in_floats * (t->pass.n + 1) * sizeof *input);
        bench_layers(t, input);
        return 0;
    }
    struct phases *ph = &t->phases;
    memset(ph->seconds, 0, sizeof ph->seconds);
    double start = trainer_seconds();
    for (long i = 0; i < steps; i++) {
        if (trainer_step(t, err) != 0)
            return -1;
    }
    double seconds = trainer_seconds() - start;
    if (comm_rank(t->comm) != 0)
        return 0;
    cJSON *e = event_new("bench");
    cJSON_AddNumberToObject(e, "samplesPerSecond",
                            (double)(steps * t->job->training.batch_size) / seconds);
    cJSON_AddNumberToObject(e, "stepMs", seconds / (double)steps * 1e3);
    cJSON_AddStringToObject(e, "isa", t->kernels->isa);
    cJSON_AddStringToObject(e, "precision", precision_name(t->job->training.precision));
    for (int i = 0; i < N_PHASES; i++)
        cJSON_AddNumberToObject(e, phase_names[i], ph->seconds[i]);
    event_send(e);
    return 0;
}
