#!/usr/bin/env python3
"""Makes the whole-model vectors of this folder with PyTorch (the peer in bench/peers).

    bench/peers/install.sh torch && .venv-torch/bin/python tests/vectors/make_models.py

For each network: a TrainingJob with its layers (NAME.yaml) and NAME.safetensors with the inputs and
what PyTorch computes from them, in double precision; README.md says which tensors there are.
"""

import gzip
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional as F

FOLDER = pathlib.Path(__file__).parent
IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
LEARNING_RATE, MOMENTUM, STEPS = 0.02, 0.9, 3
SAMPLED = 64  # entries kept of a tensor too large to store


def conv(name, filters, kernel, stride=1, padding="valid"):
    return dict(type="conv", name=name, filters=filters, kernel=kernel, stride=stride, padding=padding)


def pool(kind, kernel, stride=2, padding="valid"):
    return dict(type=kind, kernel=kernel, stride=stride, padding=padding)


def dense(name, units):
    return dict(type="dense", name=name, units=units)


def plain(kind):
    return dict(type=kind)


NETWORKS = {
    "conv-tanh": dict(
        shape=(3, 21, 19), classes=5, samples=6, loss="softmaxCrossEntropy", stored=True,
        layers=[conv("conv1", 6, 5, padding="same"), plain("relu"), pool("maxpool", 2),
                conv("conv2", 10, 3, stride=2), plain("relu"), pool("avgpool", 2),
                plain("flatten"), dense("dense1", 17), plain("tanh"), dense("dense2", 5)]),
    "squared-sigmoid": dict(
        shape=(2, 9, 12), classes=4, samples=5, loss="squaredError", stored=True,
        layers=[conv("conv1", 5, [4, 3], stride=[2, 1], padding="same"), plain("tanh"),
                pool("maxpool", [3, 2], padding="same"), plain("flatten"),
                dense("dense1", 9), plain("sigmoid"), dense("dense2", 4)]),
    "fashion-cnn": dict(
        shape=(1, 28, 28), classes=10, samples=2, loss="softmaxCrossEntropy", stored=False,
        layers=[conv("conv1", 32, 5, padding="same"), plain("relu"), pool("maxpool", 2),
                conv("conv2", 64, 5, padding="same"), plain("relu"), pool("maxpool", 2),
                plain("flatten"), dense("dense1", 1024), plain("relu"), dense("dense2", 10)]),
}


def pair(value):
    return value if isinstance(value, list) else [value, value]


class Same(nn.Module):
    """Padding as Keras splits it, the smaller half first, before a convolution or a max pool."""

    def __init__(self, inner, kernel, stride, value):
        super().__init__()
        self.inner, self.kernel, self.stride, self.value = inner, kernel, stride, value

    def forward(self, x):
        pads = []
        for axis in (1, 0):
            size, k, s = x.shape[2 + axis], self.kernel[axis], self.stride[axis]
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        return self.inner(F.pad(x, pads, value=self.value))


def module_of(spec, x):
    """The PyTorch module of one layer fed with x, and the module that has its parameters."""
    kind = spec["type"]
    kernel, stride = pair(spec.get("kernel", 1)), pair(spec.get("stride", 1))
    pad_value = 0.0
    if kind == "conv":
        module = nn.Conv2d(x.shape[1], spec["filters"], kernel, stride)
    elif kind == "dense":
        module = nn.Linear(x.shape[1], spec["units"])
    elif kind == "maxpool":
        module, pad_value = nn.MaxPool2d(kernel, stride), -torch.inf
    elif kind == "avgpool":
        module = nn.AvgPool2d(kernel, stride)
    else:
        module = dict(relu=nn.ReLU, tanh=nn.Tanh, sigmoid=nn.Sigmoid, flatten=nn.Flatten)[kind]()
    if spec.get("padding") == "same":
        return Same(module, kernel, stride, pad_value), module
    return module, module


def build(layers, shape):
    modules, parameters, x = [], {}, torch.zeros(1, *shape)
    for spec in layers:
        module, inner = module_of(spec, x)
        for kind, value in inner.named_parameters():
            parameters[f"{spec['name']}.{kind}"] = value
        modules.append(module)
        x = module(x)
    return nn.Sequential(*modules).double(), parameters


