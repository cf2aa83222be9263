"""Training steps in PyTorch: forward, backward, update, one core.

eager    as most people write it: NCHW, torch.optim.SGD
best     channels_last, ReLU in place and the fused optimiser
compile  the same through torch.compile
bf16     best with autocast of the forward pass to bfloat16

Several workers: DistributedDataParallel over Gloo.
"""

import atexit
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional

import common
from workers import Workers


class Add(nn.Module):
    def forward(self, *x):
        return sum(x[1:], start=x[0])


class Concat(nn.Module):
    def forward(self, *x):
        return torch.cat(x, 1)


class PadChannels(nn.Module):
    def __init__(self, more):
        super().__init__()
        self.more = more

    def forward(self, x):
        return functional.pad(x, (0, 0, 0, 0, 0, self.more))


class Flatten(nn.Module):
    """Of each sample, or of nothing: a dense layer of a text works on each position."""

    def forward(self, x):
        return torch.flatten(x, 1)


class Lstm(nn.Module):
    """Its state goes on from batch to batch. The second bias stays zero, as the engine has one."""

    def __init__(self, inputs, units):
        super().__init__()
        self.cells = nn.LSTM(inputs, units, batch_first=True)
        nn.init.zeros_(self.cells.bias_hh_l0)
        self.cells.bias_hh_l0.requires_grad_(False)
        self.state = None

    def forward(self, x):
        y, state = self.cells(x, self.state)
        self.state = tuple(s.detach() for s in state)
        return y


def window(make, layer, **options):
    """With the padding of both sides the larger one where that gives as many windows, which spares
    PyTorch a pass over the map."""
    before = layer["padding"]
    behind = [common.padding_behind(layer, axis) for axis in (0, 1)]
    pads = [max(b, a) for b, a in zip(before, behind)]
    sizes = [(size + 2 * pad - kernel) // stride + 1 for size, pad, kernel, stride in
             zip(layer["in"][1:], pads, layer["kernel"], layer["stride"])]
    if sizes != layer["out"][1:]:
        raise SystemExit(f"{layer['name']}: padding {before}, {behind} is not even")
    return make(kernel_size=layer["kernel"], stride=layer["stride"], padding=pads, **options)


def convolution(layer):
    return window(lambda **o: nn.Conv2d(layer["in"][0], layer["out"][0], bias=layer["bias"], **o), layer)


def made(layer, in_place):
    kind, before, units = layer["type"], layer["in"][0], layer["out"][0]
    return {
        "conv": lambda: convolution(layer),
        "dense": lambda: nn.Linear(before, units, bias=layer["bias"]),
        "maxpool": lambda: window(nn.MaxPool2d, layer),
        "avgpool": lambda: window(nn.AvgPool2d, layer, count_include_pad=False),
        "globalavgpool": lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        "batchnorm": lambda: nn.BatchNorm2d(units, eps=layer["epsilon"], momentum=layer["momentum"]),
        "lrn": lambda: nn.LocalResponseNorm(layer["size"], layer["alpha"] * layer["size"],
                                            layer["beta"], layer["k"]),
        "add": Add,
        "concat": Concat,
        "padchannels": lambda: PadChannels(units - before),
        "relu": lambda: nn.ReLU(inplace=in_place),
        "sigmoid": nn.Sigmoid,
        "tanh": nn.Tanh,
        "dropout": lambda: nn.Dropout(layer["rate"]),
        "flatten": Flatten,
        "embedding": lambda: nn.Embedding(layer["vocabulary"], units),
        "lstm": lambda: Lstm(before, units),
    }[kind]()


class Network(nn.Module):
    def __init__(self, layers, tuned):
        super().__init__()
        count = common.users(layers)
        self.names = [layer["name"] for layer in layers]
        self.inputs = [layer["inputs"] for layer in layers]
        self.weights = common.loss_weights(layers)
        self.parts = nn.ModuleList(
            made(layer, tuned and count[layer["inputs"][0]] == 1) for layer in layers)

    def forward(self, x):
        values = {"input": x}
        for name, inputs, part in zip(self.names, self.inputs, self.parts):
            values[name] = part(*(values[i] for i in inputs))
        return [values[name] for name in self.weights]


def meeting():
    file, path = tempfile.mkstemp()
    os.close(file)
    atexit.register(os.remove, path)
    return {"PEER_STORE": path, "GLOO_SOCKET_IFNAME": "lo"}


def distributed(model, workers):
    torch.distributed.init_process_group("gloo", init_method="file://" + os.environ["PEER_STORE"],
                                         world_size=workers.count, rank=workers.rank)
    return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)


def main():
    args = common.arguments(["eager", "best", "compile", "bf16"])
    workers = Workers(args, meeting)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    x, y = (torch.from_numpy(a) for a in common.load(args))
    tuned = args.variant != "eager"
    model = Network(args.layers, tuned)
    if tuned and x.dim() == 4:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=common.LEARNING_RATE, momentum=common.MOMENTUM,
                                **({"fused": True} if tuned else {}))
    criterion = nn.CrossEntropyLoss()
    weights = list(model.weights.values())
    shared = distributed(model, workers) if workers.count > 1 else model
    forward = torch.compile(shared) if args.variant == "compile" else shared
    model.train()

    def step(x, y):
        optimizer.zero_grad()
        loss = 0
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.variant == "bf16"):
            for scores, weight in zip(forward(x), weights):
                scores = scores.reshape(-1, scores.shape[-1])
                loss = loss + weight * criterion(scores, y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.item()

    common.serve(torch.__version__, sum(p.numel() for p in trained), step,
                 common.batches(x, y, args.batch, workers), args.batch, workers)


if __name__ == "__main__":
    main()
