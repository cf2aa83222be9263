#!/usr/bin/env python3
"""Makes the vectors of networks that branch, with PyTorch (the peer in bench/peers).

    bench/peers/install.sh torch && .venv-torch/bin/python tests/vectors/make_graphs.py

Each network is a list of layers (NAME.yaml) and is computed here from torch.nn.functional alone, in
double precision, padding as Keras splits it. README.md says which tensors NAME.safetensors has.
"""

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.nn import functional as F

from make_models import FOLDER, LEARNING_RATE, MOMENTUM, STEPS, hashed, pair


def conv(name, filters, kernel, stride=1, bias=False, **more):
    return dict(type="conv", name=name, filters=filters, kernel=kernel, stride=stride, padding="same",
                bias=bias, **more)


def norm(name, **more):
    return dict(type="batchnorm", name=name, **more)


def relu(name):
    return dict(type="relu", name=name)


def join(kind, name, *inputs):
    return dict(type=kind, name=name, inputs=list(inputs))


HEAD = [dict(type="globalavgpool", name="mean"), dict(type="dense", name="dense1", units=4)]
NETWORKS = {
    # Keras's constants in one norm, PyTorch's in the other; of maps and of rows; without ReLU.
    "norm": dict(shape=(2, 6, 5), samples=6, layers=[
        norm("first"), conv("conv1", 5, 3, bias=True),
        norm("second", epsilon=0.001, momentum=0.01, unbiased=False),
        relu("relu1"), dict(type="globalavgpool", name="mean"), norm("row", momentum=0.3),
        dict(type="dense", name="dense1", units=4)]),
    # On the samples, of maps and of rows.
    "gelu": dict(shape=(2, 6, 5), samples=5, layers=[
        dict(type="gelu", name="a"), conv("conv1", 18, 3, bias=True), dict(type="gelu", name="b"),
        dict(type="globalavgpool", name="mean"), dict(type="dense", name="wide", units=19),
        dict(type="gelu", name="c"), dict(type="dense", name="dense1", units=4)]),
    # On the samples, of maps and of rows.
    "layernorm": dict(shape=(3, 6, 5), samples=5, layers=[
        dict(type="layernorm", name="a"), conv("conv1", 18, 3, bias=True), dict(type="layernorm", name="b", epsilon=0.01),
        relu("c"), dict(type="globalavgpool", name="mean"), dict(type="layernorm", name="d"),
        dict(type="dense", name="dense1", units=4)]),
    # Two blocks of ResNet, the second half as large: a strided 1x1 convolution is its shortcut.
    "residual-v1": dict(shape=(3, 7, 8), samples=5, layers=[
        conv("stem", 6, 3), norm("stem-norm"), relu("a"),
        conv("b1", 6, 3), norm("b1-norm"), relu("b1-relu"), conv("b2", 6, 3), norm("b2-norm"),
        join("add", "b", "a", "b2-norm"), relu("c"),
        conv("d1", 10, 3, 2), norm("d1-norm"), relu("d1-relu"), conv("d2", 10, 3), norm("d2-norm"),
        conv("shortcut", 10, 1, 2, inputs=["c"]), join("add", "d", "shortcut", "d2-norm"), relu("e"), *HEAD]),
    # Normalisation and ReLU first; bottlenecks.
    "residual-v2": dict(shape=(3, 7, 8), samples=5, layers=[
        conv("stem", 4, 3, bias=True), norm("stem-norm"), relu("a"),
        conv("b1", 4, 1, bias=True), norm("b1-norm"), relu("b1-relu"), conv("b2", 4, 3, bias=True),
        norm("b2-norm"), relu("b2-relu"), conv("b3", 17, 1, bias=True),
        conv("b0", 17, 1, bias=True, inputs=["a"]), join("add", "b", "b0", "b3"),
        norm("c-norm"), relu("c"), conv("c1", 5, 1, 2, bias=True), norm("c1-norm"), relu("c1-relu"),
        conv("c2", 20, 3, bias=True), conv("c0", 20, 1, 2, bias=True, inputs=["b"]),
        join("add", "d", "c0", "c2"), norm("d-norm"), relu("e"), *HEAD]),
    # A dense block and a transition; concatenations that cross blocks of 16 channels.
    "dense-block": dict(shape=(1, 6, 6), samples=6, layers=[
        conv("stem", 10, 3),
        norm("a-norm"), relu("a-relu"), conv("a1", 12, 1), norm("a1-norm"), relu("a1-relu"), conv("a2", 5, 3),
        join("concat", "a", "stem", "a2"),
        norm("b-norm"), relu("b-relu"), conv("b1", 12, 1), norm("b1-norm"), relu("b1-relu"), conv("b2", 5, 3),
        join("concat", "b", "a", "b2"),
        norm("t-norm"), relu("t-relu"), conv("t1", 10, 1),
        dict(type="avgpool", name="t", kernel=2, stride=2, padding="same"), norm("e-norm"), relu("e"), *HEAD]),
    # Fire modules between overlapping pools.
    "fire": dict(shape=(3, 9, 11), samples=4, layers=[
        conv("stem", 8, 7, 2, bias=True), relu("a"),
        dict(type="maxpool", name="pool", kernel=3, stride=2, padding="same"),
        conv("few", 4, 1, bias=True), relu("few-relu"), conv("one", 10, 1, bias=True), relu("one-relu"),
        conv("three", 10, 3, bias=True, inputs=["few-relu"]), relu("three-relu"),
        join("concat", "fire", "one-relu", "three-relu"), conv("last", 4, 1, bias=True), relu("scores"),
        dict(type="globalavgpool", name="mean")]),
    # An inception module between local response normalisations, with a side classifier.
    "inception": dict(shape=(3, 13, 12), samples=5, layers=[
        conv("stem", 18, 3, 2, bias=True), relu("stem-relu"),
        dict(type="lrn", name="first", size=5, alpha=0.3, beta=0.75, k=1.0),
        conv("few3", 5, 1, bias=True), relu("few3-relu"), conv("three", 9, 3, bias=True), relu("three-relu"),
        conv("one", 6, 1, bias=True, inputs=["first"]), relu("one-relu"),
        conv("few5", 3, 1, bias=True, inputs=["first"]), relu("few5-relu"), conv("five", 5, 5, bias=True),
        relu("five-relu"), dict(type="maxpool", name="pool", kernel=3, stride=1, padding="same", inputs=["first"]),
        conv("pooled", 4, 1, bias=True), relu("pooled-relu"),
        join("concat", "a", "one-relu", "three-relu", "five-relu", "pooled-relu"),
        dict(type="avgpool", name="side-pool", kernel=3, stride=2, padding="valid"),
        conv("side-conv", 5, 1, bias=True), relu("side-relu"), dict(type="flatten", name="side-flat"),
        dict(type="dense", name="side-dense", units=7), relu("side-dense-relu"),
        dict(type="dense", name="side", units=4, lossWeight=0.3),
        conv("last", 20, 3, bias=True, inputs=["a"]), relu("last-relu"),
        dict(type="lrn", name="second", size=3, alpha=0.5, beta=0.6, k=2.0), *HEAD]),
}


