#!/usr/bin/env python3
"""async_histograms.py WORKERS BATCHES EPOCHS [LOW:HIGH] ORDER...: what asynchronous servers have to
count when they take the workers' gradients in this order: staleness and lead, as the last event lists
them.

Each epoch begins with a batch for every worker; then one after the other pushes a gradient and, while
batches are left, pulls the weights for the next. With a bound a worker may have to wait (DSSP; LOW = HIGH:
SSP); its turns are then passed over, and the turn after that is its pull. A turn is a second.
"""
import itertools
import json
import sys

workers, batches, epochs, *order = sys.argv[1:]
workers, batches, epochs = int(workers), int(batches), int(epochs)
low = high = float("inf")
if ":" in order[0]:
    low, high = (int(v) for v in order.pop(0).split(":"))
order = [int(v) for v in order]
version, done = 0, [0] * workers
staleness, lead = {}, {}


def ahead(worker):
    return done[worker] - min(done)


def rows(histogram):
    return [histogram.get(i, 0) for i in range(max(histogram) + 1)]


def credit(worker, now):
    """After how many batches its push is nearest to one of the slowest worker's."""
    slow = [w for w in range(workers) if ahead(w) == 0]
    if any(w not in took for w in slow):
        return 0
    last = max(slow, key=lambda w: began[w] + took[w])
    most = high - ahead(worker) + 1
    theirs = [began[last] + (k + 1) * took[last] for k in range(most + 1)]
    return min(range(most + 1), key=lambda i: min(abs(t - now - i * took[worker]) for t in theirs))


def may_begin(worker, now):
    if credits.get(worker, 0) == 0 and low < ahead(worker) <= high and worker not in waiting:
        if done[worker] == max(done):
            credits[worker] = credit(worker, now)
    if credits.get(worker, 0) > 0:
        credits[worker] -= 1
        return True
    return ahead(worker) <= low


def ask(worker, now):
    """Whether it has a batch now; counts it."""
    global left
    if not left:
        waiting.discard(worker)
        return False
    if not may_begin(worker, now):
        waiting.add(worker)
        return False
    waiting.discard(worker)
    left -= 1
    began[worker] = now
    lead[ahead(worker)] = lead.get(ahead(worker), 0) + 1
    return True


for _ in range(epochs):
    left = batches
    seen, pulls, waiting = {}, set(), set()
    began, took, credits = {}, {}, {}
    for now, worker in enumerate(itertools.chain(range(workers), itertools.cycle(order))):
        if now < workers:
            if ask(worker, now):
                seen[worker] = version
            continue
        if not seen and not pulls:
            break
        if worker in pulls:
            pulls.remove(worker)
            seen[worker] = version
        elif worker in seen:
            age = version - seen.pop(worker)
            staleness[age] = staleness.get(age, 0) + 1
            version += 1
            done[worker] += 1
            took[worker], began[worker] = now - began[worker], now
            pulls |= {w for w in sorted(waiting) if ask(w, now)}
            if ask(worker, now):
                seen[worker] = version
            pulls |= {w for w in sorted(waiting - {worker}) if ask(w, now)}
print(json.dumps({"staleness": rows(staleness), "lead": rows(lead)}, separators=(",", ":"))[1:-1])
