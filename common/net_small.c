/* The networks of one branch for Fashion-MNIST and MNIST. Initial weights are Glorot's here. */
#include "common/layer_list.h"

static void conv(struct layer_list *l, int filters, int kernel, enum padding padding)
{
    list_add(l, (struct layer_spec){.type = LAYER_CONV,
                                    .units = filters,
                                    .kernel = {kernel, kernel},
                                    .padding = padding,
                                    .bias = true});
    list_plain(l, LAYER_RELU);
}

static void pool(struct layer_list *l)
{
    list_add(l, (struct layer_spec){.type = LAYER_MAXPOOL, .kernel = {2, 2}, .stride = {2, 2}});
}

static void dense(struct layer_list *l, int units)
{
    list_add(l, (struct layer_spec){.type = LAYER_DENSE, .units = units, .bias = true});
}

static void dense_relu(struct layer_list *l, int units)
{
    dense(l, units);
    list_plain(l, LAYER_RELU);
}

void net_write_fashion(struct layer_list *l, const struct net_def *def, int classes)
{
    (void)def;
    conv(l, 32, 5, PAD_SAME);
    pool(l);
    conv(l, 64, 5, PAD_SAME);
    pool(l);
    list_plain(l, LAYER_FLATTEN);
    dense_relu(l, 1024);
    list_dropout(l, 0.4);
    dense(l, classes);
}

/* Study 000, 4.3.2. */
void net_write_mnist(struct layer_list *l, const struct net_def *def, int classes)
{
    (void)def;
    conv(l, 32, 3, PAD_VALID);
    conv(l, 64, 3, PAD_VALID);
    pool(l);
    list_dropout(l, 0.25);
    list_plain(l, LAYER_FLATTEN);
    dense_relu(l, 128);
    list_dropout(l, 0.5);
    dense(l, classes);
}

void net_write_mlp(struct layer_list *l, const int64_t *hidden, size_t n_hidden, int classes)
{
    list_plain(l, LAYER_FLATTEN);
    for (size_t i = 0; i < n_hidden; i++)
        dense_relu(l, (int)hidden[i]);
    dense(l, classes);
}

void net_write_default_mlp(struct layer_list *l, const struct net_def *def, int classes)
{
    static const int64_t hidden[] = {256, 128};

    (void)def;
    net_write_mlp(l, hidden, 2, classes);
}
