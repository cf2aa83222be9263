/* Which tensors a layer has, while its model is being built: their names, shapes and places in the
 * slab, and what they begin with. */
#ifndef PACELINE_TENSORS_H
#define PACELINE_TENSORS_H

#include "worker/model/model.h"

/* Those of l, layer m->n_layers, which has been made. batch: rows with a state of their own. */
void tensors_add(struct model *m, struct layer *l, const struct net_layer *n, uint32_t batch);

#endif
