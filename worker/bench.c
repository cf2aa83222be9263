/* paceline-worker bench: training steps in memory, and each kernel alone; for bench/. */
#include "paceline/mem.h"
#include "worker/commands.h"
#include "worker/train/events.h"

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
static void run_weights(const struct layer_run *r)
{
    r->l->ops->backward(r->l, &r->t->pass, NULL, r->dy, r->x, r->y);
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

static void bench_layers(struct trainer *t, const float *input)
{
    struct model *m = &t->model;
    struct gradient_sink sink = {.apply = ignore_range, .n_blocks = 1};
    t->pass.sink = &sink;
    for (int i = 0; i < m->n_layers; i++) {
        struct layer *l = &m->layers[i];
        struct layer_run r = {t,
                              l,
                              model_output(m, l->inputs[0], &t->pass, input),
                              m->activations[i],
                              m->gradients[0],
                              m->gradients[1]};
        char name[120];
        if (!l->weight)
            continue;
        for (size_t k = 0; k < l->out_floats * t->pass.n; k++)
            r.dy[k] = (float)(k % 7) - 3.0f;
        snprintf(name, sizeof name, "%s forward", l->name);
        send_rate(name, layer_flops(t, l), fastest(run_forward, &r));
        if (i > m->lowest_trained) {
            snprintf(name, sizeof name, "%s data gradient", l->name);
            send_rate(name, layer_flops(t, l), fastest(run_data, &r));
        }
        snprintf(name, sizeof name, "%s weight gradient", l->name);
        send_rate(name, layer_flops(t, l), fastest(run_weights, &r));
    }
    t->pass.sink = &t->sink;
}

int worker_bench(struct trainer *t, const struct worker_options *o, struct err *err)
{
    long steps = o->steps > 0 ? o->steps : 50;

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
    for (int i = 0; i < N_PHASES; i++)
        cJSON_AddNumberToObject(e, phase_names[i], ph->seconds[i]);
    event_send(e);
    return 0;
}
