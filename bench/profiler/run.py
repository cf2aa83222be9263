#!/usr/bin/env python3
"""What training.profile costs: pairs of runs of one job, in an order that alternates. First one with the profile of
every epoch and one without; then one without and one of a build in which nothing asks whether it is on. For each pair
the quotient of the training times; their median, mean, and the upper end of the mean's one-sided 95% interval
(Student's t), beside the target. A noisy machine shows in the spread: --null compares two equal runs."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# One-sided 95% quantiles of Student's t by degrees of freedom.
T95 = {2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015, 7: 1.895, 9: 1.833, 11: 1.796, 14: 1.761, 19: 1.729, 29: 1.699}


TARGETS = {"on": 3.0, "off": 0.5}  # per cent, of the upper end


def train_seconds(args, folder, build, profiled):
    command = [build / "bin/paceline", "run", args.job, "--out", f"{folder}/run", "--json",
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
    parser.add_argument("--without", type=pathlib.Path, help="a build with PROFILE_NONE")
    parser.add_argument("--job", type=pathlib.Path, default=ROOT / "examples/fashion-cnn.yaml")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--null", action="store_true", help="both runs without the profile")
    args = parser.parse_args()
    args.build, args.job = args.build.resolve(), args.job.resolve()
    if args.without:
        args.without = args.without.resolve()
    with tempfile.TemporaryDirectory() as folder:
        on = args.build, not args.null
        compare(args, folder, "on", on, (args.build, False))
        if args.without:
            compare(args, folder, "off", (args.build, False), (args.without, False))


def compare(args, folder, name, more, less):
    """Pairs of (build, with the profile or not): by how much the first takes longer."""
    begin, percent = time.perf_counter(), []
    for i in range(args.pairs):
        seconds = {}
        for which in (0, 1) if i % 2 else (1, 0):
            seconds[which] = train_seconds(args, folder, *(less, more)[which])
        percent.append(100 * (seconds[1] / seconds[0] - 1))
        print(f"{name}: {seconds[0]:.3f} s without, {seconds[1]:.3f} s: {percent[-1]:+.2f}%", flush=True)
    mean, spread = statistics.mean(percent), statistics.stdev(percent)
    upper = mean + T95[max(n for n in T95 if n < len(percent))] * spread / math.sqrt(len(percent))
    print(f"{name}: {len(percent)} pairs: median {statistics.median(percent):+.2f}%, mean {mean:+.2f}%, standard deviation "
          f"{spread:.2f}, 95% upper bound {upper:+.2f}%: {'held' if upper < TARGETS[name] else 'MISSED'} "
          f"({TARGETS[name]}%); load {os.getloadavg()[0]:.1f}, {time.perf_counter() - begin:.0f} s")


main()