def hashed(n, seed):
    """n values in -1..1 from MurmurHash3's finalizer of their index: exact in 24 bits."""
    x = np.arange(n, dtype=np.uint32) + np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x ^= x >> np.uint32(16)
    return ((x >> np.uint32(8)).astype(np.float64) - 2**23) / 2**23


def initialise(parameters):
    """Weights within the power of two below He's uniform bound, biases within 1/32."""
    for seed, value in enumerate(parameters.values()):
        bound = 2.0**-5
        if value.dim() > 1:
            bound = 2.0 ** np.floor(np.log2(np.sqrt(6 / value[0].numel())))
        values = hashed(value.numel(), seed + 1) * bound
        with torch.no_grad():
            value.copy_(torch.from_numpy(values).reshape(value.shape))


def inputs_of(network, name):
    n, shape = network["samples"], network["shape"]
    labels = np.arange(n, dtype=np.uint8) * 2 % network["classes"]
    if name != "fashion-cnn":
        return hashed(n * np.prod(shape), 1000).reshape(n, *shape).astype(np.float32), labels
    images = gzip.decompress((IMAGES / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((IMAGES / "t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
    x = np.frombuffer(images, np.uint8, n * 784).reshape(n, *shape)
    x = (x.astype(np.float32) / np.float32(255) - np.float32(0.2860)) / np.float32(0.3530)
    return x, np.frombuffer(labels, np.uint8, n)


def loss_of(network, outputs, labels):
    if network["loss"] == "softmaxCrossEntropy":
        return F.cross_entropy(outputs, labels)
    target = F.one_hot(labels, network["classes"]).double()
    return ((outputs - target) ** 2).sum(dim=1).mean() / 2


def keep(out, name, value, whole):
    value = value.detach().numpy()
    if whole:
        out[name] = value.astype(np.float32)
        return
    flat = value.reshape(-1)
    index = np.arange(min(flat.size, SAMPLED)) * (flat.size // SAMPLED | 1) % flat.size
    out[name + ".entries"] = flat[index].astype(np.float32)
    out[name + ".sums"] = np.array([flat.sum(), np.abs(flat).sum(), (flat**2).sum()])


def make(name, network):
    model, parameters = build(network["layers"], network["shape"])
    initialise(parameters)
    x, labels = inputs_of(network, name)
    out, whole = {"x": x, "labels": labels}, network["stored"]
    inputs, targets = torch.from_numpy(x).double(), torch.from_numpy(labels.astype(np.int64))
    if whole:
        for key, value in parameters.items():
            keep(out, "initial." + key, value, whole)

    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = loss_of(network, outputs, targets)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out["outputs"] = outputs.detach().numpy().astype(np.float32)
            for key, value in parameters.items():
                keep(out, "gradient." + key, value.grad, whole)
        optimizer.step()
    losses.append(loss_of(network, model(inputs), targets).item())
    out["losses"] = np.array(losses)
    for key, value in parameters.items():
        keep(out, "final." + key, value, whole)
    save_file(out, FOLDER / f"{name}.safetensors")
    (FOLDER / f"{name}.yaml").write_text(job_yaml(name, network))
    print(name, "losses", losses)


def job_yaml(name, network):
    def flow(spec):
        return "{" + ", ".join(f"{key}: {value}" for key, value in spec.items()) + "}"

    c, h, w = network["shape"]
    layers = "".join(f"      - {flow(spec)}\n" for spec in network["layers"])
    return f"""# Made by make_models.py: the network of {name}.safetensors, for samples of {c}x{h}x{w}.
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  model:
    loss: {network["loss"]}
    layers:
{layers}  dataset: {{name: fashion-mnist}}
  training:
    batchSize: {network["samples"]}
    lanes: 1
    optimizer: {{name: sgd, learningRate: {LEARNING_RATE}, momentum: {MOMENTUM}}}
"""


if __name__ == "__main__":
    torch.manual_seed(0)
    for name, network in NETWORKS.items():
        make(name, network)
