#!/usr/bin/env python3
"""Prints tests/unit/resize_vectors.h: what Pillow's BILINEAR makes of made images.

Rows first, then columns: of both at once Pillow chooses the order by the sizes. Made with Pillow 13.0.
"""
from PIL import Image

CASES = [(7, 5, 3, 4, 3), (5, 7, 9, 11, 3), (40, 33, 8, 8, 1), (1, 1, 3, 2, 3), (60, 3, 4, 3, 3),
         (3, 60, 3, 7, 1), (300, 200, 2, 2, 3), (32, 32, 24, 40, 1), (9, 9, 9, 9, 3)]


def pixel(y, x, c):
    return y * 37 + x * x * 11 + c * 91 + x * y * 5 & 255


print("/* Made by tests/vectors/make_resize.py: h, w, to_h, to_w, c, then [c][to_h][to_w]. */\n#include <stdint.h>\n")
print("static const struct resize_vector {\n    int h, w, to_h, to_w, c;\n    uint8_t want[1024];\n} vectors[] = {")
for h, w, to_h, to_w, c in CASES:
    image = Image.new("RGB" if c == 3 else "L", (w, h))
    for y in range(h):
        for x in range(w):
            value = tuple(pixel(y, x, k) for k in range(c))
            image.putpixel((x, y), value if c == 3 else value[0])
    small = image.resize((w, to_h), Image.BILINEAR).resize((to_w, to_h), Image.BILINEAR)
    planes = small.split()
    values = [p for plane in planes for p in plane.tobytes()]
    print(f"    {{{h}, {w}, {to_h}, {to_w}, {c}, {{{', '.join(map(str, values))}}}}},")
print("};")
