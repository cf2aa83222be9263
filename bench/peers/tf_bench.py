"""Training steps in TensorFlow: one tf.function of forward, backward and update, one core.

graph  the graph executor (oneDNN)
xla    the same compiled by XLA

Several workers: the all-reduce of MultiWorkerMirroredStrategy; each holds the weights and updates them.
"""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import common
from workers import Workers, free_ports

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


def meeting(count):
    hosts = [f"127.0.0.1:{port}" for port in free_ports(count)]
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": hosts}})}


def strategy(workers):
    """Has to be there before anything else of TensorFlow is."""
    task = {"task": {"type": "worker", "index": workers.rank}}
    os.environ["TF_CONFIG"] = json.dumps({**json.loads(os.environ["TF_CONFIG"]), **task})
    return tf.distribute.MultiWorkerMirroredStrategy()


def main():
    args = common.arguments(["graph", "xla"])
    workers = Workers(args, lambda: meeting(args.workers))
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    together = strategy(workers) if workers.count > 1 else None
    tf.keras.utils.set_random_seed(1)  # so workers begin alike
    samples, labels = common.load(args)
    x = tf.constant(samples.transpose(0, 2, 3, 1) if samples.ndim == 4 else samples)
    y = tf.constant(labels)
    model = build(args.layers, workers.share)
    factors = list(common.loss_weights(args.layers).values())
    weights = [variable.value for variable in model.trainable_variables]
    moments = [tf.Variable(tf.zeros_like(w)) for w in weights]

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss, scores = 0.0, model(x, training=True)
            for logits, factor in zip(scores if len(factors) > 1 else [scores], factors):
                loss += factor * tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights)]
        if together:
            gradients = tf.distribute.get_replica_context().all_reduce("mean", gradients)
        for w, m, g in zip(weights, moments, gradients):
            tf.raw_ops.ResourceApplyMomentum(
                var=w.handle, accum=m.handle, lr=common.LEARNING_RATE, grad=g, momentum=common.MOMENTUM)
        return loss

    @tf.function(jit_compile=args.variant == "xla")
    def step(x, y):
        return together.run(replica, (x, y)) if together else replica(x, y)

    source = common.batches(x, y, args.batch, workers)
    common.serve(tf.__version__, sum(w.shape.num_elements() for w in weights),
                 lambda x, y: float(step(x, y)), source, args.batch, workers)


if __name__ == "__main__":
    main()
