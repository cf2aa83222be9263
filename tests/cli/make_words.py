#!/usr/bin/env python3
"""make_words.py FOLDER: train.txt, valid.txt and test.txt of eight words in a fixed order, each line
beginning with any of them."""
import random
import sys

draw = random.Random(2)
words = ["red", "fox", "runs", "over", "nine", "hills", "and", "sleeps"]
for name, n in ("train", 180), ("valid", 60), ("test", 60):
    with open(f"{sys.argv[1]}/{name}.txt", "w") as f:
        for _ in range(n):
            at = draw.randrange(8)
            f.write(" ".join(words[(at + i) % 8] for i in range(draw.randrange(3, 9))) + "\n")
