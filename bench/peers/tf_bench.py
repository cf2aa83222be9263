"""Training steps in TensorFlow: one tf.function of forward, backward and update, one core.

graph  the graph executor (oneDNN)
xla    the same compiled by XLA
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import common


def build(network, shape):
    layers = [tf.keras.Input(shape)]
    for kind, *rest in common.NETWORKS[network]:
        if kind == "conv":
            filters, kernel, padding = rest
            layers.append(tf.keras.layers.Conv2D(filters, kernel, padding=padding, activation="relu"))
        elif kind == "dense":
            layers.append(tf.keras.layers.Dense(rest[0], activation=rest[1]))
        else:
            layers.append({"pool": tf.keras.layers.MaxPooling2D, "flatten": tf.keras.layers.Flatten,
                           "dropout": tf.keras.layers.Dropout}[kind](*rest))
    return tf.keras.Sequential(layers)


def main():
    args = common.arguments(["graph", "xla"])
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(1)
    images, labels = common.load(args.data)
    x, y = tf.constant(images[..., None]), tf.constant(labels)
    model = build(args.network, (28, 28, 1))
    weights = [variable.value for variable in model.trainable_variables]
    moments = [tf.Variable(tf.zeros_like(w)) for w in weights]

    @tf.function(jit_compile=args.variant == "xla")
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for w, m, g in zip(weights, moments, tape.gradient(loss, weights)):
            tf.raw_ops.ResourceApplyMomentum(
                var=w.handle, accum=m.handle, lr=common.LEARNING_RATE, grad=g,
                momentum=common.MOMENTUM)
        return loss

    source = common.batches(x, y, args.batch)
    common.serve(tf.__version__, lambda x, y: float(step(x, y)), source, args.batch)


if __name__ == "__main__":
    main()
