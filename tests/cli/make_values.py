#!/usr/bin/env python3
"""make_values.py DIR TRAIN TEST: samples whose labels are values, as .npy files in DIR/numbers and DIR/bits.

A sample x is six numbers. numbers: two labels (<f8) of different sizes, 3 + 2 * (x0 - 2 * x1) and x2 * x3 + x4, each
with noise of a tenth of its spread. bits: five labels (|b1), of which the last is rare: whether sums of x are large.
"""
import os
import random
import struct
import sys

from make_arrays import npy

folder, sizes = sys.argv[1], {"train": int(sys.argv[2]), "test": int(sys.argv[3])}
draw = random.Random(11)


def write(path, descr, shape, values, code):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(npy(descr, shape, struct.pack(f"<{len(values)}{code}", *values)))


def numbers(x):
    return [3 + 2 * (x[0] - 2 * x[1]) + draw.gauss(0, 0.45), x[2] * x[3] + x[4] + draw.gauss(0, 0.14)]


def bits(x):
    return [x[0] > 0, x[1] + x[2] > 0.3, x[3] * x[4] > 0, x[0] - x[5] < 0, x[1] > 1.5]


for name, n in sizes.items():
    rows = [[draw.gauss(0, 1) for _ in range(6)] for _ in range(n)]
    for kind, labels_of, descr, code in (("numbers", numbers, "<f8", "d"), ("bits", bits, "|b1", "?")):
        labels = [labels_of(x) for x in rows]
        write(f"{folder}/{kind}/{name}-x.npy", "<f4", (n, 6), [v for x in rows for v in x], "f")
        write(f"{folder}/{kind}/{name}-y.npy", descr, (n, len(labels[0])), [v for y in labels for v in y], code)
