#!/usr/bin/env python3
"""elastic_oracle.py JOB DATA BATCH WORKERS ROWS EPOCHS FORCE OUT: the centre of elastic averaging.

Workers' updates are made by one-worker runs of plain SGD over each worker's own batches (every
WORKERS-th of DATA, ROWS of them in an epoch), and the pulls after each epoch here, in the rounding of
float32. OUT: the centre, as a safetensors file with the tensors alone.
"""
import glob
import json
import os
import struct
import subprocess
import sys
from array import array

job, data, out = sys.argv[1], sys.argv[2], sys.argv[8]
batch, workers, rows, epochs = (int(v) for v in sys.argv[3:7])
PIXELS = 28 * 28


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        values = array("f", f.read())
    header.pop("__metadata__", None)
    return header, values


def write(path, header, values):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + values.tobytes())


def own_data(worker):
    folder = f"own-{worker}"
    os.makedirs(folder, exist_ok=True)
    for kind, head, size in ("images-idx3", 16, PIXELS), ("labels-idx1", 8, 1):
        with open(f"{data}/train-{kind}-ubyte", "rb") as f:
            start, body = bytearray(f.read(head)), f.read()
        start[4:8] = struct.pack(">I", rows * batch)
        mine = b"".join(body[(r * workers + worker) * batch * size:][:batch * size]
                        for r in range(rows))
        with open(f"{folder}/train-{kind}-ubyte", "wb") as f:
            f.write(start + mine)
        test = f"{folder}/t10k-{kind}-ubyte"
        if not os.path.exists(test):
            os.symlink(os.path.abspath(f"{data}/t10k-{kind}-ubyte"), test)
    return folder


def train(folder, start, *sets):
    options = [f"dataset.path={folder}", f"training.steps={rows}", *sets]
    if start:
        options.append(f"model.initialWeights={start}")
    subprocess.run(["rm", "-rf", "alone"], check=True)
    subprocess.run([os.environ["PACELINE"], "run", job, "--out", "alone"]
                   + [a for o in options for a in ("--set", o)],
                   check=True, stdout=subprocess.DEVNULL)
    return read(glob.glob("alone/checkpoint-*.safetensors")[0])


folders = [own_data(w) for w in range(workers)]
header, centre = train(folders[0], None, "training.optimizer.learningRate=0")
force = f32(float(sys.argv[7]))
at = [centre[:] for _ in folders]
for _ in range(epochs):
    pulls = []
    for w, folder in enumerate(folders):
        write("start.safetensors", header, at[w])
        x = train(folder, "start.safetensors")[1]
        d = array("f", (force * f32(a - c) for a, c in zip(x, centre)))
        at[w] = array("f", (a - b for a, b in zip(x, d)))
        pulls.append(d)
    while len(pulls) > 1: # neighbours first: the tree
        pulls = [array("f", (a + b for a, b in zip(*pair))) if len(pair) == 2 else pair[0]
                 for pair in (pulls[i:i + 2] for i in range(0, len(pulls), 2))]
    centre = array("f", (c + d for c, d in zip(centre, pulls[0])))
write(out, header, centre)
