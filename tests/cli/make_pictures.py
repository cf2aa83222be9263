#!/usr/bin/env python3
"""make_pictures.py DIR TRAIN TEST: a small made set of three classes in DIR/images (PNG, of several
sizes) and of ten in DIR/cifar10, the same bytes every time.

Class k has a bright bar of its own height over noise: easy to learn.
"""
import os
import random
import struct
import sys
import zlib

folder, counts = sys.argv[1], {"train": int(sys.argv[2]), "test": int(sys.argv[3])}
draw = random.Random(1)


def bar(label, classes, height, width):
    """Rows of RGB."""
    return [[[draw.randrange(100) + (120 if y * classes // height == label else 0) for _ in range(3)]
             for _ in range(width)] for y in range(height)]


def png(path, rows):
    raw = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", len(rows[0]), len(rows), 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


for part, n in counts.items():
    for label, name in enumerate(("cat", "dog", "eel")):
        os.makedirs(f"{folder}/images/{part}/{name}")
        for i in range(n):
            png(f"{folder}/images/{part}/{name}/{i}.png", bar(label, 3, 12 + i % 3, 10 + i % 5))

os.makedirs(f"{folder}/cifar10")
for name, n in [(f"data_batch_{i}", counts["train"]) for i in range(1, 6)] + [("test_batch", counts["test"])]:
    with open(f"{folder}/cifar10/{name}.bin", "wb") as f:
        for _ in range(n):
            label = draw.randrange(10)
            rows = bar(label, 10, 32, 32)
            f.write(bytes([label] + [rows[y][x][c] for c in range(3) for y in range(32) for x in range(32)]))
