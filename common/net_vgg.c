/* VGG, configuration E (19 layers with weights), Simonyan and Zisserman 2014, arXiv 1409.1556, as
 * study 003's table 2.1 has it: without dropout. */
#include "common/layer_list.h"

void net_write_vgg(struct layer_list *l, const struct net_def *def, int classes)
{
    static const struct {
        int filters, n;
    } stages[] = {{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}};

    (void)def;
    for (int s = 0; s < 5; s++) {
        for (int i = 0; i < stages[s].n; i++) {
            list_conv(l, stages[s].filters, 3, 1, true);
            list_plain(l, LAYER_RELU);
        }
        list_pool(l, LAYER_MAXPOOL, 2, 2);
    }
    list_plain(l, LAYER_FLATTEN);
    for (int i = 0; i < 2; i++) {
        list_dense(l, 4096);
        list_plain(l, LAYER_RELU);
    }
    list_dense(l, classes);
}
