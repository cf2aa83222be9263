#!/usr/bin/env python3
"""What training.profile costs: pairs of runs of one job, one with the profile of every epoch and one without, in
an order that alternates. For each pair the quotient of the training times; their median, mean, and the upper end of
the mean's one-sided 95% interval (Student's t). A noisy machine shows in the spread: compare --null, two runs
without."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# One-sided 95% quantiles of Student's t by degrees of freedom.
T95 = {2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015, 7: 1.895, 9: 1.833, 11: 1.796, 14: 1.761, 19: 1.729, 29: 1.699}


def train_seconds(args, folder, profiled):
    command = [args.build / "bin/paceline", "run", args.job, "--out", f"{folder}/run", "--json",
               "--set", f"training.steps={args.steps}", "--set", "training.threads=1",
               "--set", "checkpoint.everyEpochs=0"]
    for setting in args.set:
        command += ["--set", setting]
    if profiled:
        command += ["--set", "training.profile=[1, 2, 3, 4, 5, 6, 7, 8]"]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])["trainSeconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--job", type=pathlib.Path, default=ROOT / "examples/fashion-cnn.yaml")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--null", action="store_true", help="both runs without the profile")
    args = parser.parse_args()
    args.build, args.job = args.build.resolve(), args.job.resolve()
    more = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.pairs):
            seconds = {}
            for on in (False, True) if i % 2 else (True, False):
                seconds[on] = train_seconds(args, folder, on and not args.null)
            more.append(100 * (seconds[True] / seconds[False] - 1))
            print(f"{seconds[False]:.3f} s, with the profile {seconds[True]:.3f} s: {more[-1]:+.2f}%", flush=True)
    mean, spread = statistics.mean(more), statistics.stdev(more)
    t = T95[max(n for n in T95 if n < len(more))]
    print(f"{len(more)} pairs: median {statistics.median(more):+.2f}%, mean {mean:+.2f}%, standard deviation "
          f"{spread:.2f}, 95% upper bound {mean + t * spread / math.sqrt(len(more)):+.2f}%; load "
          f"{os.getloadavg()[0]:.1f}")


main()
