/* Word-level language models: two layers of LSTM (Zaremba, Sutskever and Vinyals 2014, arXiv
 * 1409.2329). Initial weights are uniform; the size is that of the layers. */
#include "common/layer_list.h"

static const struct {
    int units;
    double dropout, range;
} sizes[] = {{200, 0, 0.1}, {650, 0.5, 0.05}, {1500, 0.65, 0.04}};

static void net_text_add(struct layer_list *l, struct layer_spec layer, int units, double range)
{
    layer.units = units;
    layer.range = range;
    layer.initializer = INIT_UNIFORM;
    list_add(l, layer);
}

void net_write_lstm(struct layer_list *l, const struct net_def *def, int classes)
{
    const int units = sizes[def->size].units;
    const double dropout = sizes[def->size].dropout, range = sizes[def->size].range;

    net_text_add(l, (struct layer_spec){.type = LAYER_EMBEDDING, .vocabulary = classes}, units,
                 range);
    for (int i = 0; i < 2; i++) {
        if (dropout > 0)
            list_dropout(l, dropout);
        net_text_add(l, (struct layer_spec){.type = LAYER_LSTM}, units, range);
    }
    if (dropout > 0)
        list_dropout(l, dropout);
    net_text_add(l, (struct layer_spec){.type = LAYER_DENSE, .bias = true}, classes, range);
}
