#!/usr/bin/env python3
"""make_arrays.py DIR TRAIN TEST: samples of two inputs as .npy files, for which neither input is enough.

A spectrum of 40 values has a line in one half or the other; an image of 2 x 6 x 6 has an edge along its rows or its
columns. The class, of four, is both: 2 * half + direction. y are the labels.
"""
import random
import struct
import sys

folder, train, test = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(7)


def npy(descr, shape, data, order="False", version=1):
    """The file's bytes, by NumPy's description of its format."""
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    before = 10 if version == 1 else 12
    header += " " * (-(before + len(header) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def spectrum(half):
    values = [draw.gauss(900, 30) for _ in range(40)]
    at = 20 * half + draw.randrange(2, 18)
    for i in range(at - 1, at + 2):
        values[i] += 200
    return values


def image(direction):
    edge = draw.randrange(2, 5)
    values = []
    for channel in range(2):
        for y in range(6):
            for x in range(6):
                bright = (x if direction else y) >= edge
                values.append((2 * channel - 1) * bright + draw.gauss(0, 0.2))
    return values


def write(name, n):
    labels = [draw.randrange(4) for _ in range(n)]
    files = {
        "spectrum": ("<f4", (n, 40), [v for label in labels for v in spectrum(label // 2)], "f", 1),
        "image": ("<f8", (n, 2, 6, 6), [v for label in labels for v in image(label % 2)], "d", 2),
        "y": ("<i8", (n,), labels, "q", 1),
    }
    for key, (descr, shape, values, code, version) in files.items():
        with open(f"{folder}/{name}-{key}.npy", "wb") as f:
            f.write(npy(descr, shape, struct.pack(f"<{len(values)}{code}", *values), version=version))


if __name__ == "__main__":
    write("train", train)
    write("test", test)