def padded(x, kernel, stride, value=0.0):
    pads = []
    for axis in (1, 0):
        size, k, s = x.shape[2 + axis], kernel[axis], stride[axis]
        total = max((-(-size // s) - 1) * s + k - size, 0)
        pads += [total // 2, total - total // 2]
    return F.pad(x, pads, value=value)


def normalised(spec, x, p, training):
    name, momentum = spec["name"], spec.get("momentum", 0.1)
    mean, variance = p[name + ".running_mean"], p[name + ".running_var"]
    axes = (0, 2, 3)
    if training:
        n = x.numel() / x.shape[1]
        now = x.mean(axes).detach(), x.var(axes, unbiased=spec.get("unbiased", True)).detach()
        mean += momentum * (now[0] - mean)
        variance += momentum * (now[1] - variance)
    # PyTorch's own running statistics are always unbiased, so they are kept above.
    return F.batch_norm(x, None if training else mean, None if training else variance, p[name + ".weight"],
                        p[name + ".bias"], training, 0, spec.get("epsilon", 1e-5))


def computed(spec, x, p, training):
    kind, name = spec["type"], spec["name"]
    kernel, stride = pair(spec.get("kernel", 1)), pair(spec.get("stride", 1))
    if kind == "conv":
        return F.conv2d(padded(x, kernel, stride), p[name + ".weight"], p.get(name + ".bias"), stride)
    if kind == "batchnorm":
        return normalised(spec, x, p, training)
    if kind == "lrn":  # its alpha is divided by the size
        return F.local_response_norm(x, spec["size"], spec["alpha"] * spec["size"], spec["beta"], spec["k"])
    if kind == "flatten":
        return x.flatten(1)
    if spec.get("padding") == "valid":
        return F.avg_pool2d(x, kernel, stride)
    if kind == "maxpool":
        return F.max_pool2d(padded(x, kernel, stride, -torch.inf), kernel, stride)
    if kind == "avgpool":  # the mean over what is inside
        return F.avg_pool2d(padded(x, kernel, stride), kernel, stride) / F.avg_pool2d(
            padded(torch.ones_like(x), kernel, stride), kernel, stride)
    if kind == "globalavgpool":
        return x.mean((2, 3), keepdim=True)
    if kind == "dense":
        return F.linear(x.flatten(1), p[name + ".weight"], p[name + ".bias"])
    if kind == "layernorm":  # of the channels at each position
        y = F.layer_norm(x.movedim(1, -1), x.shape[1:2], p[name + ".weight"], p[name + ".bias"],
                         spec.get("epsilon", 1e-5))
        return y.movedim(-1, 1)
    if kind == "gelu":
        return F.gelu(x)
    return F.relu(x)


def forward(layers, x, p, training=True, sides=None):
    """Of the last layer; sides gets the weights and outputs of those with a loss of their own."""
    out, last = {}, x
    for spec in layers:
        inputs = [out[name] for name in spec.get("inputs", [])] or [last]
        if spec["type"] == "add":
            last = sum(inputs[1:], inputs[0])
        elif spec["type"] == "concat":
            last = torch.cat(inputs, 1)
        else:
            last = computed(spec, inputs[0], p, training)
        out[spec["name"]] = last
        if sides is not None and "lossWeight" in spec:
            sides.append((spec["lossWeight"], last))
    return last.flatten(1)


def parameters(network):
    """By rule, as make_models.py's, in the order in which the engine has them."""
    p, shapes = {}, {}
    x = torch.zeros(2, *network["shape"], dtype=torch.float64)
    for spec in network["layers"]:
        name = spec["name"]
        inputs = [shapes[i] for i in spec.get("inputs", [])] or [x.shape]
        channels = sum(s[1] for s in inputs) if spec["type"] == "concat" else inputs[0][1]
        made = {}
        if spec["type"] == "conv":
            made["weight"] = (spec["filters"], channels, *pair(spec["kernel"]))
        elif spec["type"] == "dense":
            made["weight"] = (spec["units"], int(np.prod(inputs[0][1:])))
        if made and spec.get("bias", True):
            made["bias"] = (made["weight"][0],)
        if spec["type"] == "batchnorm":
            made = {k: (channels,) for k in ("weight", "bias", "running_mean", "running_var")}
        if spec["type"] == "layernorm":
            made = {k: (channels,) for k in ("weight", "bias")}
        for kind, shape in made.items():
            values = hashed(int(np.prod(shape)), len(p) + 1)
            if len(shape) > 1:
                values *= np.sqrt(3 / np.prod(shape[1:]))
            elif kind in ("weight", "running_var"):
                values = 1 + values / 2
            else:
                values /= 4
            p[f"{name}.{kind}"] = torch.from_numpy(
                values.reshape(shape).astype(np.float32).astype(np.float64))
        if spec["type"] in ("add", "concat"):
            x = torch.zeros(2, channels, *inputs[0][2:], dtype=torch.float64)
        else:
            x = computed(spec, torch.zeros(inputs[0], dtype=torch.float64), p, False)
        shapes[name] = x.shape
    return p


def job_yaml(name, network):
    def value(v):
        return "[" + ", ".join(v) + "]" if isinstance(v, list) else str(v).lower() if isinstance(v, bool) else v

    def flow(spec):
        keys = {k: v for k, v in spec.items() if not (k == "bias" and v and spec["type"] == "conv")}
        if spec["type"] == "batchnorm":
            keys["group"] = network["samples"]
        return "{" + ", ".join(f"{k}: {value(v)}" for k, v in keys.items()) + "}"

    c, h, w = network["shape"]
    layers = "".join(f"      - {flow(spec)}\n" for spec in network["layers"])
    return f"""# Made by make_graphs.py: the network of {name}.safetensors, for samples of {c}x{h}x{w}.
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  model:
    layers:
{layers}  dataset: {{name: fashion-mnist}}
  training:
    batchSize: {network["samples"]}
    lanes: 1
    optimizer: {{name: sgd, learningRate: {LEARNING_RATE}, momentum: {MOMENTUM}}}
"""


def make(name, network):
    n, shape = network["samples"], network["shape"]
    p = parameters(network)
    labels = (np.arange(n) * 3 % 4).astype(np.uint8)
    x = hashed(n * int(np.prod(shape)), 1000).reshape(n, *shape).astype(np.float32)
    inputs, targets = torch.from_numpy(x).double(), torch.from_numpy(labels.astype(np.int64))
    out = {"x": x, "labels": labels}
    out |= {"initial." + k: v.numpy().astype(np.float32) for k, v in p.items()}
    trained = {k: v.requires_grad_() for k, v in p.items() if ".running_" not in k}
    optimizer = torch.optim.SGD(trained.values(), lr=LEARNING_RATE, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        sides = []
        scores = forward(network["layers"], inputs, p, sides=sides)
        loss = F.cross_entropy(scores, targets)
        loss += sum(weight * F.cross_entropy(y, targets) for weight, y in sides)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out["outputs"] = scores.detach().numpy().astype(np.float32)
            out |= {"gradient." + k: v.grad.numpy().astype(np.float32) for k, v in trained.items()}
        optimizer.step()
    with torch.no_grad():
        scores = forward(network["layers"], inputs, p, False)
    out["evaluated"] = scores.numpy().astype(np.float32)
    out["losses"] = np.array(losses)
    out |= {"final." + k: v.detach().numpy().astype(np.float32) for k, v in p.items() if v.dim() == 1}
    save_file(out, FOLDER / f"{name}.safetensors")
    (FOLDER / f"{name}.yaml").write_text(job_yaml(name, network))
    print(name, "losses", losses)


if __name__ == "__main__":
    for name, network in NETWORKS.items():
        make(name, network)
