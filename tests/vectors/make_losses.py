#!/usr/bin/env python3
"""Losses and gradients of PyTorch, and scores of scikit-learn, in double precision, for the unit tests.

    python tests/vectors/make_losses.py torch tests/vectors/losses-torch.txt
    python tests/vectors/make_losses.py sklearn tests/vectors/scores-sklearn.txt

A line is a name, the sizes of a batch (rows, outputs), the outputs, the labels, and what the library makes of them:
the loss (and before the sizes the delta of huber) and the gradient of each output; or the scores. README.md says which.
"""
import random
import struct
import sys

draw = random.Random(5)


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def outputs(rows, columns, scale):
    return [[single(draw.gauss(0, scale)) for _ in range(columns)] for _ in range(rows)]


def bits(rows, columns):
    return [[float(draw.random() < 0.4) for _ in range(columns)] for _ in range(rows)]


def flat(rows):
    return [v for row in rows for v in row]


def line(*values):
    print(*(v.hex() if isinstance(v, float) else v for v in values))


def torch_losses():
    import torch
    from torch import nn

    def case(name, delta, loss, y, t):
        at = torch.tensor(y, dtype=torch.float64, requires_grad=True)
        value = loss(at, torch.tensor(t, dtype=torch.float64))
        value.backward()
        line(name, float(delta), len(y), len(y[0]), *flat(y), *flat(t), value.item(), *flat(at.grad.tolist()))

    for rows, columns in ((1, 1), (3, 4), (5, 2)):
        y, t = outputs(rows, columns, 2), outputs(rows, columns, 1)
        t[0][0] = y[0][0]
        case("mse", 0, nn.MSELoss(), y, t)
        case("mae", 0, nn.L1Loss(), y, t)
        for delta in (0.25, 1, 3):
            case("huber", delta, nn.HuberLoss(delta=delta), y, t)
        for scale in (1, 30, 300):
            case("sigmoidCrossEntropy", 0, nn.BCEWithLogitsLoss(), outputs(rows, columns, scale), bits(rows, columns))


def sklearn_scores():
    import warnings

    import numpy as np
    from sklearn import metrics

    warnings.simplefilter("ignore")
    for rows, columns, kind in ((40, 1, ""), (40, 3, ""), (7, 2, "one constant"), (7, 2, "one constant and right")):
        t = outputs(rows, columns, 1)
        y = [[single(0.8 * v + draw.gauss(0, 0.3) + 100 * k) for k, v in enumerate(row)] for row in t]
        t = [[single(v + 100 * k) for k, v in enumerate(row)] for row in t]
        for i in range(rows if kind else 0):
            t[i][1] = 3.0
            y[i][1] = 3.0 if "right" in kind else y[i][1]
        squared = metrics.mean_squared_error(t, y)
        line("numbers", rows, columns, *flat(y), *flat(t), float(metrics.mean_absolute_error(t, y)),
             float(np.sqrt(squared)), float(metrics.r2_score(t, y)))
    for rows, columns, never in ((30, 1, False), (30, 4, False), (6, 3, True)):
        t = bits(rows, columns)
        y = [[single(2 * v - 1 + draw.gauss(0, 0.9)) for v in row] for row in t]
        for i in range(rows if never else 0):
            t[i][2], y[i][2] = 0.0, -1.0
        named = [[int(v > 0) for v in row] for row in y]
        real = [[int(v) for v in row] for row in t]
        score = metrics.precision_recall_fscore_support(np.array(real).reshape(rows, columns) if columns > 1 else flat(real),
                                                        np.array(named) if columns > 1 else flat(named),
                                                        average="macro" if columns > 1 else "binary", zero_division=0)
        line("bits", rows, columns, *flat(y), *flat(t), float(metrics.accuracy_score(np.array(real), np.array(named))),
             1 - float(metrics.hamming_loss(np.array(real), np.array(named))), *(float(v) for v in score[:3]))


if __name__ == "__main__":
    sys.stdout = open(sys.argv[2], "w")
    {"torch": torch_losses, "sklearn": sklearn_scores}[sys.argv[1]]()
