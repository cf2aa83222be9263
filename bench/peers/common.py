"""What the peers share: the networks, the data, and the protocol with bench/run.py.

A peer is started once per network, batch and variant, makes one step, and prints a line of JSON.
Then each line on its standard input is a number of steps to run; it answers with a line of JSON.
"""

import argparse
import gzip
import json
import pathlib
import sys
import time

NETWORKS = {
    "fashion-cnn": [
        ("conv", 32, 5, "same"), ("pool",), ("conv", 64, 5, "same"), ("pool",), ("flatten",),
        ("dense", 1024, "relu"), ("dropout", 0.4), ("dense", 10, None),
    ],
    "mnist-cnn": [
        ("conv", 32, 3, "valid"), ("conv", 64, 3, "valid"), ("pool",), ("dropout", 0.25),
        ("flatten",), ("dense", 128, "relu"), ("dropout", 0.5), ("dense", 10, None),
    ],
}
LEARNING_RATE, MOMENTUM = 0.05, 0.9
SAMPLES = 8192  # of the training set, held normalised in memory


def arguments(variants):
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--variant", choices=variants, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    return parser.parse_args()


def load(folder):
    """Images as float32 [n][28][28], normalised, and labels as int64."""
    import numpy as np

    def idx(name, header):
        packed = folder / (name + ".gz")
        raw = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
        return np.frombuffer(raw, np.uint8, offset=header)

    images = idx("train-images-idx3-ubyte", 16)[: SAMPLES * 784].reshape(-1, 28, 28)
    labels = idx("train-labels-idx1-ubyte", 8)[:SAMPLES]
    x = (images.astype(np.float32) / np.float32(255) - np.float32(0.2860)) / np.float32(0.3530)
    return x, labels.astype(np.int64)


def batches(x, y, batch):
    """Endless slices in memory; a peer gathers nothing while it is measured."""
    while True:
        for i in range(0, len(x) - batch + 1, batch):
            yield x[i : i + batch], y[i : i + batch]


def peak_memory_mib():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def serve(version, step, source, batch):
    """step(x, y) returns the loss as a float, so that asynchronous work has ended."""
    loss = step(*next(source))
    print(json.dumps({"version": version, "loss": loss}), flush=True)
    for line in sys.stdin:
        steps = int(line)
        begin = time.perf_counter()
        for _ in range(steps):
            loss = step(*next(source))
        seconds = time.perf_counter() - begin
        answer = {
            "samplesPerSecond": steps * batch / seconds,
            "stepMs": seconds / steps * 1e3,
            "memoryMiB": peak_memory_mib(),
            "loss": loss,
        }
        print(json.dumps(answer), flush=True)
