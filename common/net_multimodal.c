/* A network of several inputs, as study 001 splits one over workers: each instrument of a scene
 * (docs/reference/made-data.md) has a branch of its own, and what they see is put together. */
#include "common/layer_list.h"
#include "paceline/mem.h"

/* Channels of the samples, and filters of the branch's two convolutions. */
struct instrument {
    int first, channels, low, high;
};

static void multimodal_conv_relu(struct layer_list *l, int filters)
{
    list_conv(l, filters, 3, 1, true);
    list_plain(l, LAYER_RELU);
}

/* The name of what it sees, at a quarter of the height and width. */
static char *multimodal_branch(struct layer_list *l, const struct instrument *i)
{
    list_add(l, (struct layer_spec){.type = LAYER_SLICE, .first = i->first, .units = i->channels});
    list_from(l, arena_strdup(&l->arena, NET_INPUT));
    multimodal_conv_relu(l, i->low);
    list_pool(l, LAYER_MAXPOOL, 2, 2);
    multimodal_conv_relu(l, i->high);
    list_pool(l, LAYER_MAXPOOL, 2, 2);
    return list_last(l);
}

void net_write_multimodal(struct layer_list *l, const struct net_def *def, int classes)
{
    static const struct instrument instruments[] = {
        {0, 8, 64, 128}, /* bands of a spectrometer */
        {8, 1, 32, 64},  /* the height */
        {9, 3, 32, 64},  /* colours */
    };
    char *outputs[ARRAY_LEN(instruments)];

    (void)def;
    for (size_t i = 0; i < ARRAY_LEN(instruments); i++)
        outputs[i] = multimodal_branch(l, &instruments[i]);
    list_join(l, LAYER_CONCAT, outputs, ARRAY_LEN(instruments));
    multimodal_conv_relu(l, 256);
    list_plain(l, LAYER_FLATTEN);
    list_dense(l, 512);
    list_plain(l, LAYER_RELU);
    list_dropout(l, 0.5);
    list_dense(l, classes);
}
