#include "common/layer_list.h"

#include "paceline/mem.h"

void layer_list_release(struct layer_list *l)
{
    free(l->items);
    arena_release(&l->arena);
    *l = (struct layer_list){0};
}

struct layer_spec *list_add(struct layer_list *l, struct layer_spec layer)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 32;
        l->items = xrealloc(l->items, l->room * sizeof *l->items);
    }
    l->items[l->n] = layer;
    return &l->items[l->n++];
}

/* As net_build would name it: by its type, and its number among those. */
char *list_last(struct layer_list *l)
{
    struct layer_spec *last = l->n ? &l->items[l->n - 1] : NULL;
    int number = 0;

    if (!last)
        return arena_strdup(&l->arena, NET_INPUT);
    for (size_t i = 0; !last->name && i < l->n; i++)
        number += l->items[i].type == last->type;
    if (!last->name)
        last->name = arena_printf(&l->arena, "%s%d", layer_type_names[last->type], number);
    return last->name;
}

static void layer_list_take(struct layer_list *l, struct layer_spec *layer, char *const *outputs,
                            size_t n)
{
    layer->inputs = arena_alloc(&l->arena, n * sizeof *layer->inputs);
    memcpy(layer->inputs, outputs, n * sizeof *layer->inputs);
    layer->n_inputs = n;
}

void list_from(struct layer_list *l, char *output)
{
    layer_list_take(l, &l->items[l->n - 1], &output, 1);
}

void list_conv(struct layer_list *l, int filters, int kernel, int stride, bool bias)
{
    list_add(l, (struct layer_spec){.type = LAYER_CONV,
                                    .units = filters,
                                    .kernel = {kernel, kernel},
                                    .stride = {stride, stride},
                                    .padding = PAD_SAME,
                                    .initializer = INIT_HE,
                                    .bias = bias});
}

void list_dense(struct layer_list *l, int units)
{
    list_add(l, (struct layer_spec){
                    .type = LAYER_DENSE, .units = units, .initializer = INIT_HE, .bias = true});
}

void list_pool(struct layer_list *l, enum layer_type type, int kernel, int stride)
{
    list_add(l, (struct layer_spec){.type = type,
                                    .kernel = {kernel, kernel},
                                    .stride = {stride, stride},
                                    .padding = PAD_SAME});
}

void list_plain(struct layer_list *l, enum layer_type type)
{
    list_add(l, (struct layer_spec){.type = type});
}

void list_dropout(struct layer_list *l, double rate)
{
    list_add(l, (struct layer_spec){.type = LAYER_DROPOUT, .rate = rate});
}

void list_norm(struct layer_list *l)
{
    list_add(l, (struct layer_spec){.type = LAYER_BATCHNORM,
                                    .epsilon = 1e-5,
                                    .momentum = 0.1,
                                    .unbiased = true,
                                    .group = 32});
}

void list_norm_relu(struct layer_list *l)
{
    list_norm(l);
    list_plain(l, LAYER_RELU);
}

void list_join(struct layer_list *l, enum layer_type type, char *const *outputs, size_t n)
{
    layer_list_take(l, list_add(l, (struct layer_spec){.type = type}), outputs, n);
}
