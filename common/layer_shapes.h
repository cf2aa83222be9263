/* What each type of layer makes of its input's shape. */
#ifndef PACELINE_LAYER_SHAPES_H
#define PACELINE_LAYER_SHAPES_H

#include "paceline/net.h"

#define NET_VALUES_MAX INT32_MAX /* of an output, and of weights */

/* Checks the fields of the last layer of `net`, and sets its output shape, its counts of parameters
 * and its FLOPs. l->in and l->rows are those of its first input, and so is l->out until then. Fails
 * (ERR_INVALID) naming the layer and what is allowed. */
typedef int layer_shape(const struct net *net, struct net_layer *l, struct err *err);
extern layer_shape *const layer_shapes[]; /* by enum layer_type */

#endif
