"""What the peers share: the network as the engine describes it, the data, and the protocol with
bench/run.py.

A peer is started once per network, batch and variant, builds the network layer by layer from the
engine's own description (`paceline-worker bench --describe`), makes one step, and prints a line of
JSON. Then each line on its standard input is a number of steps to run; it answers with a line of
JSON.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

LEARNING_RATE, MOMENTUM = 0.001, 0.9  # as bench/run.py writes into the job
SAMPLES = 8192  # of a set, held normalised in memory
VALUES = 1 << 24  # at most, of made samples


def arguments(variants):
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", type=pathlib.Path, help="lines of JSON; else the job in PACELINE_JOB "
                        "is asked for, of the program in PACELINE_WORKER, as `paceline study` names them")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--variant", choices=variants, required=True)
    parser.add_argument("--data", type=pathlib.Path, help="IDX files; else noise of the same shape")
    parser.add_argument("--workers", type=int, default=1, help="that share the batch, one core each")
    args = parser.parse_args()
    args.layers = [json.loads(line) for line in description(args.network).splitlines()]
    return args


def description(path):
    if path:
        return path.read_text()
    command = [os.environ["PACELINE_WORKER"], "bench", "--describe", "--spec", os.environ["PACELINE_JOB"]]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout


def users(layers):
    """How many layers take each output."""
    count = {}
    for layer in layers:
        for name in layer["inputs"]:
            count[name] = count.get(name, 0) + 1
    return count


def loss_weights(layers):
    """Names of the layers that are scored, and how often their losses count: the last one's once."""
    sides = {layer["name"]: layer["lossWeight"] for layer in layers if layer["lossWeight"]}
    return {layers[-1]["name"]: 1.0, **sides}


def padding_behind(layer, axis):
    """Rows (axis 0) or columns of padding that windows need below or to the right."""
    need = (layer["out"][1 + axis] - 1) * layer["stride"][axis] + layer["kernel"][axis]
    return max(0, need - layer["in"][1 + axis] - layer["padding"][axis])


def load(args):
    """Samples as float32 [n][c][h][w], normalised, or words [n][positions]; labels as int64: the
    same in every worker."""
    import numpy as np

    first, last = args.layers[0], args.layers[-1]
    rng = np.random.default_rng(1)
    classes, positions = last["out"][0], last["out"][2]
    if first["type"] == "embedding":
        shape = (args.batch * 8, positions)
        return rng.integers(0, classes, shape), rng.integers(0, classes, shape)
    if args.data:
        return images(args.data)
    shape = first["in"]
    n = max(args.batch, min(SAMPLES, VALUES // (shape[0] * shape[1] * shape[2])))
    return rng.standard_normal((n, *shape), np.float32), rng.integers(0, classes, n)


def images(folder):
    import numpy as np

    def idx(name, header):
        packed = folder / (name + ".gz")
        raw = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
        return np.frombuffer(raw, np.uint8, offset=header)

    pixels = idx("train-images-idx3-ubyte", 16)[: SAMPLES * 784].reshape(-1, 1, 28, 28)
    labels = idx("train-labels-idx1-ubyte", 8)[:SAMPLES]
    x = (pixels.astype(np.float32) / np.float32(255) - np.float32(0.2860)) / np.float32(0.3530)
    return x, labels.astype(np.int64)


def batches(x, y, batch, workers):
    """Endless slices in memory, a worker's share of each batch; a peer gathers nothing while it is measured."""
    first = workers.rank * workers.share
    while True:
        for i in range(first, len(x) - batch + 1 + first, batch):
            yield x[i : i + workers.share], y[i : i + workers.share]


def peak_memory_mib():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def serve(version, parameters, step, source, batch, workers):
    """step(x, y) returns the loss as a float, so that asynchronous work has ended. batch: of all workers."""
    loss = step(*next(source))
    print(json.dumps({"version": version, "parameters": parameters, "loss": loss}), flush=True)
    for line in sys.stdin:
        steps = int(line)
        workers.tell(line)
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
