"""Training steps in PyTorch: forward, backward, update, one core.

eager    as most people write it: NCHW, torch.optim.SGD
best     channels_last and the fused optimiser
compile  the same through torch.compile
"""

import torch
from torch import nn

import common


class Flatten(nn.Module):
    def forward(self, x):
        return torch.flatten(x, 1)


def build(network, shape):
    modules, x = [], torch.zeros(1, *shape)
    for kind, *rest in common.NETWORKS[network]:
        if kind == "conv":
            filters, kernel, padding = rest
            new = [nn.Conv2d(x.shape[1], filters, kernel, padding=padding), nn.ReLU()]
        elif kind == "dense":
            units, activation = rest
            new = [nn.Linear(x.shape[1], units)] + ([nn.ReLU()] if activation else [])
        else:
            new = [{"pool": lambda: nn.MaxPool2d(2), "flatten": Flatten,
                    "dropout": lambda: nn.Dropout(*rest)}[kind]()]
        modules += new
        with torch.no_grad():
            x = nn.Sequential(*new)(x)
    return nn.Sequential(*modules)


def main():
    args = common.arguments(["eager", "best", "compile"])
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    images, labels = common.load(args.data)
    x = torch.from_numpy(images).unsqueeze(1)
    y = torch.from_numpy(labels)
    model = build(args.network, (1, 28, 28))
    tuned = args.variant != "eager"
    if tuned:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=common.LEARNING_RATE,
                                momentum=common.MOMENTUM, **({"fused": True} if tuned else {}))
    criterion = nn.CrossEntropyLoss()
    forward = torch.compile(model) if args.variant == "compile" else model
    model.train()

    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    common.serve(torch.__version__, step, common.batches(x, y, args.batch), args.batch)


if __name__ == "__main__":
    main()
