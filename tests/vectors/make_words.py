#!/usr/bin/env python3
"""Makes the vectors of a network for text, with PyTorch (the peer in bench/peers).

    bench/peers/install.sh torch && .venv-torch/bin/python tests/vectors/make_words.py

torch.nn.LSTM of two layers, without dropout, and its state carried from batch to batch as nn.LSTM
returns it; in double precision. README.md says which tensors words.safetensors has.
"""

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional as F

from make_models import FOLDER, MOMENTUM, STEPS, hashed

WORDS, EMBEDDED, UNITS, ROWS, POSITIONS = 11, 5, 17, 6, 4
LEARNING_RATE = 0.05


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, EMBEDDED)
        self.lstm = nn.LSTM(EMBEDDED, UNITS, num_layers=2, batch_first=True, dropout=0.0)
        self.dense = nn.Linear(UNITS, WORDS)
        self.double()

    def forward(self, words, state):
        values, state = self.lstm(self.embedding(words), state)
        return self.dense(values).flatten(0, 1), state

    def named(self):
        """Our names; the engine has one bias where PyTorch has two, so the second stays zero."""
        names = {"embedding1.weight": self.embedding.weight}
        for i in range(2):
            for ours, theirs in ("weight", "weight_ih"), ("recurrent", "weight_hh"), ("bias", "bias_ih"):
                names[f"lstm{i + 1}.{ours}"] = getattr(self.lstm, f"{theirs}_l{i}")
        return names | {"dense1.weight": self.dense.weight, "dense1.bias": self.dense.bias}


def states(state):
    return {f"lstm{i + 1}.{kind}": values[i].detach().numpy().astype(np.float32)
            for kind, values in zip(("hidden", "cell"), state) for i in range(2)}


def stored(prefix, tensors):
    return {prefix + key: value.astype(np.float32) for key, value in tensors.items()}


def arrays(parameters, gradient=False):
    return {k: (v.grad if gradient else v).detach().numpy().copy() for k, v in parameters.items()}


def main():
    network = Network()
    parameters = network.named()
    with torch.no_grad():
        for i in range(2):
            getattr(network.lstm, f"bias_hh_l{i}").zero_().requires_grad_(False)
        for seed, value in enumerate(parameters.values()):
            values = (hashed(value.numel(), seed + 1) * 0.75).astype(np.float32).astype(np.float64)
            value.copy_(torch.from_numpy(values).reshape(value.shape))
    shape = (STEPS, ROWS, POSITIONS)
    drawn = ((hashed(2 * int(np.prod(shape)), 1000) + 1) / 2 * WORDS).astype(np.int64).clip(0, WORDS - 1)
    x, labels = drawn.reshape(2, *shape)
    state = tuple(torch.zeros(2, ROWS, UNITS, dtype=torch.float64) for _ in range(2))
    out = {"x": x.astype(np.float32), "labels": labels.astype(np.uint8)}
    out |= stored("initial.", arrays(parameters)) | stored("initial.", states(state))
    optimizer = torch.optim.SGD(parameters.values(), lr=LEARNING_RATE, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        scores, state = network(torch.from_numpy(x[step]), tuple(s.detach() for s in state))
        # The sum over a row's words, the mean over rows: as Zaremba and others 2014.
        loss = F.cross_entropy(scores, torch.from_numpy(labels[step]).flatten(), reduction="sum") / ROWS
        loss.backward()
        losses.append(loss.item())
        out[f"outputs.{step}"] = scores.detach().numpy().astype(np.float32)
        out |= stored(f"gradient.{step}.", arrays(parameters, True)) if step < 2 else {}
        out |= stored(f"gradient.{step}.", states(state))
        optimizer.step()
    out["losses"] = np.array(losses)
    out |= stored("final.", arrays(parameters)) | stored("final.", states(state))
    with torch.no_grad():
        scores, state = network(torch.from_numpy(x[0]), None)
        out["evaluated.0"] = scores.numpy().astype(np.float32)
        out["evaluated.1"] = network(torch.from_numpy(x[1]), state)[0].numpy().astype(np.float32)
    save_file(out, FOLDER / "words.safetensors")
    (FOLDER / "words.yaml").write_text(f"""# Made by make_words.py: the network of words.safetensors.
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {{name: words}}
spec:
  model:
    layers:
      - {{type: embedding, vocabulary: {WORDS}, units: {EMBEDDED}}}
      - {{type: lstm, units: {UNITS}}}
      - {{type: lstm, units: {UNITS}}}
      - {{type: dense, units: {WORDS}}}
  dataset: {{name: text, path: data, steps: {POSITIONS}}}
  training:
    batchSize: {ROWS}
    lanes: 1
    optimizer: {{name: sgd, learningRate: {LEARNING_RATE}, momentum: {MOMENTUM}}}
""")
    print("losses", losses)


if __name__ == "__main__":
    main()
