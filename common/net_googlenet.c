/* GoogLeNet, Szegedy and others 2014, arXiv 1409.4842, with its side classifiers; study 003, tables
 * 2.2 and 2.3. The constants of its normalisation, which neither gives, are those of the Caffe
 * model zoo's. */
#include "common/layer_list.h"
#include "paceline/mem.h"

/* Channels of an inception module's branches: 1x1, 3x3 and 5x5 with a 1x1 before each, and a 1x1
 * after the pool. */
struct inception {
    int one, few3, three, few5, five, pool;
    bool side; /* a side classifier takes it, too */
    bool last; /* of its size: a pool follows */
};

static char *googlenet_conv_relu(struct layer_list *l, int filters, int kernel, int stride)
{
    list_conv(l, filters, kernel, stride, true);
    list_plain(l, LAYER_RELU);
    return list_last(l);
}

static void normalise(struct layer_list *l)
{
    list_add(l, (struct layer_spec){
                    .type = LAYER_LRN, .size = 5, .alpha = 0.0001 / 5, .beta = 0.75, .k = 1});
}

/* A 1x1 convolution of `below` and its ReLU. */
static void googlenet_branch(struct layer_list *l, char *below, int filters)
{
    list_conv(l, filters, 1, 1, true);
    list_from(l, below);
    list_plain(l, LAYER_RELU);
}

/* The name of what its branches give together. */
static char *inception(struct layer_list *l, const struct inception *m, char *below)
{
    char *outputs[4];

    googlenet_branch(l, below, m->one);
    outputs[0] = list_last(l);
    googlenet_branch(l, below, m->few3);
    outputs[1] = googlenet_conv_relu(l, m->three, 3, 1);
    googlenet_branch(l, below, m->few5);
    outputs[2] = googlenet_conv_relu(l, m->five, 5, 1);
    list_pool(l, LAYER_MAXPOOL, 3, 1);
    list_from(l, below);
    outputs[3] = googlenet_conv_relu(l, m->pool, 1, 1);
    list_join(l, LAYER_CONCAT, outputs, 4);
    return list_last(l);
}

/* Table 2.3, of the last layer's output; its pool is not padded. */
static void side_classifier(struct layer_list *l, char *name, int classes)
{
    struct layer_spec *scores;

    list_pool(l, LAYER_AVGPOOL, 5, 3);
    l->items[l->n - 1].padding = PAD_VALID;
    googlenet_conv_relu(l, 128, 1, 1);
    list_plain(l, LAYER_FLATTEN);
    list_dense(l, 1024);
    list_plain(l, LAYER_RELU);
    list_dropout(l, 0.7);
    list_dense(l, classes);
    scores = &l->items[l->n - 1];
    scores->name = arena_strdup(&l->arena, name);
    scores->loss_weight = 0.3;
}

void net_write_googlenet(struct layer_list *l, const struct net_def *def, int classes)
{
    static const struct inception modules[] = {
        {64, 96, 128, 16, 32, 32, false, false},     /* 3a */
        {128, 128, 192, 32, 96, 64, false, true},    /* 3b */
        {192, 96, 208, 16, 48, 64, true, false},     /* 4a */
        {160, 112, 224, 24, 64, 64, false, false},   /* 4b */
        {128, 128, 256, 24, 64, 64, false, false},   /* 4c */
        {112, 144, 288, 32, 64, 64, true, false},    /* 4d */
        {256, 160, 320, 32, 128, 128, false, true},  /* 4e */
        {256, 160, 320, 32, 128, 128, false, false}, /* 5a */
        {384, 192, 384, 48, 128, 128, false, false}, /* 5b */
    };
    char *out;
    int sides = 0;

    (void)def;
    googlenet_conv_relu(l, 64, 7, 2);
    list_pool(l, LAYER_MAXPOOL, 3, 2);
    normalise(l);
    googlenet_conv_relu(l, 64, 1, 1);
    googlenet_conv_relu(l, 192, 3, 1);
    normalise(l);
    list_pool(l, LAYER_MAXPOOL, 3, 2);
    out = list_last(l);
    for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
        out = inception(l, &modules[i], out);
        if (modules[i].last) {
            list_pool(l, LAYER_MAXPOOL, 3, 2);
            out = list_last(l);
        }
        if (modules[i].side)
            side_classifier(l, arena_printf(&l->arena, "side%d", ++sides), classes);
    }
    list_plain(l, LAYER_GLOBALAVGPOOL);
    list_dropout(l, 0.4);
    list_dense(l, classes);
}
