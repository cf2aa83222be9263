#!/usr/bin/env python3
"""predictions.py WHAT ...: what follows from the events of paceline predict and paceline evaluate.

    confusion EVALUATION PREDICTIONS LABELS   are the counts of the evaluation those of the predictions? LABELS: a
                                              file of one true class per line, in the order of the predictions; or
                                              "folders": the class is the name of the file's folder
    same A B                                  do two files of predictions say the same, but for the names of inputs?
    convert CIFAR LABEL_BYTES                 the images of a CIFAR file as images.idx, images.npy and images.csv,
                                              and its classes as labels
    numbers EVALUATION PREDICTIONS NPY        is the mean absolute error of the evaluation that of the predictions? NPY:
                                              the true values, <f8
    bits EVALUATION PREDICTIONS NPY           the same of the share of labels that are right; |b1
    text EVALUATION PREDICTIONS WORDS         the same of loss and accuracy of a text of so many words
    table NPY                                 rows of <f4 vectors as table.csv
"""
import json
import os
import struct
import sys


def events(path, name):
    return [e for e in map(json.loads, open(path)) if e["event"] == name]


def confusion(evaluation, predictions, labels):
    told, = events(evaluation, "evaluation")
    made = events(predictions, "prediction")
    if labels == "folders":
        names = told["classes"]
        true = [names.index(os.path.basename(os.path.dirname(e["input"]))) for e in made]
        assert all(e["label"] == names[e["class"]] for e in made), "labels"
    else:
        true = [int(line) for line in open(labels)]
    assert len(true) == len(made) == told["samples"], (len(true), len(made), told["samples"])
    assert [e["index"] for e in made] == list(range(len(made))), "index"
    counts = [[0] * len(row) for row in told["confusion"]]
    for label, e in zip(true, made):
        counts[label][e["class"]] += 1
        top = e["top"][0]
        assert (top["class"], top["probability"]) == (e["class"], e["probability"]), e
        assert e["probability"] == max(e["probabilities"]) == e["probabilities"][e["class"]], e
        assert abs(sum(e["probabilities"]) - 1) < 1e-5, e
        order = sorted(range(len(counts)), key=lambda c: (-e["probabilities"][c], c))
        assert [t["class"] for t in e["top"]] == order[:len(e["top"])], e
    assert counts == told["confusion"], (counts, told["confusion"])


def same(a, b):
    a, b = ([{k: v for k, v in e.items() if k not in ("input", "sample", "time")} for e in events(path, "prediction")]
            for path in (a, b))
    assert a and a == b, f"{len(a)} and {len(b)} predictions differ"


def rows_of(path, code):
    data = open(path, "rb").read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    n, width = eval(data[10:begin].decode())["shape"]
    values = struct.unpack(f"<{n * width}{code}", data[begin:])
    return [values[i * width:(i + 1) * width] for i in range(n)]


def numbers(evaluation, predictions, path):
    told, = events(evaluation, "evaluation")
    made, true = events(predictions, "prediction"), rows_of(path, "d")
    assert len(made) == len(true) == told["samples"] and all(len(e["values"]) == 2 for e in made)
    errors = [abs(v - t) for e, row in zip(made, true) for v, t in zip(e["values"], row)]
    assert abs(sum(errors) / len(errors) - told["mae"]) < 1e-5, (sum(errors) / len(errors), told)


def bits(evaluation, predictions, path):
    told, = events(evaluation, "evaluation")
    made, true = events(predictions, "prediction"), rows_of(path, "?")
    assert len(made) == len(true) == told["samples"]
    assert all(e["labels"] == [i for i, p in enumerate(e["probabilities"]) if p > 0.5] for e in made)
    right = [(i in e["labels"]) == t for e, row in zip(made, true) for i, t in enumerate(row)]
    assert abs(sum(right) / len(right) - told["binaryAccuracy"]) < 1e-9, (sum(right) / len(right), told)


def text(evaluation, predictions, words):
    told, = events(evaluation, "evaluation")
    made, = events(predictions, "prediction")
    assert made["words"] == int(words) and told["samples"] == int(words) - 1, (made, told)
    assert abs(made["loss"] - told["loss"]) < 1e-12 * told["loss"], (made["loss"], told["loss"])
    assert abs(made["perplexity"] - told["perplexity"]) < 1e-12 * told["perplexity"], (made, told)
    assert abs(made["accuracy"] - told["accuracy"]) < 1e-12, (made, told)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def convert(path, label_bytes):
    data, step = open(path, "rb").read(), 3072 + int(label_bytes)
    records = [data[i:i + step] for i in range(0, len(data), step)]
    images = [r[int(label_bytes):] for r in records]
    with open("labels", "w") as f:
        f.writelines(f"{r[int(label_bytes) - 1]}\n" for r in records)
    with open("images.idx", "wb") as f:
        f.write(struct.pack(">5I", 0x804, len(images), 3, 32, 32) + b"".join(images))
    with open("images.npy", "wb") as f:
        f.write(npy("|u1", (len(images), 3, 32, 32), b"".join(images)))
    with open("images.csv", "w") as f:
        f.write("name," + ",".join(f"p{i}" for i in range(3072)) + "\n")
        f.writelines(f"image {k}," + ",".join(map(str, image)) + "\n" for k, image in enumerate(images))


def table(path):
    rows = rows_of(path, "f")
    with open("table.csv", "w") as f:
        f.write(";".join(f"v{i}" for i in range(len(rows[0]))) + "\n")
        f.writelines(";".join(map(repr, row)) + "\n" for row in rows)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
