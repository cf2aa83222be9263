/* The arithmetic of each type of layer; see paceline/layer_types.h. */
#include "worker/layers/layer.h"

const struct layer_ops *const layer_table[] = {
#define LAYER_ROW(type, name, shape, arithmetic, traits) [LAYER_##type] = &arithmetic##_ops,
    LAYER_TYPES(LAYER_ROW)};
