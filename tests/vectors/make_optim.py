#!/usr/bin/env python3
"""Steps of the optimisers of PyTorch and Keras, in double precision, as vectors for test_optim.c.

    python tests/vectors/make_optim.py torch tests/vectors/optim-torch.txt
    KERAS_BACKEND=tensorflow python tests/vectors/make_optim.py keras tests/vectors/optim-keras.txt

Made once with PyTorch 2.15 and Keras 3.15 on TensorFlow 2.21. A line is a name and numbers: the
initial weights, the learning rate of each step, a gradient per step, then per optimiser the weights
after the last step.
"""
import random
import sys

WEIGHTS, STEPS = 6, 12
RATES = [0.01 / (1 + 0.25 * (t % 4)) for t in range(STEPS)]


def inputs():
    """Single-precision numbers, so that both sides start from the same values."""
    import struct

    def single(x):
        return struct.unpack("f", struct.pack("f", x))[0]

    source = random.Random(3)
    weights = [single(source.uniform(-1, 1)) for _ in range(WEIGHTS)]
    scales = [1, 1, 1e-3, 10, 1e-6, 0.1]
    gradients = [[single(source.gauss(0, s)) for s in scales] for _ in range(STEPS)]
    return weights, gradients


def torch_cases():
    import torch.optim as o

    def adam(optimizer, **more):
        return lambda p: optimizer(p, betas=(0.8, 0.95), eps=1e-4, **more)

    return {
        "sgd": lambda p: o.SGD(p),
        "momentum": lambda p: o.SGD(p, momentum=0.9, weight_decay=0.1),
        "dampening": lambda p: o.SGD(p, momentum=0.9, dampening=0.3),
        "nesterov": lambda p: o.SGD(p, momentum=0.9, nesterov=True),
        "adam": adam(o.Adam, weight_decay=0.1),
        "adamw": adam(o.AdamW, weight_decay=0.2),
        "adagrad": lambda p: o.Adagrad(p, eps=1e-4, initial_accumulator_value=0.1),
        "adadelta": lambda p: o.Adadelta(p, rho=0.8, eps=1e-4),
        "rmsprop": lambda p: o.RMSprop(p, alpha=0.8, eps=1e-4),
        "rmsprop-momentum": lambda p: o.RMSprop(p, alpha=0.8, eps=1e-4, momentum=0.9),
        "rmsprop-centered": lambda p: o.RMSprop(p, alpha=0.8, eps=1e-4, momentum=0.9, centered=True),
    }


def run_torch(weights, gradients):
    import torch

    for name, make in torch_cases().items():
        w = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
        optimizer = make([w])
        for rate, gradient in zip(RATES, gradients):
            optimizer.param_groups[0]["lr"] = rate
            w.grad = torch.tensor(gradient, dtype=torch.float64)
            optimizer.step()
        yield name, w.tolist()


def keras_cases():
    from keras import optimizers as o

    adam = {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-4}
    rms = {"rho": 0.8, "epsilon": 1e-4}
    return {
        "sgd": lambda: o.SGD(),
        "momentum": lambda: o.SGD(momentum=0.9),
        "nesterov": lambda: o.SGD(momentum=0.9, nesterov=True),
        "adam": lambda: o.Adam(**adam),
        "adamw": lambda: o.AdamW(weight_decay=0.2, **adam),
        "adagrad": lambda: o.Adagrad(initial_accumulator_value=0.1, epsilon=1e-4),
        "adadelta": lambda: o.Adadelta(rho=0.8, epsilon=1e-4),
        "rmsprop": lambda: o.RMSprop(**rms),
        "rmsprop-momentum": lambda: o.RMSprop(momentum=0.9, **rms),
        "rmsprop-centered": lambda: o.RMSprop(momentum=0.9, centered=True, **rms),
    }


def run_keras(weights, gradients):
    import keras

    keras.backend.set_floatx("float64")
    for name, make in keras_cases().items():
        w = keras.Variable(weights, dtype="float64")
        optimizer = make()
        for rate, gradient in zip(RATES, gradients):
            optimizer.learning_rate = rate
            optimizer.apply([keras.ops.convert_to_tensor(gradient, dtype="float64")], [w])
        yield name, [float(x) for x in keras.ops.convert_to_numpy(w)]


def main():
    weights, gradients = inputs()
    run = {"torch": run_torch, "keras": run_keras}[sys.argv[1]]

    def line(name, values):
        return " ".join([name] + [float(v).hex() for v in values]) + "\n"

    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write(line("weights", weights))
        out.write(line("rates", RATES))
        for gradient in gradients:
            out.write(line("gradient", gradient))
        for name, values in run(weights, gradients):
            out.write(line(name, values))


if __name__ == "__main__":
    main()
