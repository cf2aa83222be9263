#!/usr/bin/env python3
"""Perplexity of a language model beside PyTorch's, from the same weights on the same text.

    bench/peers/install.sh torch
    paceline run examples/ptb-small.yaml --out first --set training.steps=1 --set training.learningRateSchedule.type=constant
    .venv-torch/bin/python bench/text/perplexity.py first/checkpoint-00000001.safetensors texts/ptb --epochs 3

Trains the network of the checkpoint, layers of embedding, LSTM and a dense one without dropout, with each: with
`paceline run` (of PATH, or PACELINE) from these weights, and with PyTorch, which reads text, weights and batches by itself
as docs/reference/text.md has them. Prints the perplexity of training and of the test text after each epoch, of both.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile

import torch
from torch import nn
from torch.nn import functional

NAMES = {"train": ("train.txt", "ptb.train.txt"), "test": ("test.txt", "ptb.test.txt")}
DTYPES = {"F32": torch.float32}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20, help="of a batch")
    parser.add_argument("--steps", type=int, default=20, help="words of a row")
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--clip", type=float, default=5.0)
    return parser.parse_args()


def tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in DTYPES:
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            found[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found


def words(folder, kind):
    path = next(folder / name for name in NAMES[kind] if (folder / name).exists())
    return [word for line in path.read_text().splitlines() for word in line.split() + ["<eos>"]]


def numbers(folder, vocabulary):
    """{kind: [word numbers]}: the most frequent first, of equals by their bytes; the rest are <unk>."""
    count = collections.Counter(words(folder, "train"))
    ranked = sorted(count, key=lambda word: (-count[word], word.encode()))
    known = {word: i for i, word in enumerate(ranked[:vocabulary])}
    unknown = known.get("<unk>", 0)
    return {kind: torch.tensor([known.get(word, unknown) for word in words(folder, kind)]) for kind in NAMES}


class Model(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(weights["embedding1.weight"].clone(), freeze=False)
        count = sum(name.endswith(".recurrent") and name.startswith("lstm") for name in weights)
        self.cells = nn.ModuleList()
        for i in range(1, count + 1):
            weight, recurrent = weights[f"lstm{i}.weight"], weights[f"lstm{i}.recurrent"]
            cell = nn.LSTM(weight.shape[1], recurrent.shape[1], batch_first=True)
            with torch.no_grad():
                cell.weight_ih_l0.copy_(weight)
                cell.weight_hh_l0.copy_(recurrent)
                cell.bias_ih_l0.copy_(weights[f"lstm{i}.bias"])
                cell.bias_hh_l0.zero_().requires_grad_(False)  # the engine has one bias
            self.cells.append(cell)
        self.dense = nn.Linear(*reversed(weights["dense1.weight"].shape))
        with torch.no_grad():
            self.dense.weight.copy_(weights["dense1.weight"])
            self.dense.bias.copy_(weights["dense1.bias"])

    def forward(self, x, states):
        x, after = self.embedding(x), []
        for cell, state in zip(self.cells, states):
            x, (hidden, memory) = cell(x, state)
            after.append((hidden.detach(), memory.detach()))
        return self.dense(x), after


def batches(text, rows, steps):
    length = len(text) // rows
    streams = text[: length * rows].reshape(rows, length)
    for begin in range(0, (length - 1) // steps * steps, steps):
        yield streams[:, begin : begin + steps], streams[:, begin + 1 : begin + steps + 1]


def epoch(model, text, args, train):
    """The perplexity."""
    states, total, count = [None] * len(model.cells), 0.0, 0
    trained = [p for p in model.parameters() if p.requires_grad]
    for x, y in batches(text, args.rows, args.steps):
        scores, states = model(x, states)
        loss = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="sum")
        total, count = total + loss.item(), count + y.numel()
        if train:
            for p in trained:
                p.grad = None
            (loss / args.rows).backward()
            # clip_grad_norm_ sums in float: 1e-4 off for a million values, which moves perplexity by a percent.
            norm = math.sqrt(sum(p.grad.double().square().sum().item() for p in trained))
            rate = args.rate * (args.clip / norm if 0 < args.clip < norm else 1)
            with torch.no_grad():
                for p in trained:
                    p -= rate * p.grad
    return math.exp(total / count)


def of_torch(args, weights):
    model = Model(weights)
    text = numbers(args.text, len(weights["embedding1.weight"]))
    for _ in range(args.epochs):
        trained = epoch(model, text["train"], args, True)
        with torch.no_grad():
            yield trained, epoch(model, text["test"], args, False)


def of_paceline(args):
    job = args.checkpoint.parent / "job.json"
    settings = {"model.initialWeights": args.checkpoint, "dataset.path": args.text, "dataset.steps": args.steps,
                "training": json.dumps({"epochs": args.epochs, "batchSize": args.rows, "clipNorm": args.clip,
                                        "optimizer": {"name": "sgd", "learningRate": args.rate, "momentum": 0}})}
    with tempfile.TemporaryDirectory() as out:
        command = [os.environ.get("PACELINE", "paceline"), "run", job, "--out", out, "--json"]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["event"] == "epoch":
            yield event["perplexity"], event["testPerplexity"]


def main():
    args = arguments()
    weights = tensors(args.checkpoint)
    print("perplexity    training: Paceline   PyTorch    test: Paceline   PyTorch")
    for i, (ours, theirs) in enumerate(zip(of_paceline(args), of_torch(args, weights)), 1):
        print(f"epoch {i:<4} {ours[0]:>19.4f} {theirs[0]:>10.4f} {ours[1]:>17.4f} {theirs[1]:>10.4f}")


if __name__ == "__main__":
    main()
