#!/usr/bin/env python3
"""random_strategy.py SEED: one job's options, as the command line takes them, a word a line; drawn from all
strategies, counts, shapes and buckets. A first line says `same` where the bytes are those of one worker."""
import random
import sys

r = random.Random(int(sys.argv[1]))
sets = {}
workers = r.choice([1, 2, 2, 3, 3, 4])
servers = r.choice([1, 2])
strategy = r.choice(["AllReduce", "AllReduce", "sync", "async", "bounded", "backup", "LocalSGD",
                     "ElasticAveraging", "StrategySwitch", "ModelParallel"])
same = False

sets["training.batchSize"] = r.choice([9, 17, 32, 64])
sets["training.lanes"] = r.choice([4, 8])
sets["training.threads"] = r.choice([1, 1, 2])
sets["training.optimizer"] = r.choice(["{name: sgd}", "{name: adam}", "{name: sgd, nesterov: true}"])
sets["training.lastBatch"] = r.choice(["keep", "drop"])
sets["dataset.prefetch"] = r.choice([0, 2])
sets["model.layers"] = r.choice([
    "[{type: flatten}, {type: dense, units: 9}, {type: relu}, {type: dense, units: 4}]",
    "[{type: conv, filters: 6, kernel: 3, padding: same}, {type: relu}, {type: maxpool, kernel: 2, stride: 2},"
    " {type: flatten}, {type: dropout, rate: 0.3}, {type: dense, units: 4}]"])

if strategy == "AllReduce":
    sets["strategy.algorithm"] = r.choice(["tree", "recursiveDoubling", "naive", "ring", "mpi"])
    sets["strategy.schedule"] = r.choice(["overlap", "end"])
    sets["strategy.fusionBytes"] = r.choice([4096, 40000, 4194304])
    sets["strategy.communicationThread"] = r.choice(["true", "false"])
    sets["strategy.wire"] = r.choice(["fp32", "fp32", "bf16"])
    if r.random() < 0.3:
        sets["strategy.batch"] = "join"
        sets["training.accumulate"] = r.choice([workers, workers + 1, 2 * workers])
    same = sets["strategy.wire"] == "fp32" and sets["strategy.algorithm"] not in ("ring", "mpi")
elif strategy in ("sync", "async", "bounded", "backup"):
    sets["strategy.type"] = "ParameterServer"
    sets["strategy.placement"] = r.choice(["balanced", "greedy"])
    if strategy == "sync":
        servers = r.choice([0, 1, 2])
        same = True
    elif strategy == "backup":
        sets["strategy.backupWorkers"] = workers - 1
        sets["strategy.batch"] = "join"
        if workers == 1:
            del sets["strategy.backupWorkers"]
    else:
        sets["strategy.mode"] = strategy
        sets["strategy.transferSemaphore"] = r.choice(["true", "false"])
        sets["strategy.groups"] = r.choice([n for n in range(workers + 1) if n == 0 or workers % n == 0])
        if strategy == "bounded":
            sets["strategy.staleness"] = r.choice([0, 1, 3])
            sets["strategy.maxStaleness"] = sets["strategy.staleness"] + r.choice([0, 2])
    sets["replicas.ps.replicas"] = servers
elif strategy == "StrategySwitch":
    sets["strategy.type"] = strategy
    sets["strategy.switch"] = "{when: epoch, epoch: 1, order: %s, momentum: %s}" % (
        r.choice(["AllReduceFirst", "ServersFirst"]), r.choice(["keep", "reset"]))
    sets["training.optimizer"] = "{name: sgd, momentum: 0.9}"
    sets["replicas.ps.replicas"] = servers
else:
    sets["strategy.type"] = strategy
    if strategy == "ModelParallel":
        sets["strategy.microBatches"] = r.choice([1, 2, 4])
        same = True
    else:
        sets["strategy.averageEvery"] = r.choice([1, 2, 5])

# What belongs to the sum, and so to one worker's run as well.
shape = [k for k in sets if k.startswith(("training.", "dataset.", "model.")) and k != "training.threads"]
print("same" if same else "other")
print(workers)
print(len(shape))
for key in shape + [k for k in sets if k not in shape]:
    print(f"{key}={sets[key]}")
