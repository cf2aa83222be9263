/* The tensors of a model while it is being built. */
#ifndef PACELINE_PARAM_LIST_H
#define PACELINE_PARAM_LIST_H

#include "worker/layers/layer.h"

struct param_list {
    struct param *items;
    int n;
    size_t n_floats; /* of the slab so far */
    int layer;       /* whose tensors are being added */
    bool remote;     /* it is another worker's */
    uint32_t batch;  /* rows with a state of their own */
};

/* Adds "<layer>.<suffix>", of so many floats in the slab; the caller sets its shape. */
struct param *param_list_add(struct param_list *list, const struct net_layer *n, const char *suffix,
                             enum param_kind kind, size_t floats);
/* The same of one value for each channel of the output. */
struct param *param_list_add_channels(struct param_list *list, const struct net_layer *n,
                                      const char *suffix, enum param_kind kind,
                                      enum initializer initializer);
/* The same of weights [rows][columns]. */
struct param *param_list_add_matrix(struct param_list *list, const struct net_layer *n,
                                    const char *suffix, size_t floats, int rows, int columns);

#endif
