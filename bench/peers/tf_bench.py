"""Training steps in TensorFlow: one tf.function of forward, backward and update, one core.

graph  the graph executor (oneDNN)
xla    the same compiled by XLA
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import common

keras = tf.keras.layers


def padded(layer):
    """Keras splits padding as the engine does."""
    needs = any(layer["padding"]) or any(common.padding_behind(layer, axis) for axis in (0, 1))
    return {"strides": layer["stride"], "padding": "same" if needs else "valid"}


def made(layer):
    units, before = layer["out"][0], layer["in"][0]
    return {
        "conv": lambda: keras.Conv2D(units, layer["kernel"], use_bias=layer["bias"], **padded(layer)),
        "dense": lambda: keras.Dense(units, use_bias=layer["bias"]),
        "maxpool": lambda: keras.MaxPooling2D(layer["kernel"], **padded(layer)),
        "avgpool": lambda: keras.AveragePooling2D(layer["kernel"], **padded(layer)),
        "globalavgpool": keras.GlobalAveragePooling2D,
        "batchnorm": lambda: keras.BatchNormalization(epsilon=layer["epsilon"],
                                                      momentum=1 - layer["momentum"]),
        "lrn": lambda: keras.Lambda(lambda x: tf.nn.local_response_normalization(
            x, layer["size"] // 2, layer["k"], layer["alpha"], layer["beta"])),
        "add": keras.Add,
        "concat": keras.Concatenate,
        "padchannels": lambda: keras.Lambda(lambda x: tf.pad(x, [[0, 0]] * 3 + [[0, units - before]])),
        "relu": keras.ReLU,
        "sigmoid": lambda: keras.Activation("sigmoid"),
        "tanh": lambda: keras.Activation("tanh"),
        "dropout": lambda: keras.Dropout(layer["rate"]),
        "flatten": keras.Flatten,
        "embedding": lambda: keras.Embedding(layer["vocabulary"], units),
        "lstm": lambda: keras.LSTM(units, return_sequences=True, stateful=True),
    }[layer["type"]]()


def build(layers, batch):
    """Maps are [n][h][w][c]."""
    c, h, w = layers[0]["in"]
    words = layers[0]["type"] == "embedding"
    samples = tf.keras.Input(batch_shape=(batch, w) if words else (batch, h, w, c))
    values = {"input": samples}
    for layer in layers:
        inputs = [values[name] for name in layer["inputs"]]
        values[layer["name"]] = made(layer)(inputs if len(inputs) > 1 else inputs[0])
    scores = [values[name] for name in common.loss_weights(layers)]
    return tf.keras.Model(samples, scores if len(scores) > 1 else scores[0])


def main():
    args = common.arguments(["graph", "xla"])
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(1)
    samples, labels = common.load(args)
    x = tf.constant(samples.transpose(0, 2, 3, 1) if samples.ndim == 4 else samples)
    y = tf.constant(labels)
    model = build(args.layers, args.batch)
    factors = list(common.loss_weights(args.layers).values())
    weights = [variable.value for variable in model.trainable_variables]
    moments = [tf.Variable(tf.zeros_like(w)) for w in weights]

    @tf.function(jit_compile=args.variant == "xla")
    def step(x, y):
        with tf.GradientTape() as tape:
            loss, scores = 0.0, model(x, training=True)
            for logits, factor in zip(scores if len(factors) > 1 else [scores], factors):
                loss += factor * tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for w, m, g in zip(weights, moments, tape.gradient(loss, weights)):
            tf.raw_ops.ResourceApplyMomentum(
                var=w.handle, accum=m.handle, lr=common.LEARNING_RATE, grad=tf.convert_to_tensor(g),
                momentum=common.MOMENTUM)
        return loss

    source = common.batches(x, y, args.batch)
    common.serve(tf.__version__, sum(w.shape.num_elements() for w in weights),
                 lambda x, y: float(step(x, y)), source, args.batch)


if __name__ == "__main__":
    main()
