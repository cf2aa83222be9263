#!/usr/bin/env python3
"""make_idx.py DIR TRAIN TEST [HEIGHT WIDTH]: a small made data set of four classes, as IDX files.

Class k has a bright bar in quarter k, over noise: easy to learn, the same bytes every time.
"""
import random
import struct
import sys

folder, train, test = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
height, width = (int(v) for v in sys.argv[4:6]) if len(sys.argv) > 4 else (28, 28)
draw = random.Random(1)


def write(name, n):
    labels = bytes(draw.randrange(4) for _ in range(n))
    images = bytearray()
    for label in labels:
        for y in range(height):
            bright = 120 if y * 4 // height == label else 0
            images += bytes(draw.randrange(100) + bright for _ in range(width))
    with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as f:
        f.write(struct.pack(">4I", 0x803, n, height, width) + images)
    with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as f:
        f.write(struct.pack(">2I", 0x801, n) + labels)


write("train", train)
write("t10k", test)
