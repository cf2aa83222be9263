/* Residual networks. */
#include "common/layer_list.h"

#define STAGES 3

/* The shortcut of a block that halves its maps. */
enum shortcut { SHORTCUT_CONV, SHORTCUT_CONV_NORM, SHORTCUT_ZERO_FILL };

/* A 1x1 convolution, or every other value and channels of zeros (arXiv 1512.03385, options B, A).
 */
static char *list_shortcut(struct layer_list *l, char *below, int filters, enum shortcut kind)
{
    if (kind == SHORTCUT_ZERO_FILL)
        list_pool(l, LAYER_MAXPOOL, 1, 2);
    else
        list_conv(l, filters, 1, 2, false);
    list_from(l, below);
    if (kind == SHORTCUT_ZERO_FILL)
        list_add(l, (struct layer_spec){.type = LAYER_PADCHANNELS, .units = filters});
    else if (kind == SHORTCUT_CONV_NORM)
        list_norm(l);
    return list_last(l);
}

/* Blocks of two 3x3 convolutions; from stage to stage maps halve and filters double. */
static void list_stages(struct layer_list *l, const int *blocks, int stages, int filters,
                        enum shortcut kind)
{
    for (int stage = 0; stage < stages; stage++, filters *= 2) {
        for (int block = 0; block < blocks[stage]; block++) {
            const bool smaller = stage && !block;
            char *below = list_last(l), *branch;

            list_conv(l, filters, 3, smaller ? 2 : 1, false);
            list_norm_relu(l);
            list_conv(l, filters, 3, 1, false);
            list_norm(l);
            branch = list_last(l);
            if (smaller)
                below = list_shortcut(l, below, filters, kind);
            list_join(l, LAYER_ADD, (char *const[]){below, branch}, 2);
            list_plain(l, LAYER_RELU);
        }
    }
    list_plain(l, LAYER_GLOBALAVGPOOL);
}

/*
 * He and others 2015, arXiv 1512.03385, section 4.2: 6n+2 layers for small images; def->size is n.
 * Studies 002: a 1x1 convolution is the shortcut where the size changes, without normalisation as
 * in Keras's example, and convolutions have no biases, which gives the 0.758 M parameters of
 * depth 50.
 */
void net_write_resnet_v1(struct layer_list *l, const struct net_def *def, int classes)
{
    const int blocks[STAGES] = {def->size, def->size, def->size};

    list_conv(l, 16, 3, 1, false);
    list_norm_relu(l);
    list_stages(l, blocks, STAGES, 16, SHORTCUT_CONV);
    list_dense(l, classes);
}

/* ResNet-34, arXiv 1512.03385, table 1; study 003's table 2.5. As torchvision's. */
void net_write_resnet34(struct layer_list *l, const struct net_def *def, int classes)
{
    static const int blocks[] = {3, 4, 6, 3};

    list_conv(l, 64, 7, 2, false);
    list_norm_relu(l);
    list_pool(l, LAYER_MAXPOOL, 3, 2);
    list_stages(l, blocks, 4, 64, def->zero_fill ? SHORTCUT_ZERO_FILL : SHORTCUT_CONV_NORM);
    list_dense(l, classes);
}

/*
 * He and others 2016, arXiv 1603.05027: normalisation and ReLU before each convolution, 9n+2
 * layers; def->size is n. Study 000's is Keras's cifar10_resnet: bottlenecks of 16, 64 and 128 to
 * 64, 128 and 256 channels, convolutions with biases, a 1x1 convolution as the first shortcut of
 * each stage.
 */
void net_write_resnet_v2(struct layer_list *l, const struct net_def *def, int classes)
{
    int narrow = 16;

    list_conv(l, narrow, 3, 1, true);
    list_norm_relu(l);
    for (int stage = 0; stage < STAGES; stage++) {
        const int wide = stage ? 2 * narrow : 4 * narrow;

        for (int block = 0; block < def->size; block++) {
            const int stride = stage && !block ? 2 : 1;
            char *below = list_last(l), *branch;

            if (stage || block) /* the first one is normalised already */
                list_norm_relu(l);
            list_conv(l, narrow, 1, stride, true);
            list_norm_relu(l);
            list_conv(l, narrow, 3, 1, true);
            list_norm_relu(l);
            list_conv(l, wide, 1, 1, true);
            branch = list_last(l);
            if (!block) {
                list_conv(l, wide, 1, stride, true);
                list_from(l, below);
                below = list_last(l);
            }
            list_join(l, LAYER_ADD, (char *const[]){below, branch}, 2);
        }
        narrow = wide;
    }
    list_norm_relu(l);
    list_plain(l, LAYER_GLOBALAVGPOOL);
    list_dense(l, classes);
}
