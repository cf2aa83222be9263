#!/usr/bin/env python3
"""make bench-switch: the orderings of study 002 (tables 5.1 and 5.2) at small scale.

fashion-cnn on four workers, of which one computes at half speed, trained by asynchronous servers, by
all-reduce, and by all-reduce that switches to the servers after 25, 50 and 75% of the epochs. Simulated: a
gradient takes debug.gradientSeconds, so times depend little on the machine. What should hold: the fewer epochs
by all-reduce, the sooner it ends, and the worse its model. The times are judged as they are; accuracies
only where the 95% intervals over the seeds are apart, else the pair is undecided.

    make bench-switch BENCH_SWITCH="--seeds 5 --samples 60000"
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

JOB = """apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: bench-switch}
spec:
  model: {name: fashion-cnn}
  dataset: {name: fashion-mnist}
  training:
    batchSize: 64
    threads: 1
    optimizer: {name: sgd, learningRate: 0.05, momentum: 0.9}
    learningRateSchedule: {type: cosine}
  checkpoint: {best: false}
  debug: {slowdown: [2]}
  replicas: {worker: {replicas: 4}}
"""
MPI = {f"{p}_ALLOW_RUN_AS_ROOT{s}": "1" for p in ("OMPI", "PRTE") for s in ("", "_CONFIRM")}
SERVERS = {"replicas.ps.replicas": 1, "strategy.divideLearningRate": "true"}
STRATEGIES = {"servers": SERVERS | {"strategy.type": "ParameterServer", "strategy.mode": "async"}}
STRATEGIES |= {
    f"switch at {share}%": SERVERS
    | {"strategy.type": "StrategySwitch", "strategy.switch": f"{{when: fraction, fraction: {share / 100}}}"}
    for share in (25, 50, 75)
}
STRATEGIES["all-reduce"] = {"strategy.type": "AllReduce"}
# Student's t for 95%, two-sided, by degrees of freedom.
T95 = (float("inf"), 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def first():
    """What sleeps must wake in time on a machine that others use, too; where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.nice(-15)


def train(program, options, strategy, seed):
    """Training seconds, without evaluation, and test accuracy."""
    settings = STRATEGIES[strategy] | {
        "dataset.limit": options.samples,
        "training.epochs": options.epochs,
        "training.seed": seed,
        "debug.gradientSeconds": options.gradient_seconds,
    }
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "job.yaml").write_text(JOB)
        done = subprocess.run([program, "run", "job.yaml", "--json", *sets], cwd=folder, text=True,
                              capture_output=True, env={**os.environ, **MPI}, preexec_fn=first)
    if done.returncode:
        sys.exit(f"{strategy}, seed {seed}: {done.stderr.strip()}")
    end = json.loads(done.stdout.splitlines()[-1])
    return end["trainSeconds"], end["testAccuracy"]


def interval(values):
    """Mean and half of the 95% interval."""
    if len(values) < 2:
        return values[0], float("inf")
    return statistics.mean(values), T95[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5


def verdict(low, high):
    """Whether the first interval lies below the second."""
    if low[0] + low[1] < high[0] - high[1]:
        return "held"
    return "NOT held" if high[0] + high[1] < low[0] - low[1] else "undecided"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/gcc")
    parser.add_argument("--seeds", type=int, default=3, choices=range(1, len(T95) + 1))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--samples", type=int, default=6000)
    parser.add_argument("--gradient-seconds", type=float, default=0.16)
    options = parser.parse_args()
    program = pathlib.Path(options.build).resolve() / "bin/paceline"

    print(f"simulated: a gradient of 64 takes {options.gradient_seconds} s, on worker 0 twice as long; "
          f"{options.samples} samples, {options.epochs} epochs")
    print(f"{'':16}{'seconds':>20}{'accuracy':>22}")
    seconds, accuracy = {}, {}
    for strategy in STRATEGIES:
        runs = [train(program, options, strategy, seed) for seed in range(1, options.seeds + 1)]
        seconds[strategy], accuracy[strategy] = (interval(column) for column in zip(*runs))
        print("{:16}{:12.1f} +- {:4.1f}{:14.2%} +- {:.2%}".format(strategy, *seconds[strategy], *accuracy[strategy]),
              flush=True)
    missed = 0
    for low, high in itertools.pairwise(STRATEGIES):
        faster = seconds[low][0] < seconds[high][0]
        missed += not faster
        print(f"{low} before {high}: time {'held' if faster else 'NOT held'}, "
              f"accuracy lower: {verdict(accuracy[low], accuracy[high])}")
    sys.exit(missed > 0)


main()
