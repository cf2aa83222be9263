#include "paceline/networks.h"

#include "common/layer_list.h"
#include "paceline/mem.h"

const struct net_def net_defs[] = {
    {"fashion-cnn",
     "two 5x5 convolutions and a dense layer of 1024, for Fashion-MNIST",
     {1, 28, 28},
     10,
     .write = net_write_fashion},
    {"mnist-cnn",
     "two 3x3 convolutions and a dense layer of 128, for MNIST",
     {1, 28, 28},
     10,
     .write = net_write_mnist},
    {"mlp",
     "dense layers with ReLU; spec.model.hidden gives their sizes",
     {1, 28, 28},
     10,
     .write = net_write_default_mlp},
    {"resnet20",
     "ResNet of 6n+2 layers for small images",
     {3, 32, 32},
     10,
     .write = net_write_resnet_v1,
     .size = 3},
    {"resnet50",
     "ResNet of 6n+2 layers for small images (study 002), not ImageNet's",
     {3, 32, 32},
     10,
     .write = net_write_resnet_v1,
     .size = 8},
    {"resnet56",
     "ResNet of 6n+2 layers for small images",
     {3, 32, 32},
     10,
     .write = net_write_resnet_v1,
     .size = 9},
    {"resnet56v2",
     "ResNet v2 of 9n+2 layers, with bottlenecks (study 000)",
     {3, 32, 32},
     10,
     .write = net_write_resnet_v2,
     .size = 6},
    {"densenet40",
     "DenseNet-BC, growth 12, dropout 0.1 (study 002)",
     {1, 28, 28},
     10,
     .write = net_write_densenet,
     .size = 40},
    {"resnet34",
     "ResNet-34, 1x1 convolutions as shortcuts (study 003)",
     {3, 224, 224},
     256,
     .write = net_write_resnet34},
    {"resnet34-zerofill",
     "ResNet-34, shortcuts filled up with zeros (study 003)",
     {3, 224, 224},
     256,
     .write = net_write_resnet34,
     .zero_fill = true},
    {"squeezenet", "SqueezeNet 1.0 (study 003)", {3, 224, 224}, 256, .write = net_write_squeezenet},
    {"googlenet",
     "GoogLeNet with side classifiers (study 003)",
     {3, 224, 224},
     256,
     .write = net_write_googlenet},
    {"vgg16e",
     "VGG of 16 convolutions and 3 dense layers (study 003)",
     {3, 224, 224},
     256,
     .write = net_write_vgg},
    {"multimodal",
     "a branch for each instrument of made scenes (study 001)",
     {12, 16, 16},
     8,
     .write = net_write_multimodal},
    {"ptb-small",
     "two LSTMs of 200 units, for rows of 20 words",
     {1, 1, 20},
     10000,
     .write = net_write_lstm,
     .size = 0},
    {"ptb-medium",
     "two LSTMs of 650 units, dropout 0.5, for rows of 35 words",
     {1, 1, 35},
     10000,
     .write = net_write_lstm,
     .size = 1},
    {"ptb-large",
     "two LSTMs of 1500 units, dropout 0.65, for rows of 35 words",
     {1, 1, 35},
     10000,
     .write = net_write_lstm,
     .size = 2},
};
const size_t n_net_defs = ARRAY_LEN(net_defs);

const struct net_def *net_def_find(const char *name)
{
    for (size_t i = 0; i < n_net_defs; i++)
        if (strcmp(net_defs[i].name, name) == 0)
            return &net_defs[i];
    return NULL;
}

void net_def_layers(struct layer_list *l, const struct net_def *def, int classes)
{
    def->write(l, def, classes ? classes : def->classes);
}

void net_def_build(struct net *net, const struct net_def *def)
{
    AUTO(layer_list_release) struct layer_list l = {0};
    struct err err;

    net_def_layers(&l, def, 0);
    if (net_build(net, l.items, l.n, def->in, &err))
        abort(); /* they fit the shapes they name; test_net builds them */
}
