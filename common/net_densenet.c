/*
 * DenseNet-BC, Huang and others 2016, arXiv 1608.06993: three dense blocks, bottlenecks of four
 * times the growth, transitions that halve the channels; def->size is the depth. Study 002: depth
 * 40, growth 12, dropout 0.1 after each 3x3 convolution.
 */
#include "common/layer_list.h"

enum { GROWTH = 12, BLOCKS = 3 };

static void densenet_grow(struct layer_list *l)
{
    char *below = list_last(l);

    list_norm_relu(l);
    list_conv(l, 4 * GROWTH, 1, 1, false);
    list_norm_relu(l);
    list_conv(l, GROWTH, 3, 1, false);
    list_dropout(l, 0.1);
    list_join(l, LAYER_CONCAT, (char *const[]){below, list_last(l)}, 2);
}

void net_write_densenet(struct layer_list *l, const struct net_def *def, int classes)
{
    const int each = (def->size - 4) / (2 * BLOCKS); /* of two convolutions */
    int channels = 2 * GROWTH;

    list_conv(l, channels, 3, 1, false);
    for (int block = 0; block < BLOCKS; block++) {
        if (block) {
            list_norm_relu(l);
            list_conv(l, channels /= 2, 1, 1, false);
            list_pool(l, LAYER_AVGPOOL, 2, 2);
        }
        for (int i = 0; i < each; i++, channels += GROWTH)
            densenet_grow(l);
    }
    list_norm_relu(l);
    list_plain(l, LAYER_GLOBALAVGPOOL);
    list_dense(l, classes);
}
