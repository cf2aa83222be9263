#include "worker/layers/param_list.h"

#include <stdio.h>

struct param *param_list_add(struct param_list *list, const struct net_layer *n, const char *suffix,
                             enum param_kind kind, size_t floats)
{
    struct param *p = &list->items[list->n++];

    p->layer = list->layer;
    p->kind = kind;
    snprintf(p->name, sizeof p->name, "%.64s.%s", n->spec.name, suffix);
    p->offset = list->n_floats;
    p->floats = list->remote ? 0 : floats;
    p->frozen = n->spec.frozen;
    p->initializer = n->spec.initializer;
    p->range = n->spec.range;
    list->n_floats += p->floats;
    return p;
}

struct param *param_list_add_channels(struct param_list *list, const struct net_layer *n,
                                      const char *suffix, enum param_kind kind,
                                      enum initializer initializer)
{
    struct param *p = param_list_add(list, n, suffix, kind, (size_t)blocks_of(n->out.c) * 16);

    p->n_dims = 1;
    p->dims[0] = n->out.c;
    p->initializer = initializer;
    return p;
}

struct param *param_list_add_matrix(struct param_list *list, const struct net_layer *n,
                                    const char *suffix, size_t floats, int rows, int columns)
{
    struct param *p = param_list_add(list, n, suffix, PARAM_WEIGHT, floats);

    p->n_dims = 2;
    p->dims[0] = rows;
    p->dims[1] = columns;
    p->fan_in = columns;
    p->fan_out = n->out.c;
    return p;
}
