#!/usr/bin/env python3
"""pictures.py TAR DIR: JPEGs to decode, of CIFAR-10's in the archive TAR: DIR/small has 1,000 as they are, DIR/large 60
of 500 x 375, as photographs are (quality 90), each made of twelve enlarged ones by Pillow; none without Pillow."""
import io
import os
import sys
import tarfile

archive, folder = sys.argv[1:3]
for name in ("small", "large"):
    os.makedirs(os.path.join(folder, name))
found = []
with tarfile.open(archive) as tar:
    for member in tar:
        if not member.isfile() or not member.name.endswith(".jpg"):
            continue
        found.append(tar.extractfile(member).read())
        if len(found) == 20000:
            break
small = found[::20]
for i, data in enumerate(small):
    with open(os.path.join(folder, "small", f"{i}.jpg"), "wb") as f:
        f.write(data)
try:
    from PIL import Image, ImageFilter
except ImportError:
    sys.exit(0)
for i in range(60):
    image = Image.new("RGB", (512, 384))
    for k in range(12):
        tile = Image.open(io.BytesIO(small[(12 * i + k) % len(small)])).resize((128, 128), Image.BICUBIC)
        image.paste(tile, (k % 4 * 128, k // 4 * 128))
    image = image.crop((0, 0, 500, 375)).filter(ImageFilter.UnsharpMask(2, 150))
    image.save(os.path.join(folder, "large", f"{i}.jpg"), quality=90)
