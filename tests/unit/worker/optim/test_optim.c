// LINK: worker/optim/optimizer.c worker/kernels common
/* Optimisers against PyTorch and Keras (tests/vectors/make_optim.py), and their state. */
#include "tests/unit/floats.h"
#include "worker/optim/optim.h"

enum { WEIGHTS = 6, STEPS = 12 };

struct vectors {
    double weights[WEIGHTS], rates[STEPS], gradients[STEPS][WEIGHTS];
};

struct form {
    const char *name;
    struct job_optimizer config;
    double l2;
};

#define ADAM .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-4
#define RMS .type = OPT_RMSPROP, .rho = 0.8, .epsilon = 1e-4

static const struct form torch_forms[] = {
    {"sgd", {.type = OPT_SGD}, 0},
    {"momentum", {.type = OPT_SGD, .momentum = 0.9}, 0.1},
    {"dampening", {.type = OPT_SGD, .momentum = 0.9, .dampening = 0.3}, 0},
    {"nesterov", {.type = OPT_SGD, .momentum = 0.9, .nesterov = true}, 0},
    {"adam", {.type = OPT_ADAM, ADAM}, 0.1},
    {"adamw", {.type = OPT_ADAMW, ADAM, .weight_decay = 0.2}, 0},
    {"adagrad", {.type = OPT_ADAGRAD, .epsilon = 1e-4, .initial_accumulator = 0.1}, 0},
    {"adadelta", {.type = OPT_ADADELTA, .rho = 0.8, .epsilon = 1e-4}, 0},
    {"rmsprop", {RMS}, 0},
    {"rmsprop-momentum", {RMS, .momentum = 0.9}, 0},
    {"rmsprop-centered", {RMS, .momentum = 0.9, .centered = true}, 0},
    {0},
};

#define KERAS_RMS RMS, .epsilon_inside = true, .rate_in_velocity = true

static const struct form keras_forms[] = {
    {"sgd", {.type = OPT_SGD, .rate_in_velocity = true}, 0},
    {"momentum", {.type = OPT_SGD, .momentum = 0.9, .rate_in_velocity = true}, 0},
    {"nesterov", {.type = OPT_SGD, .momentum = 0.9, .nesterov = true, .rate_in_velocity = true}, 0},
    {"adam", {.type = OPT_ADAM, ADAM, .epsilon_hat = true}, 0},
    {"adamw", {.type = OPT_ADAMW, ADAM, .epsilon_hat = true, .weight_decay = 0.2}, 0},
    {"adagrad",
     {.type = OPT_ADAGRAD, .epsilon = 1e-4, .epsilon_inside = true, .initial_accumulator = 0.1},
     0},
    {"adadelta", {.type = OPT_ADADELTA, .rho = 0.8, .epsilon = 1e-4}, 0},
    {"rmsprop", {KERAS_RMS}, 0},
    {"rmsprop-momentum", {KERAS_RMS, .momentum = 0.9}, 0},
    {"rmsprop-centered", {KERAS_RMS, .momentum = 0.9, .centered = true}, 0},
    {0},
};

static void read_numbers(const char *line, double *out, int n)
{
    char *at = strchr(line, ' ');

    for (int i = 0; at && i < n; i++)
        out[i] = strtod(at, &at);
}

static void start(struct optimizer *o, const struct kernels *k, const struct form *f, size_t n)
{
    struct job job = {.training = {.optimizer = f->config, .l2 = f->l2}};

    optimizer_init(o, k, &job, n, NULL, 0);
}

/* Twelve steps of one form; weights stay within four ulp of the peer's double precision. */
static void check_form(const struct kernels *k, const struct form *f, const struct vectors *v,
                       const char *line)
{
    struct optimizer o;
    float w[WEIGHTS], g[WEIGHTS];
    double want[WEIGHTS] = {0};

    read_numbers(line, want, WEIGHTS);
    start(&o, k, f, WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = (float)v->weights[i];
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < WEIGHTS; i++)
            g[i] = (float)v->gradients[t][i];
        optimizer_begin_step(&o, t + 1, v->rates[t], 1);
        optimizer_update(&o, w, g, 0, WEIGHTS, 1);
    }
    for (int i = 0; i < WEIGHTS; i++) {
        test_checked++;
        if (!(fabs((double)w[i] - want[i]) <= 4 * 0x1p-24 * fmax(fabs(want[i]), 0.5)))
            TEST_FAIL("%s %s: weight %d is %.9g, want %.9g", k->isa, f->name, i, (double)w[i],
                      want[i]);
    }
    optimizer_release(&o);
}

