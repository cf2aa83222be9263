// LINK: common
/* Networks as data: shapes, parameter counts, FLOPs, and chains that do not fit. */
#include "paceline/networks.h"

#include "paceline/mem.h"
#include "tests/test.h"

static const struct shape image = {1, 28, 28};

/* With shape.c 0 and classes 0: as it was designed. */
static void build_for(struct net *net, const char *name, struct shape in, int classes)
{
    AUTO(layer_list_release) struct layer_list l = {0};
    const struct net_def *def = net_def_find(name);
    struct err err = {0};

    CHECK(def != NULL);
    net_def_layers(&l, def, classes);
    CHECK_INT(net_build(net, l.items, l.n, in.c ? in : def->in, &err), 0);
    CHECK_STR(err.msg, "");
}

static void build_def(struct net *net, const char *name)
{
    build_for(net, name, (struct shape){0}, 0);
}

static void test_built_in(void)
{
    AUTO(net_release) struct net fashion, mnist, mlp;
    double nominal = 0;

    build_def(&fashion, "fashion-cnn");
    build_def(&mnist, "mnist-cnn");
    build_def(&mlp, "mlp");
    CHECK_INT(fashion.params, 3274634);
    CHECK_INT(mnist.params, 1199882);
    CHECK_INT(mlp.params, 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
    CHECK_INT(fashion.out.c, 10);
    CHECK_STR(fashion.layers[3].spec.name, "conv2");
    CHECK_STR(fashion.layers[10].spec.name, "dense2");

    /* 82.0 MFLOP when padded taps are counted, 72.0 when only taps inside the image are. */
    for (size_t i = 0; i < fashion.n_layers; i++) {
        const struct net_layer *l = &fashion.layers[i];

        nominal += 2.0 * (double)l->weights * l->out.h * l->out.w * (i == 0 ? 2 : 3);
    }
    CHECK_NEAR(nominal, 82.0e6, 0.05e6);
    CHECK_INT(fashion.flops_train, 71959040);
    CHECK(net_def_find("mlp2") == NULL);
}

/* Trained parameters as others count them. */
static void test_families(void)
{
    static const struct {
        const char *name;
        struct shape in;
        int classes;
        size_t params;
    } cases[] = {
        /* by hand, from the paper's table: "0.27M", "0.85M"; 0.758M of study 002 */
        {"resnet20", {3, 32, 32}, 10, 272282},
        {"resnet50", {3, 32, 32}, 10, 758362},
        {"resnet56", {3, 32, 32}, 10, 855578},
        {"resnet56v2", {3, 32, 32}, 10, 1663338}, /* Keras's cifar10_resnet */
        {"densenet40", {3, 32, 32}, 10, 176122},  /* by hand; "0.176 M" in the notes on study 002 */
        {"densenet40", {1, 28, 28}, 10, 175690},
        {"resnet34", {3, 224, 224}, 1000, 21797672}, /* torchvision */
        /* less the three shortcuts with their norms */
        {"resnet34-zerofill", {3, 224, 224}, 1000, 21797672 - 172032 - 1792},
        /* by hand; TensorFlow's tutorial on them says 4.65, 19.8 and 66.0 million */
        {"ptb-small", {1, 1, 20}, 10000, 4651600},
        {"ptb-medium", {1, 1, 35}, 10000, 19775200},
        {"ptb-large", {1, 1, 35}, 10000, 66022000},
        {"squeezenet", {3, 224, 224}, 1000, 1248424}, /* torchvision, as the next ones */
        {"vgg16e", {3, 224, 224}, 1000, 143667240},
        {"squeezenet", {3, 224, 224}, 256, 866752}, /* "0.867 M" of study 003 */
        /* by hand, from the tables; without its side classifiers "6.24 M" of study 003 */
        {"googlenet", {3, 224, 224}, 256, 6235952 + 2 * 2426240 + 2048},
        {"multimodal", {12, 16, 16}, 8, 2808584},  /* by hand */
        {"vgg16e", {3, 128, 128}, 256, 71413056},  /* "71.4 M" */
        {"vgg16e", {3, 224, 224}, 256, 140619072}, /* "140.6 M" */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(net_release) struct net net;

        build_for(&net, cases[i].name, cases[i].in, cases[i].classes);
        CHECK_INT(net.params, cases[i].params);
        CHECK_INT(net.out.c, cases[i].classes);
        CHECK_INT(net.out.h * net.out.w, net.rows ? net.in.w : 1);
    }
    for (size_t i = 0; i < n_net_defs; i++) { /* the samples of every built-in data set */
        AUTO(net_release) struct net small, large;

        if (net_defs[i].in.h == 1 || net_defs[i].in.c > 3 ||
            strcmp(net_defs[i].name, "googlenet") == 0)
            continue; /* of words; of several instruments; of large images */
        build_for(&small, net_defs[i].name, image, 7);
        build_for(&large, net_defs[i].name, (struct shape){3, 64, 48}, 300);
        CHECK_INT(small.out.c, 7);
        CHECK_INT(large.out.c, 300);
        CHECK(net_def_find(net_defs[i].name) == &net_defs[i]);
    }
}

/* Its side classifiers: what they take, what takes past them, how large samples have to be. */
static void test_googlenet(void)
{
    AUTO(layer_list_release) struct layer_list l = {0};
    AUTO(net_release) struct net net, large;
    struct err err = {0};
    int sides = 0;

    build_def(&net, "googlenet");
    CHECK_INT(net.n_sides, 2);
    for (size_t i = 0; i < net.n_layers; i++) {
        const struct net_layer *side = &net.layers[i], *pool = &side[-7], *next = &side[1];

        if (side->spec.loss_weight == 0)
            continue;
        CHECK_NEAR(side->spec.loss_weight, 0.3, 0);
        CHECK_INT(pool->spec.type, LAYER_AVGPOOL);
        CHECK_INT(pool->in.c, sides ? 528 : 512); /* tables 2.2 and 2.3 of study 003: 4a, 4d */
        CHECK_INT(pool->in.h, 14);
        CHECK_STR(net.layers[pool->inputs[0]].spec.name, sides ? "concat6" : "concat3");
        CHECK_INT(pool->out.h * pool->out.w, 16);
        CHECK_INT(side[-2].spec.type, LAYER_RELU);
        CHECK_INT(side[-2].in.c, 1024);
        CHECK_NEAR(side[-1].spec.rate, 0.7, 0);
        CHECK_INT(next->inputs[0], pool->inputs[0]);
        CHECK_INT(net.layers[pool->inputs[0]].n_users, 5); /* four branches and the pool */
        sides++;
    }
    CHECK_INT(sides, net.n_sides);
    build_for(&large, "googlenet", (struct shape){1, 65, 80}, 7);
    CHECK_INT(large.out.c, 7);
    net_def_layers(&l, net_def_find("googlenet"), 7);
    struct net small;
    CHECK_INT(net_build(&small, l.items, l.n, (struct shape){3, 64, 80}, &err), -1);
    CHECK_CONTAINS(err.msg, "layer avgpool1: its 5x5 kernel does not fit into the 4x5 image");
}

/* The shortcuts: which layers are summed, and what the first of a smaller stage takes. */
static void test_branches(void)
{
    AUTO(net_release) struct net v1, v2;
    const struct net_layer *l;

    build_def(&v1, "resnet20");
    build_def(&v2, "resnet56v2");
    CHECK_STR(net_branch(&v1)->spec.name, "relu1");
    l = &v1.layers[9]; /* 3 of the stem, then conv, norm, ReLU, conv, norm, add, ReLU */
    CHECK_STR(l->spec.name, "relu3");
    l = &v1.layers[8];
    CHECK_STR(l->spec.name, "add1");
    CHECK_INT(l->inputs[0], 2);
    CHECK_INT(l->inputs[1], 7);
    l = &v1.layers[29]; /* the projection of the second stage, from the last ReLU of the first */
    CHECK_INT(l->spec.type, LAYER_CONV);
    CHECK_INT(l->spec.kernel[0], 1);
    CHECK_INT(l->spec.stride[0], 2);
    CHECK_STR(v1.layers[l->inputs[0]].spec.name, "relu7");
    CHECK_INT(v1.layers[30].inputs[0], 29);
    CHECK_INT(v1.layers[v1.n_layers - 3].out.h, 8);
    CHECK_INT(v2.layers[v2.n_layers - 3].out.c, 256);
    CHECK_INT(v2.layers[v2.n_layers - 3].out.h, 8);
}

/* Taps inside the image, counted one by one. */
static double taps(int size, int out, int kernel, int stride, int pad)
{
    int n = 0;

    for (int o = 0; o < out; o++)
        for (int k = 0; k < kernel; k++) {
            int at = o * stride - pad + k;

            n += at >= 0 && at < size;
        }
    return n;
}

static void test_windows(void)
{
    static const struct {
        int size, kernel, stride;
        enum padding padding;
        int out, pad;
    } cases[] = {
        {28, 5, 1, PAD_SAME, 28, 2}, {28, 5, 1, PAD_VALID, 24, 0}, {28, 2, 2, PAD_VALID, 14, 0},
        {7, 2, 2, PAD_VALID, 3, 0},  {7, 2, 2, PAD_SAME, 4, 0},    {8, 3, 2, PAD_SAME, 4, 0},
        {7, 3, 2, PAD_SAME, 4, 1},   {5, 1, 3, PAD_SAME, 2, 0},    {3, 7, 1, PAD_SAME, 3, 3},
        {3, 4, 1, PAD_SAME, 3, 1},   {1, 9, 5, PAD_SAME, 1, 4},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct layer_spec conv = {.type = LAYER_CONV,
                                  .units = 3,
                                  .kernel = {cases[i].kernel, 1},
                                  .stride = {cases[i].stride, 1},
                                  .padding = cases[i].padding};
        struct shape in = {2, cases[i].size, 4};
        AUTO(net_release) struct net net;
        struct err err = {0};

        CHECK_INT(net_build(&net, &conv, 1, in, &err), 0);
        CHECK_INT(net.out.h, cases[i].out);
        CHECK_INT(net.out.w, 4);
        CHECK_INT(net.layers[0].pad_top, cases[i].pad);
        CHECK_INT(net.params, 3 * 2 * cases[i].kernel);
        CHECK_NEAR(
            net.layers[0].flops_forward,
            2 * 3 * 2 * 4 *
                taps(cases[i].size, cases[i].out, cases[i].kernel, cases[i].stride, cases[i].pad),
            0);
    }
}

static double flops_of(int size, int kernel, int stride, enum padding padding, struct shape *out,
                       int *pad)
{
    struct layer_spec conv = {.type = LAYER_CONV,
                              .units = 1,
                              .kernel = {kernel, 1},
                              .stride = {stride, 1},
                              .padding = padding};
    AUTO(net_release) struct net net;
    struct err err = {0};

    CHECK_INT(net_build(&net, &conv, 1, (struct shape){1, size, 1}, &err), 0);
    *out = net.out;
    *pad = net.layers[0].pad_top;
    return net.layers[0].flops_forward;
}

/* Positions of windows inside the image: every small case by counting, and the largest, which
 * nobody may count one by one. */
static void test_taps(void)
{
    struct shape out;
    double flops;
    int pad;

    for (int size = 1; size <= 12; size++)
        for (int kernel = 1; kernel <= 14; kernel++)
            for (int stride = 1; stride <= 14; stride++)
                for (int same = kernel > size; same <= 1; same++) {
                    flops = flops_of(size, kernel, stride, same ? PAD_SAME : PAD_VALID, &out, &pad);
                    CHECK_NEAR(flops, 2 * taps(size, out.h, kernel, stride, pad), 0);
                }
    flops = flops_of(1 << 20, 4095, 1, PAD_SAME, &out, &pad);
    CHECK_INT(out.h, 1 << 20);
    CHECK_NEAR(flops, 2 * (4095.0 * (1 << 20) - 2047.0 * 2048.0), 0);
}

static void test_training_flops(void)
{
    struct layer_spec chain[] = {{.type = LAYER_FLATTEN},
                                 {.type = LAYER_DENSE, .units = 10},
                                 {.type = LAYER_DENSE, .units = 10, .bias = true},
                                 {.type = LAYER_DENSE, .units = 10}};
    const double first = 2 * 784 * 10, next = 2 * 10 * 10;
    struct err err = {0};

    for (int frozen = 0; frozen <= 1; frozen++) {
        AUTO(net_release) struct net net;

        chain[1].frozen = frozen;
        CHECK_INT(net_build(&net, chain, ARRAY_LEN(chain), image, &err), 0);
        /* Frozen: neither its own gradient nor the data gradient of the layer above it. */
        CHECK_NEAR(net.flops_train, frozen ? first + 5 * next : 2 * first + 6 * next, 0);
        CHECK_INT(net.params, 784 * 10 + 100 + 10 + 100);
    }
}

static void test_strides_default(void)
{
    struct layer_spec chain[] = {{.type = LAYER_CONV, .units = 1, .kernel = {3, 3}},
                                 {.type = LAYER_AVGPOOL, .kernel = {3, 2}}};
    AUTO(net_release) struct net net;
    struct err err = {0};

    CHECK_INT(net_build(&net, chain, 2, image, &err), 0);
    CHECK_INT(net.layers[0].spec.stride[0], 1);
    CHECK_INT(net.out.h, 8);
    CHECK_INT(net.out.w, 13);
}

/* Each has the next values of the samples, whatever their shape. */
static void test_inputs(void)
{
    static char *both[] = {(char *)"a", (char *)"b"};
    struct layer_spec layers[] = {
        {.type = LAYER_INPUT, .name = (char *)"a", .shape = {4}, .n_shape = 1},
        {.type = LAYER_INPUT, .name = (char *)"b", .shape = {2, 1, 1}, .n_shape = 3},
        {.type = LAYER_CONCAT, .inputs = both, .n_inputs = 2},
    };
    AUTO(net_release) struct net net;
    struct err err = {0};

    CHECK_INT(net_build(&net, layers, ARRAY_LEN(layers), (struct shape){1, 2, 3}, &err), 0);
    CHECK_INT(net.layers[0].inputs[0], -1);
    CHECK_INT(net.layers[1].inputs[0], -1);
    CHECK_INT(net.layers[0].spec.first, 0);
    CHECK_INT(net.layers[1].spec.first, 4);
    CHECK_INT(net.layers[1].out.c, 2);
    CHECK_INT(net.out.c, 6);
}

static void test_refused(void)
{
    static char *samples[] = {(char *)NET_INPUT}, *relu[] = {(char *)"relu1"};
    static const struct {
        struct layer_spec layers[2];
        struct shape in;
        const char *message;
    } cases[] = {
        {{{.type = LAYER_DENSE, .units = 3}},
         {1, 28, 28},
         "layer dense1: a dense layer gets a 1x28x28 image"},
        {{{.type = LAYER_CONV, .units = 3, .kernel = {29, 1}}},
         {1, 28, 28},
         "29x1 kernel does not fit"},
        {{{.type = LAYER_CONV, .units = 3, .kernel = {0, 1}}}, {1, 28, 28}, "found kernel 0x1"},
        {{{.type = LAYER_MAXPOOL, .kernel = {2, 2}, .stride = {-1, 2}}},
         {1, 28, 28},
         "stride -1x2"},
        {{{.type = LAYER_CONV, .kernel = {3, 3}}}, {1, 28, 28}, "found 0 filters"},
        {{{.type = LAYER_PADCHANNELS, .units = 2}},
         {3, 28, 28},
         "found filters 2 for an input of 3"},
        {{{.type = LAYER_LRN, .size = 4, .beta = 0.75, .k = 1}},
         {3, 28, 28},
         "layer lrn1: found size 4; allowed: an odd number"},
        {{{.type = LAYER_LRN, .size = 5, .beta = 0.75}}, {3, 28, 28}, "k 0; allowed:"},
        {{{.type = LAYER_LRN, .size = 5, .beta = 0.75, .k = 1e-50}},
         {3, 28, 28},
         "found k 1e-50 and beta 0.75; allowed:"},
        {{{.type = LAYER_LRN, .size = 5, .beta = 16, .k = 1e-3}}, {3, 28, 28}, "beta 16; allowed:"},
        {{{.type = LAYER_SLICE, .first = 2, .units = 2}},
         {3, 28, 28},
         "found first 2, filters 2 for an input of 3 channels"},
        {{{.type = LAYER_SLICE, .first = -1, .units = 2}}, {3, 28, 28}, "found first -1"},
        {{{.type = LAYER_INPUT, .shape = {2, 3}, .n_shape = 2}},
         {1, 2, 3},
         "layer input1: found a shape that no input has; needed: the size of a vector, or "
         "channels, height and width, of at most 1048576 values"},
        {{{.type = LAYER_INPUT, .shape = {1024, 1024, 2}, .n_shape = 3}},
         {2, 1024, 1024},
         "layer input1: found a shape that no input has"},
        {{{.type = LAYER_INPUT, .name = (char *)"a", .shape = {5}, .n_shape = 1},
          {.type = LAYER_INPUT, .name = (char *)"b", .shape = {1, 1, 2}, .n_shape = 3}},
         {1, 2, 3},
         "layer b: found an input of 2 values after 5; samples of 1x2x3 have no more than 6"},
        {{{.type = LAYER_INPUT, .shape = {1, 1, 5}, .n_shape = 3}},
         {1, 2, 3},
         "layers of type input: found 5 values in all; samples of 1x2x3 have 6"},
        {{{.type = LAYER_RELU, .name = (char *)"relu1"},
          {.type = LAYER_INPUT,
           .name = (char *)"b",
           .shape = {6},
           .n_shape = 1,
           .inputs = relu,
           .n_inputs = 1}},
         {1, 2, 3},
         "layer b: found an input with `inputs`; it takes what the samples have"},
        {{{.type = LAYER_DROPOUT, .rate = 1}}, {1, 28, 28}, "found rate 1"},
        {{{.type = LAYER_CONV, .units = 4096, .kernel = {1, 1}}},
         {1, 1024, 1024},
         "found an output of 4096x1024x1024; at most 2147483647 values"},
        {{{.type = LAYER_CONV,
           .units = 1 << 20,
           .kernel = {1 << 20, 1 << 20},
           .padding = PAD_SAME}},
         {1 << 20, 1, 1},
         "weights; at most 2147483647"},
        {{{.type = LAYER_RELU}}, {0, 28, 28}, "samples of shape 0x28x28"},
        {{{.type = LAYER_RELU, .name = (char *)"a"}, {.type = LAYER_TANH, .name = (char *)"a"}},
         {1, 28, 28},
         "layer a: layers 1 and 2"},
        {{{.type = LAYER_RELU, .name = (char *)"a", .loss_weight = 1},
          {.type = LAYER_TANH, .name = (char *)"b"}},
         {1, 28, 28},
         "layer a: found lossWeight 1, but a layer takes its output; allowed: where none does"},
        {{{.type = LAYER_RELU, .name = (char *)"a"},
          {.type = LAYER_TANH, .name = (char *)"b", .loss_weight = 0.3}},
         {1, 28, 28},
         "layer b: found lossWeight 0.3 on the last layer"},
        {{{.type = LAYER_RELU, .name = (char *)"a", .loss_weight = -1},
          {.type = LAYER_TANH, .name = (char *)"b", .inputs = samples, .n_inputs = 1}},
         {1, 28, 28},
         "layer a: found lossWeight -1; allowed: above 0"},
        {{{.type = LAYER_GLOBALAVGPOOL, .name = (char *)"a", .loss_weight = 1},
          {.type = LAYER_FLATTEN, .name = (char *)"b", .inputs = samples, .n_inputs = 1}},
         {3, 4, 4},
         "layer a: its output with a lossWeight is 3x1x1; needed: 48x1x1"},
        {{{.type = LAYER_RELU, .name = (char *)"a"},
          {.type = LAYER_TANH, .name = (char *)"b", .inputs = samples, .n_inputs = 1}},
         {1, 28, 28},
         "layer a: no layer takes its output; needed: one that names it in `inputs`, as only the "
         "last layer's output is the network's, or a lossWeight for a loss of its own"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = cases[i].layers[1].name ? 2 : 1;
        struct err err = {0};
        struct net net;

        CHECK_INT(net_build(&net, cases[i].layers, n, cases[i].in, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CONTAINS(err.msg, cases[i].message);
        CHECK(net.layers == NULL);
    }
}

int main(void)
{
    test_built_in();
    test_families();
    test_branches();
    test_googlenet();
    test_windows();
    test_taps();
    test_training_flops();
    test_strides_default();
    test_inputs();
    test_refused();
    return test_result();
}
