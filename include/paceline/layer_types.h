/*
 * The types of layers, one row each:
 *
 *     X(type, name, shape, arithmetic, traits)
 *
 * `name` is what users write. common/layer_shapes.c has a function SHAPE_derive() for the shape,
 * the parameters and the FLOPs, which the operator and the command use, too. worker/layers has a
 * `struct layer_ops ARITHMETIC_ops`, which only the engine links. Types may share either.
 *
 * LAYER_FIELDS has the fields of the spec that only some types have, and their defaults there.
 */
#ifndef PACELINE_LAYER_TYPES_H
#define PACELINE_LAYER_TYPES_H

enum layer_trait {
    TRAIT_SEVERAL = 1,  /* takes two and more inputs; the others take one */
    TRAIT_ROWS = 2,     /* works on the positions of a text, too */
    TRAIT_SAMPLES = 4,  /* takes the samples as they come; for the others they are packed */
    TRAIT_BY_VALUE = 8, /* works value by value: the layout of a map is nothing to it */
    TRAIT_RELU = 16,    /* a ReLU after it is computed with it */
    TRAIT_OUTPUT = 32,  /* an activation: its gradient is taken from the values that it gave */
};

#define LAYER_TYPES(X)                                                                \
    X(CONV, conv, conv, conv, TRAIT_SAMPLES | TRAIT_RELU)                             \
    X(DENSE, dense, dense, dense, TRAIT_ROWS | TRAIT_RELU)                            \
    X(MAXPOOL, maxpool, pool, pool, 0)                                                \
    X(AVGPOOL, avgpool, pool, pool, 0)                                                \
    X(GLOBALAVGPOOL, globalavgpool, globalavgpool, pool, 0)                           \
    X(BATCHNORM, batchnorm, batchnorm, batchnorm, TRAIT_RELU)                         \
    X(LAYERNORM, layernorm, layernorm, layernorm, TRAIT_ROWS)                         \
    X(LRN, lrn, lrn, lrn, 0)                                                          \
    X(ADD, add, add, add, TRAIT_SEVERAL | TRAIT_ROWS | TRAIT_RELU)                    \
    X(CONCAT, concat, concat, concat, TRAIT_SEVERAL)                                  \
    X(PADCHANNELS, padchannels, padchannels, padchannels, 0)                          \
    X(SLICE, slice, slice, slice, TRAIT_SAMPLES)                                      \
    X(INPUT, input, input, input, TRAIT_SAMPLES)                                      \
    X(RELU, relu, same, activation, TRAIT_ROWS | TRAIT_BY_VALUE)                      \
    X(SIGMOID, sigmoid, same, activation, TRAIT_ROWS | TRAIT_BY_VALUE | TRAIT_OUTPUT) \
    X(TANH, tanh, same, activation, TRAIT_ROWS | TRAIT_BY_VALUE | TRAIT_OUTPUT)       \
    X(GELU, gelu, same, activation, TRAIT_ROWS | TRAIT_BY_VALUE)                      \
    X(DROPOUT, dropout, dropout, dropout, TRAIT_ROWS | TRAIT_BY_VALUE)                \
    X(FLATTEN, flatten, flatten, flatten, TRAIT_BY_VALUE)                             \
    X(EMBEDDING, embedding, embedding, embedding, TRAIT_SAMPLES)                      \
    X(LSTM, lstm, lstm, lstm, TRAIT_ROWS)

/* FIELD(key, types, default): rows of one key stand together. */
#define LAYER_FIELDS(FIELD)                                              \
    FIELD("filters", "conv padchannels slice", NULL)                     \
    FIELD("first", "slice", "0")                                         \
    FIELD("shape", "input", NULL)                                        \
    FIELD("units", "dense embedding lstm", NULL)                         \
    FIELD("kernel", "conv", NULL)                                        \
    FIELD("kernel", "maxpool avgpool", "2")                              \
    FIELD("stride", "conv maxpool avgpool", NULL)                        \
    FIELD("padding", "conv maxpool avgpool", "valid")                    \
    FIELD("rate", "dropout", NULL)                                       \
    FIELD("initializer", "conv dense", "glorot")                         \
    FIELD("initializer", "embedding lstm", "uniform")                    \
    FIELD("forgetBias", "lstm", "0")                                     \
    FIELD("vocabulary", "embedding", NULL)                               \
    FIELD("bias", "conv dense", "true")                                  \
    FIELD("frozen", "conv dense batchnorm layernorm embedding", "false") \
    FIELD("epsilon", "batchnorm layernorm", "0.00001")                   \
    FIELD("momentum", "batchnorm", "0.1")                                \
    FIELD("unbiased", "batchnorm", "true")                               \
    FIELD("group", "batchnorm", "32")                                    \
    FIELD("size", "lrn", "5")                                            \
    FIELD("alpha", "lrn", "0.0001")                                      \
    FIELD("beta", "lrn", "0.75")                                         \
    FIELD("k", "lrn", "2")

enum layer_type {
#define LAYER_TYPE_VALUE(type, name, shape, arithmetic, traits) LAYER_##type,
    LAYER_TYPES(LAYER_TYPE_VALUE)
#undef LAYER_TYPE_VALUE
        N_LAYER_TYPES,
};

/* "conv", "maxpool", ...: as written in YAML; generated layer names begin with it. NULL ends it. */
extern const char *const layer_type_names[];
/* Of each type, a set of enum layer_trait. */
extern const unsigned char layer_type_traits[];

#endif
