"""values_oracle.py DATA CHECKPOINT LAST: the metrics of DATA's test set by a network of dense layers with ReLU between,
whose weights are in the checkpoint, as one line of JSON; LAST is the field's name of the loss. Plain Python, in double."""
import json
import math
import struct
import sys

folder, checkpoint, loss = sys.argv[1:]


def array(path):
    raw = open(path, "rb").read()
    header = eval(raw[10:raw.index(b"\n")])
    code = {"<f4": "f", "<f8": "d", "|b1": "?"}[header["descr"]]
    values = [float(v[0]) for v in struct.iter_unpack("<" + code, raw[raw.index(b"\n") + 1:])]
    each = header["shape"][1]
    return [values[i:i + each] for i in range(0, len(values), each)]


def tensors(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + n])
    for name, t in head.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = t["data_offsets"]
            yield name, t["shape"], struct.unpack(f"<{(b - a) // 4}f", raw[8 + n + a:8 + n + b])


weights = {name: (shape, values) for name, shape, values in tensors(checkpoint)}


def outputs(x):
    for layer in (1, 2):
        (units, each), w = weights[f"dense{layer}.weight"]
        b = weights[f"dense{layer}.bias"][1]
        x = [b[u] + sum(w[u * each + k] * x[k] for k in range(each)) for u in range(units)]
        if layer == 1:
            x = [max(v, 0.0) for v in x]
    return x


rows, labels = array(f"{folder}/test-x.npy"), array(f"{folder}/test-y.npy")
y = [outputs(x) for x in rows]
t = [[struct.unpack("f", struct.pack("f", v))[0] for v in row] for row in labels]
pairs = [(a, b) for r, s in zip(y, t) for a, b in zip(r, s)]
n, k = len(y), len(y[0])


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def of_numbers():
    def r2(i):
        middle = mean(s[i] for s in t)
        return 1 - math.fsum((r[i] - s[i]) ** 2 for r, s in zip(y, t)) / math.fsum((s[i] - middle) ** 2 for s in t)

    d = [a - b for a, b in pairs]
    losses = {"mse": lambda v: v * v, "mae": abs, "huber": lambda v: v * v / 2 if abs(v) < 1.5 else 1.5 * (abs(v) - 0.75)}
    return {"loss": mean(losses[loss](v) for v in d), "mae": mean(map(abs, d)), "rmse": math.sqrt(mean(v * v for v in d)),
            "r2": mean(r2(i) for i in range(k))}


def of_bits():
    said = [[v > 0 for v in r] for r in y]
    counts = [(sum(p[i] and s[i] > 0 for p, s in zip(said, t)), sum(p[i] for p in said), sum(s[i] for s in t)) for i in range(k)]
    return {"loss": mean(math.log1p(math.exp(-a if b else a)) for a, b in pairs),
            "accuracy": mean(p == [v > 0 for v in s] for p, s in zip(said, t)),
            "binaryAccuracy": mean((a > 0) == (b > 0) for a, b in pairs),
            "precision": mean(r / m if m else 0 for r, m, _ in counts), "recall": mean(r / s if s else 0 for r, _, s in counts),
            "f1": mean(2 * r / (m + s) if m + s else 0 for r, m, s in counts)}


print(json.dumps(of_bits() if loss == "sigmoidCrossEntropy" else of_numbers()))
