#!/usr/bin/env python3
"""perplexity.py STEPS EVENTS: what the events of a text say of it, against what follows from their losses and
rates; prints the step of the least validation loss. Exit code 1 with a line for each thing that is wrong."""
import json
import math
import sys

steps = int(sys.argv[1])
events = [json.loads(line) for line in open(sys.argv[2])]
start = next(e for e in events if e["event"] == "start")
epochs = [e for e in events if e["event"] == "epoch"]
done = events[-1]
wrong = checked = 0


def want(what, got, expected, tolerance=1e-12):
    global wrong
    if not abs(got / expected - 1) <= tolerance:
        print(what, got, "but", expected)
        wrong += 1


for e in events:
    for loss, perplexity in (("loss", "perplexity"), ("validationLoss", "validationPerplexity"),
                             ("testLoss", "testPerplexity"), ("bestLoss", "bestPerplexity")):
        if loss in e:
            want(f"{e['event']}: {perplexity}", e.get(perplexity, 0), math.exp(e[loss]))
            checked += 1
    if "samplesPerSecond" in e:
        want(f"{e['event']}: words", e.get("wordsPerSecond", 0), steps * e["samplesPerSecond"])
for e in epochs:
    want("words of an epoch", e["wordsPerSecond"] * e["seconds"],
         start["batchesPerEpoch"] * start["batchSize"] * steps, 1e-6)
best = min(epochs, key=lambda e: e["validationLoss"])
want("best", done["bestLoss"], best["validationLoss"])
want("the step of the best", done["bestStep"], best["step"])
if "bestAccuracy" in done or not epochs or checked < 3 * len(epochs) + 2:
    print("bestAccuracy, or too few figures:", checked)
    wrong += 1
if not wrong:
    print(best["step"])
sys.exit(wrong > 0)
