/* SqueezeNet 1.0, Iandola and others 2016, arXiv 1602.07360; study 003, table 2.4. */
#include "common/layer_list.h"

static void squeezenet_conv_relu(struct layer_list *l, int filters, int kernel, int stride)
{
    list_conv(l, filters, kernel, stride, true);
    list_plain(l, LAYER_RELU);
}

/* A Fire module: 1x1 to few channels, from there 1x1 and 3x3 side by side. */
static void fire(struct layer_list *l, int squeeze)
{
    char *few, *outputs[2];

    squeezenet_conv_relu(l, squeeze, 1, 1);
    few = list_last(l);
    for (int i = 0; i < 2; i++) {
        list_conv(l, 4 * squeeze, i ? 3 : 1, 1, true);
        list_from(l, few);
        list_plain(l, LAYER_RELU);
        outputs[i] = list_last(l);
    }
    list_join(l, LAYER_CONCAT, outputs, 2);
}

void net_write_squeezenet(struct layer_list *l, const struct net_def *def, int classes)
{
    static const int squeeze[] = {16, 16, 32, 32, 48, 48, 64, 64};

    (void)def;
    squeezenet_conv_relu(l, 96, 7, 2);
    list_pool(l, LAYER_MAXPOOL, 3, 2);
    for (int i = 0; i < 8; i++) {
        fire(l, squeeze[i]);
        if (i == 2 || i == 6)
            list_pool(l, LAYER_MAXPOOL, 3, 2);
    }
    list_dropout(l, 0.5);
    squeezenet_conv_relu(l, classes, 1, 1);
    list_plain(l, LAYER_GLOBALAVGPOOL);
}
