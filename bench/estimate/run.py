#!/usr/bin/env python3
"""make bench-estimate: what `paceline estimate` predicts against what the engine then takes.

Simulated: workers sleep instead of computing (debug.gradientSeconds), and each rank's network carries
so many bytes per second each way (debug.bandwidth), so that the figures depend little on the machine.
The grid is grid.json. Both times are measured by `paceline estimate --calibrate`, once for each ratio;
then each case is one run of `paceline speedup`, which predicts by the job's strategy. Beside it stand the
bounds of study 003 and its estimate, the mean of both.

    make bench-estimate BENCH_ESTIMATE="--ratios 0.275 --workers 4 --only central"
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MPI = {f"{p}_ALLOW_RUN_AS_ROOT{s}": "1" for p in ("OMPI", "PRTE") for s in ("", "_CONFIRM")}
BATCH_SIZE = 64

JOB = """apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: bench-estimate}
spec:
  model: {name: mlp, hidden: [128]}
  dataset: {name: idx, path: data}
  training: {epochs: 1, batchSize: 64, lanes: 16, threads: 1}
  strategy: {schedule: end}    # nothing is sent while others compute, as in the formulas
"""


class Bench:
    def __init__(self, build, folder):
        self.program = pathlib.Path(build).resolve() / "bin/paceline"
        self.folder = pathlib.Path(folder)
        (self.folder / "data").mkdir()
        (self.folder / "job.yaml").write_text(JOB)
        subprocess.run([sys.executable, ROOT / "tests/cli/make_idx.py", self.folder / "data", "2048", "40"],
                       check=True)

    def paceline(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **MPI}, preexec_fn=first)
        if done.returncode:
            sys.exit(f"paceline {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def calibrate(self, settings):
        out = self.paceline("estimate", "--calibrate", "job.yaml", "--workers", 1, *sets(settings))
        return [float(re.search(rf"^{name} +([0-9.e-]+) s", out, re.M)[1])
                for name in ("gradient", "transfer")]

    def bounds(self, kind, place, workers, batches, times):
        """Speedups of study 003: at best, at worst, and its estimate."""
        out = self.paceline("estimate", "--t-grad", times[0], "--t-comm", times[1], "--type", kind,
                            "--server", place.split(",")[0], "--workers", workers, "--batches", batches)
        row = next(line for line in out.splitlines() if line.split()[:1] == [str(workers)])
        return [float(cell) for cell in row.split()[1:4]]

    def run(self, workers, steps, settings, times):
        """Predicted and measured speedups, both against a worker that transfers nothing."""
        out = self.paceline("speedup", "job.yaml", "--workers", workers, "--steps", steps, "--json",
                            "--t-grad", times[0], "--t-comm", times[1], *sets(settings))
        row = json.loads(out)["rows"][0]
        per_worker = row["samplesPerSecond"] / workers
        alone = BATCH_SIZE / times[0]
        return row["predicted"] * per_worker / alone, row["samplesPerSecond"] / alone


def first():
    """What sleeps must wake in time on a machine that others use, too; where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.nice(-15)


def sets(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def settings_of(grid, kind, place, workers):
    settings = dict(grid["places"][place])
    if kind == "async":
        settings["strategy.mode"] = "async"
    if kind == "sync-join":
        settings.update({"strategy.batch": "join", "training.accumulate": workers})
    return settings


def parameters_bytes(bench):
    out = bench.paceline("estimate", "--calibrate", "job.yaml", "--workers", 1)
    number, unit = re.search(r"s of ([0-9.]+) (\w+) from rank", out).groups()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]


def measure(bench, grid, options):
    size = parameters_bytes(bench)
    print(f"{'c/g':>6} {'mode':11}{'sums on':19}{'N':>2}{'worst':>8}{'mean':>7}{'best':>7}"
          f"{'predicted':>11}{'measured':>10}{'error':>8}{'of mean':>9}")
    for ratio in options.ratios or grid["transferToGradient"]:
        gradient = grid["gradientSeconds"]
        simulated = {"debug.gradientSeconds": gradient, "debug.bandwidth": round(size / (ratio * gradient))}
        times = bench.calibrate(simulated)
        print(f"{ratio:6} calibrated: gradient {times[0]:.4f} s, transfer {times[1]:.4f} s")
        for kind, place in grid["cases"]:
            for workers in options.workers or grid["workers"]:
                if options.only not in f"{kind} {place}":
                    continue
                settings = settings_of(grid, kind, place, workers) | simulated
                batches = grid["batches"]
                steps = batches // workers if kind == "sync-join" else batches
                best, worst, mean = bench.bounds(kind, place, workers, batches, times)
                predicted, measured = bench.run(workers, steps, settings, times)
                error = predicted / measured - 1
                print(f"{ratio:6} {kind:11}{place:19}{workers:2}{worst:8.2f}{mean:7.2f}{best:7.2f}"
                      f"{predicted:11.2f}{measured:10.2f}{error:+8.1%}{mean / measured - 1:+9.1%}", flush=True)
                yield abs(error), abs(mean / measured - 1), worst * 0.97 <= measured <= best * 1.03


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build/gcc")
    parser.add_argument("--ratios", type=float, nargs="*")
    parser.add_argument("--workers", type=int, nargs="*")
    parser.add_argument("--only", default="", help="part of mode and place")
    options = parser.parse_args()
    grid = json.loads((HERE / "grid.json").read_text())
    print(f"simulated: gradients of {grid['gradientSeconds']} s are slept, lines are of a bandwidth; speedups "
          f"against one worker that transfers nothing, {grid['batches']} batches")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(measure(Bench(options.build, folder), grid, options))
    for name, errors in (("predicted", [r[0] for r in rows]), ("study 003's mean", [r[1] for r in rows])):
        print(f"{name}: median error {statistics.median(errors):.1%}, worst {max(errors):.1%} of {len(errors)}")
    print(f"within study 003's bounds (3% more or less): {sum(r[2] for r in rows)} of {len(rows)}")
    target = grid["targets"]
    held = statistics.median(r[0] for r in rows) <= target["median"] and max(r[0] for r in rows) <= target["worst"]
    print(f"target: median {target['median']:.0%}, worst {target['worst']:.0%}: {'held' if held else 'MISSED'}")


main()
