#!/usr/bin/env python3
"""async_histograms.py WORKERS BATCHES EPOCHS ORDER...: what asynchronous servers have to count when
they take the workers' gradients in this order: staleness and lead, as the last event lists them.

Each epoch begins with a batch for every worker; then one after the other pushes a gradient and, while
batches are left, pulls the weights for the next.
"""
import itertools
import json
import sys

workers, batches, epochs, *order = (int(v) for v in sys.argv[1:])
version, done = 0, [0] * workers
staleness, lead = {}, {}


def grant(worker):
    ahead = done[worker] - min(done)
    lead[ahead] = lead.get(ahead, 0) + 1
    return version


def rows(histogram):
    return [histogram.get(i, 0) for i in range(max(histogram) + 1)]


for _ in range(epochs):
    left = batches
    seen = {}
    for worker in range(min(workers, left)):
        seen[worker] = grant(worker)
        left -= 1
    for worker in itertools.cycle(order):
        if not seen:
            break
        if worker not in seen:
            continue
        age = version - seen.pop(worker)
        staleness[age] = staleness.get(age, 0) + 1
        version += 1
        done[worker] += 1
        if left:
            seen[worker] = grant(worker)
            left -= 1
print(json.dumps({"staleness": rows(staleness), "lead": rows(lead)}, separators=(",", ":"))[1:-1])
