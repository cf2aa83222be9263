#!/usr/bin/env python3
"""difference.py A.safetensors B.safetensors: the largest difference of two tensors of one name, by the
largest magnitude in that tensor, in units of 2^-24 (half the spacing of floats at 1)."""
import json
import struct
import sys


def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            yield name, struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])


a, b = (dict(tensors(path)) for path in sys.argv[1:3])
assert a.keys() == b.keys() and a
print(max(max(abs(x - y) for x, y in zip(a[n], b[n])) / max(1e-30, max(map(abs, a[n])))
          for n in a) * 2 ** 24)
