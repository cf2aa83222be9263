#!/usr/bin/env python3
"""What bench/jpeg/decode.c does, by Pillow or torchvision: DIR SIZE pillow|torchvision WHAT, images held in memory.

WHAT: decode (to an array; brought to SIZE when that is not 0), draft (the same in Pillow's draft mode) or prepare
(decoded, cut from a border of 4, mirrored, normalised). A line of standard input is a number of images.
"""
import glob
import io
import json
import os
import random
import sys
import time

import numpy as np

folder, size, library, what = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
files = [open(path, "rb").read() for path in sorted(glob.glob(os.path.join(folder, "*.jpg")))[:4096]]
draw = random.Random(1)
if library == "pillow":
    import PIL
    from PIL import Image
    version = f"Pillow {PIL.__version__}"

    def load(data):
        image = Image.open(io.BytesIO(data))
        if what == "draft":
            image.draft("RGB", (size, size))
        image = image.convert("RGB")
        return image.resize((size, size), Image.BILINEAR) if size else image

    def one(data):
        image = load(data)
        if what == "prepare":  # as it is usually written with Pillow
            wide = Image.new("RGB", (image.width + 8, image.height + 8))
            wide.paste(image, (4, 4))
            x, y = draw.randrange(9), draw.randrange(9)
            image = wide.crop((x, y, x + image.width, y + image.height))
            if draw.random() < 0.5:
                image = image.transpose(Image.FLIP_LEFT_RIGHT)
            return ((np.asarray(image, np.float32) / 255 - 0.47) / 0.25).transpose(2, 0, 1).copy()
        return np.asarray(image)
else:
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import functional
    torch.set_num_threads(1)
    files = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
    version = f"torchvision {torchvision.__version__}"

    def one(data):
        image = decode_jpeg(data, mode=ImageReadMode.RGB)
        return functional.resize(image, [size, size], antialias=True) if size else image

print(json.dumps({"version": version}), flush=True)
at = 0
for line in sys.stdin:
    n = int(line)
    start = time.perf_counter()
    for i in range(at, at + n):
        one(files[i % len(files)])
    at += n
    print(json.dumps({"samplesPerSecond": n / (time.perf_counter() - start)}), flush=True)