static int check_file(const struct kernels *k, const char *path, const struct form *forms)
{
    FILE *f = fopen(path, "r");
    struct vectors v = {0};
    char line[512], name[32];
    int step = 0, seen = 0;

    CHECK(f != NULL);
    while (f && fgets(line, sizeof line, f) && sscanf(line, "%31s", name) == 1) {
        if (!strcmp(name, "weights"))
            read_numbers(line, v.weights, WEIGHTS);
        if (!strcmp(name, "rates"))
            read_numbers(line, v.rates, STEPS);
        if (!strcmp(name, "gradient") && step < STEPS)
            read_numbers(line, v.gradients[step++], WEIGHTS);
        for (const struct form *form = forms; form->name; form++)
            if (!strcmp(form->name, name)) {
                check_form(k, form, &v, line);
                seen++;
            }
    }
    if (f)
        fclose(f);
    CHECK_INT(step, STEPS);
    return seen;
}

static void check_peers(const struct kernels *k, const struct kernels *plain)
{
    (void)plain;
    CHECK_INT(check_file(k, "tests/vectors/optim-torch.txt", torch_forms), 11);
    CHECK_INT(check_file(k, "tests/vectors/optim-keras.txt", keras_forms), 10);
}

/* epsilon inside the root of the corrected moment, as no peer has it: the equation in double. */
static void check_epsilon_inside(const struct kernels *k, const struct kernels *plain)
{
    static const struct form form = {"adam", {.type = OPT_ADAM, ADAM, .epsilon_inside = true}, 0};
    struct optimizer o;
    double m = 0, v = 0, want = 0.5;
    float w = 0.5f;

    (void)plain;
    start(&o, k, &form, 1);
    for (int t = 1; t <= 5; t++) {
        float g = 0.003f * (float)t;

        optimizer_begin_step(&o, t, 0.01, 1);
        optimizer_update(&o, &w, &g, 0, 1, 1);
        m = 0.8 * m + 0.2 * (double)g;
        v = 0.95 * v + 0.05 * (double)g * (double)g;
        want -= 0.01 * m / (1 - pow(0.8, t)) / sqrt(v / (1 - pow(0.95, t)) + 1e-4);
    }
    CHECK_NEAR(w, want, 2e-7);
    optimizer_release(&o);
}

/* Every form: the bytes do not depend on how the slab is cut into ranges. */
static void check_ranges(const struct kernels *k, const struct kernels *plain)
{
    enum { N = 1000 };
    static float w[2][N], g[N];

    for (const struct form *f = torch_forms; f->name; f++) {
        struct optimizer whole, cut;

        fill_uniform(w[0], N, -1, 1);
        fill_uniform(g, N, -1, 1);
        memcpy(w[1], w[0], sizeof w[0]);
        start(&whole, plain, f, N);
        start(&cut, k, f, N);
        for (int t = 1; t <= 3; t++) {
            optimizer_begin_step(&whole, t, 0.01, 0.5);
            optimizer_begin_step(&cut, t, 0.01, 0.5);
            optimizer_update(&whole, w[0], g, 0, N, 1);
            for (size_t at = 0, n; at < N; at += n) {
                n = (size_t)(noise() % 70);
                n = n < N - at ? n : N - at;
                optimizer_update(&cut, w[1] + at, g + at, at, n, 1);
            }
        }
        CHECK_BYTES(w[1], w[0], sizeof w[0]);
        for (int i = 0; i < whole.n_slots; i++)
            CHECK_BYTES(cut.slots[i], whole.slots[i], N * sizeof(float));
        optimizer_release(&whole);
        optimizer_release(&cut);
    }
}

static struct shard dealt[] = {{0, 400, 0}, {400, 350, 1}, {750, 250, 0}};
static const struct placement owners = {.shards = dealt, .n = 3, .first = 5, .servers = 2};

/* Every form: owners of shards make the update of one that has all, and have its state; a second
 * one that loads it has it too. */
