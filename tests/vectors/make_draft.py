#!/usr/bin/env python3
"""Prints tests/unit/draft_vectors.h: JPEG files, and what Pillow's draft mode makes of them. Made with Pillow 13.0."""
import io

from PIL import Image

# height, width, colours, subsampling, the side that is asked for.
CASES = [(37, 45, 3, 2, 18), (37, 45, 3, 2, 9), (37, 45, 3, 2, 4), (33, 24, 3, 0, 6),
         (33, 24, 3, 0, 3), (40, 29, 1, 0, 9), (40, 29, 1, 0, 4), (17, 60, 3, 1, 5)]


def picture(h, w, c):
    image = Image.new("RGB" if c == 3 else "L", (w, h))
    for y in range(h):
        for x in range(w):
            value = tuple((y * (5 + k) + x * (9 - 2 * k) + (x // 7 + y // 5) % 2 * 60) % 256 for k in range(c))
            image.putpixel((x, y), value if c == 3 else value[0])
    return image


def listed(data):
    return ", ".join(map(str, data))


print("/* Made by tests/vectors/make_draft.py: least, h, w, c, the file, then [h][w][c]. */\n#include <stddef.h>\n#include <stdint.h>\n")
print("static const struct draft_vector {\n    int least, h, w, c;\n    size_t n;\n    uint8_t file[2048], want[2048];\n} vectors[] = {")
for h, w, c, subsampling, least in CASES:
    out = io.BytesIO()
    picture(h, w, c).save(out, "JPEG", quality=50, subsampling=subsampling, optimize=True)
    small = Image.open(io.BytesIO(out.getvalue()))
    small.draft("RGB" if c == 3 else "L", (least, least))
    pixels = small.tobytes()
    assert len(out.getvalue()) <= 2048 and len(pixels) <= 2048
    print(f"    {{{least}, {small.height}, {small.width}, {c}, {len(out.getvalue())}, {{{listed(out.getvalue())}}}, {{{listed(pixels)}}}}},")
print("};")