static void check_owners(const struct kernels *k, const struct kernels *plain)
{
    enum { N = 1000 };
    static float w[2][N], g[N];

    (void)plain;
    for (const struct form *f = torch_forms; f->name; f++) {
        struct job job = {.training = {.optimizer = f->config, .l2 = f->l2}};
        struct optimizer whole, own[2], loaded;

        fill_uniform(w[0], N, -1, 1);
        fill_uniform(g, N, -1, 1);
        memcpy(w[1], w[0], sizeof w[0]);
        start(&whole, k, f, N);
        optimizer_init(&loaded, k, &job, N, &owners, 5);
        for (int s = 0; s < 2; s++)
            optimizer_init(&own[s], k, &job, N, &owners, 5 + s);
        CHECK_INT(own[0].n_floats, 650);
        CHECK_INT(own[1].n_floats, 350);
        for (int t = 1; t <= 3; t++) {
            optimizer_begin_step(&whole, t, 0.01, 1);
            optimizer_update(&whole, w[0], g, 0, N, 1);
            for (int i = 0; i < owners.n; i++) {
                struct optimizer *o = &own[dealt[i].server];
                size_t at = dealt[i].offset;

                optimizer_begin_step(o, t, 0.01, 1);
                optimizer_update(o, w[1] + at, g + at, at, dealt[i].n, 1);
            }
        }
        CHECK_BYTES(w[1], w[0], sizeof w[0]);
        for (int slot = 0; slot < whole.n_slots; slot++) {
            for (int i = 0; i < owners.n; i++)
                CHECK_BYTES(optimizer_state(&own[dealt[i].server], slot, dealt[i].offset),
                            whole.slots[slot] + dealt[i].offset, dealt[i].n * sizeof(float));
            optimizer_load(&loaded, slot, whole.slots[slot], 0, 300);
            optimizer_load(&loaded, slot, whole.slots[slot], 300, N - 300);
            CHECK_BYTES(loaded.slots[slot], own[0].slots[slot], 650 * sizeof(float));
        }
        optimizer_release(&whole);
        optimizer_release(&loaded);
        optimizer_release(&own[0]);
        optimizer_release(&own[1]);
    }
}

static void check_state(void)
{
    static const struct {
        struct form form;
        int n;
        const char *last;
    } cases[] = {
        {{"", {.type = OPT_SGD}, 0}, 0, NULL},
        {{"", {.type = OPT_SGD, .momentum = 0.9}, 0}, 1, "momentum_buffer"},
        {{"", {.type = OPT_ADAM}, 0}, 2, "exp_avg_sq"},
        {{"", {.type = OPT_ADAMW}, 0}, 2, "exp_avg_sq"},
        {{"", {.type = OPT_ADAGRAD, .initial_accumulator = 0.25}, 0}, 1, "sum"},
        {{"", {.type = OPT_ADADELTA}, 0}, 2, "acc_delta"},
        {{"", {.type = OPT_RMSPROP}, 0}, 1, "square_avg"},
        {{"", {.type = OPT_RMSPROP, .momentum = 0.9}, 0}, 2, "momentum_buffer"},
        {{"", {.type = OPT_RMSPROP, .centered = true}, 0}, 3, "grad_avg"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float start_value = (float)cases[i].form.config.initial_accumulator;
        struct optimizer o;

        start(&o, kernels_find("c"), &cases[i].form, 33);
        CHECK_INT(o.n_slots, cases[i].n);
        for (int s = 0; s < o.n_slots; s++)
            CHECK(o.slots[s][0] == start_value && o.slots[s][32] == start_value);
        if (cases[i].last)
            CHECK_STR(o.slot_names[o.n_slots - 1], cases[i].last);
        optimizer_release(&o);
    }
}

/* Biases take neither l2 nor weightDecay; clipping scales the data gradient only. */
static void check_decay_and_clipping(void)
{
    static const struct form sgd = {"sgd", {.type = OPT_SGD}, 0.5};
    static const struct form adamw = {"adamw", {.type = OPT_ADAMW, ADAM, .weight_decay = 0.5}, 0};
    const struct kernels *k = kernels_find("c");
    struct optimizer o;
    float g = 1, w = 2, bias = 2, still = 0;

    start(&o, k, &sgd, 1);
    optimizer_begin_step(&o, 1, 0.25, 0.5);
    optimizer_update(&o, &w, &g, 0, 1, 1);
    optimizer_update(&o, &bias, &g, 0, 1, 0);
    CHECK_NEAR(w, 2 - 0.25 * (0.5 + 0.5 * 2), 0);
    CHECK_NEAR(bias, 2 - 0.25 * 0.5, 0);
    optimizer_release(&o);

    start(&o, k, &adamw, 1);
    optimizer_begin_step(&o, 1, 0.25, 1);
    bias = 2;
    optimizer_update(&o, &bias, &still, 0, 1, 0);
    CHECK_NEAR(bias, 2, 0);
    optimizer_update(&o, &bias, &still, 0, 1, 1);
    CHECK_NEAR(bias, 2 * (1 - 0.25 * 0.5), 0);
    optimizer_release(&o);

    CHECK_NEAR(clip_scale(16, 2), 0.5, 0);
    CHECK_NEAR(clip_scale(4, 2), 1, 0);
    CHECK_NEAR(clip_scale(1e30, 0), 1, 0);
    CHECK_NEAR(clip_scale((double)NAN, 2), 1, 0);
    CHECK_NEAR(clip_scale((double)INFINITY, 2), 0, 0);
}

int main(void)
{
    each_isa(check_peers);
    each_isa(check_epsilon_inside);
    each_isa(check_ranges);
    each_isa(check_owners);
    check_state();
    check_decay_and_clipping();
    return test_result();
}
