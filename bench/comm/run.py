#!/usr/bin/env python3
"""make bench-comm: all-reduces of worker/comm against MPI_Allreduce and, where PyTorch is, Gloo.

On this host with 2 and 3 ranks (4 where there are 4 cores), then over TCP between two network
namespaces joined by a cable of 1 and 10 Gbit/s (as root). All contenders take turns within a round, and
a ratio divides times of one round only; the table has the median over the rounds. What the cable and
the cores let through is shown by a plain TCP connection. To "server" the last rank is a parameter
server of the others. `--only overlap` trains fashion-cnn over 1 Gbit/s, with gradients sent while earlier
layers still compute and with all of them sent after them: what is hidden of the transfer, against what
is left to compute. Options:

    make bench-comm BENCH_COMM="--ranks 2 --rounds 51 --csv allreduce.csv"
    make bench-comm BENCH_COMM="--only tcp"
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MPI = {f"{p}_ALLOW_RUN_AS_ROOT{s}": "1" for p in ("OMPI", "PRTE") for s in ("", "_CONFIRM")}
OURS = ("tree", "recursiveDoubling", "ring", "naive", "server")
KB, MB = 1 << 10, 1 << 20
SIZES = [KB, 4 * KB, 16 * KB, 64 * KB, 256 * KB, MB, 4 * MB, 16 * MB, 64 * MB]
TCP_SIZES = [KB, 64 * KB, MB, 16 * MB]
RATES = {"1gbit": 1e9, "10gbit": 10e9}
ADDRESSES = ("10.98.0.1", "10.98.0.2")


def size_name(size):
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"


def times_of(command, rounds, sizes):
    """{size: {contender: [seconds of each round]}} and the lines themselves."""
    done = subprocess.run([*command, str(rounds), *map(str, sizes)], env={**os.environ, **MPI},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=3600)
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stderr}")
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    lines = [line for line in done.stdout.splitlines() if line.count(",") == 4]
    for line in lines:
        name, _, size, _, seconds = line.split(",")
        times[int(size)][name].append(float(seconds))
    return times, lines


def ratio_to_mpi(of_size, name):
    return statistics.median(a / b for a, b in zip(of_size[name], of_size["mpi"]))


def print_table(title, times, extra=None):
    print(f"\n{title}\n\n| size | MPI_Allreduce | " + " | ".join(OURS) + " |"
          + (f" {extra[0]} |" if extra else ""))
    print("|---" * (2 + len(OURS) + bool(extra)) + "|")
    for size, of_size in times.items():
        cells = [f"{ratio_to_mpi(of_size, name):.2f}" for name in OURS]
        if extra:
            cells.append(extra[1](size, of_size))
        mpi = statistics.median(of_size["mpi"])
        print(f"| {size_name(size)} | {1e6 * mpi:.1f} us | " + " | ".join(cells) + " |")
    sys.stdout.flush()


def on_this_host(args, csv):
    cores = len(os.sched_getaffinity(0))
    for ranks in args.ranks:
        if ranks > 3 and ranks > cores:
            print(f"\n{ranks} ranks: not measured: {cores} cores")
            continue
        idle = "1" if ranks > cores else "0"
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", idle,
                   "-np", str(ranks), args.program]
        times, lines = times_of(command, args.rounds, args.sizes)
        csv += [f"host,{line}" for line in lines]
        print_table(f"{ranks} ranks on this host, {cores} cores; time of MPI_Allreduce, and of "
                    f"others as multiples of it (median of {args.rounds} rounds)", times)
        gloo(ranks, times, args)


def gloo(ranks, times, args):
    if subprocess.run([sys.executable, "-c", "import torch.distributed"],
                      stderr=subprocess.DEVNULL).returncode:
        print("\nGloo: not compared: PyTorch is not installed")
        return
    theirs, _ = times_of([sys.executable, str(HERE / "gloo.py"), str(ranks)], args.rounds, args.sizes)
    for size, of_size in theirs.items():
        print(f"Gloo, {size_name(size)}: {1e6 * statistics.median(of_size['gloo']):.1f} us, MPI "
              f"{1e6 * statistics.median(times[size]['mpi']):.1f} us (not in turn)")


class Cable:
    """Two namespaces, each with one end of a cable; they end with their holders."""

    def __init__(self, stack):
        self.pids = []
        for i, address in enumerate(ADDRESSES):
            holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c",
                                       f"hostname bench-{i}; echo; exec sleep 36000"],
                                      stdout=subprocess.PIPE)
            stack.callback(holder.wait)
            stack.callback(holder.kill)
            holder.stdout.readline()
            self.pids.append(holder.pid)
        self.at(0, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns",
                str(self.pids[1]))
        for i, address in enumerate(ADDRESSES):
            self.at(i, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            self.at(i, "ip", "link", "set", "eth0", "up")
            self.at(i, "ip", "link", "set", "lo", "up")

    def enter(self, i):
        return ["nsenter", "--target", str(self.pids[i]), "--net", "--uts"]

    def at(self, i, *command):
        subprocess.run([*self.enter(i), *command], check=True)

    def limit(self, rate):
        """Each end sends at this rate; half a millisecond of bursts."""
        burst = max(256 * KB, int(RATES[rate] / 8 / 2000))
        for i in range(2):
            self.at(i, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate,
                    "burst", str(burst), "latency", "20ms")


def stream(cable, rounds):
    """Seconds that a plain connection takes for the largest size each way at once."""
    arguments = [ADDRESSES[1], str(TCP_SIZES[-1]), str(rounds)]
    command = [sys.executable, str(HERE / "stream.py")]
    with subprocess.Popen([*cable.enter(1), *command, "listen", *arguments],
                          stdout=subprocess.PIPE) as listener:
        try:
            listener.stdout.readline()
            done = subprocess.run([*cable.enter(0), *command, "connect", *arguments], check=True,
                                  stdout=subprocess.PIPE, text=True, timeout=600)
        finally:
            listener.kill()
    return [float(line.split(",")[-1]) for line in done.stdout.splitlines()]


def has_cable():
    if not os.geteuid() and all(map(shutil.which, ("ip", "tc", "unshare", "nsenter"))):
        return True
    print("\nTCP: not measured: needs root, iproute2 and util-linux")
    return False


def mpirun(cable, folder):
    """The start of a command that has a rank at each end of the cable."""
    agent = pathlib.Path(folder, "agent")
    agent.write_text(f"#!/bin/sh\nshift\nexec {' '.join(cable.enter(1))} sh -c \"$*\"\n")
    agent.chmod(0o755)
    return [*cable.enter(0), "mpirun", "--bind-to", "none", "-np", "2", "--host",
            ",".join(f"{a}:1" for a in ADDRESSES), "--mca", "plm_rsh_agent", str(agent),
            "--mca", "btl", "self,tcp", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include",
            "eth0", "--mca", "oob_tcp_if_include", "eth0"]


def events(command, folder):
    done = subprocess.run(list(map(str, command)), env={**os.environ, **MPI}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=folder, timeout=600)
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def overlap(args):
    """Of fashion-cnn's 13 MB 12.8 are one dense layer's: after it only convolutions are left to compute."""
    if not has_cable():
        return
    programs = pathlib.Path(args.program).parent.parent.parent / "bin"
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        cable = Cable(stack)
        cable.limit("1gbit")
        for schedule in ("overlap", "end"):
            events([programs / "paceline", "run", ROOT / "examples/fashion-cnn.yaml", "--json", "--out", schedule,
                    "--set", f"training.steps={args.steps}", "--set", f"strategy.schedule={schedule}",
                    "--set", "checkpoint.best=false"], folder)
        layers = events([programs / "paceline-worker", "bench", "--layers", "--spec", "end/job.json",
                         "--batch", 64], folder)
        left = sum(e["seconds"] for e in layers
                   if e["event"] == "kernel" and e["kernel"].startswith("conv") and "gradient" in e["kernel"])
        hidden, back = [], []
        for i in range(args.tcp_rounds):
            seconds = {}
            for schedule in ("overlap", "end"):
                out = events([*mpirun(cable, folder), programs / "paceline-worker", "run", "--spec",
                              pathlib.Path(folder, schedule, "job.json"), "--out", f"{folder}/{schedule}-{i}"], folder)
                seconds[schedule] = out[-1]["trainSeconds"] / args.steps
            hidden.append(seconds["end"] - seconds["overlap"])
            back.append(out[-1]["perRank"]["backward"][0] / args.steps)
            print(f"step: {1e3 * seconds['end']:.1f} ms, overlapped {1e3 * seconds['overlap']:.1f} ms", flush=True)
        print(f"hidden: {1e3 * statistics.median(hidden):.1f} ms (median). Left to compute after the dense layer: at "
              f"least {1e3 * left:.1f} ms, its convolutions alone; and at most {1e3 * statistics.median(back):.1f} "
              "ms, the whole way back")


def over_tcp(args, csv):
    if not has_cable():
        return
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        cable = Cable(stack)
        command = [*mpirun(cable, folder), args.program]
        for rate, bits in RATES.items():
            cable.limit(rate)
            plain = stream(cable, args.tcp_rounds)
            times, lines = times_of(command, args.tcp_rounds, TCP_SIZES)
            plain += stream(cable, args.tcp_rounds)
            csv += [f"{rate},{line}" for line in lines]
            # 2 (p - 1) / p * S bytes each way is the least that an all-reduce of S bytes can send.
            share = lambda size, t: f"{100 * size * 8 / bits / statistics.median(t):.0f}%"
            # A server takes S bytes of gradients and gives S bytes of weights: as many with one worker.
            shares = lambda size, of_size: " / ".join(share(size, of_size[name]) for name in ("tree", "server"))
            print_table(f"2 ranks over TCP, {rate} each way: as above, and tree's and a server's share "
                        "of the line each way", times, ("share", shares))
            print(f"\nA plain connection, {size_name(TCP_SIZES[-1])} each way at once, before and after: "
                  f"{share(TCP_SIZES[-1], plain)} of the line; what is missing is not ours.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--ranks", type=lambda s: [int(n) for n in s.split(",")], default=[2, 3, 4])
    parser.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], default=SIZES)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--tcp-rounds", type=int, default=7)
    parser.add_argument("--only", choices=("host", "tcp", "overlap"))
    parser.add_argument("--steps", type=int, default=40, help="of a training with --only overlap")
    parser.add_argument("--csv")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    csv = ["where,algorithm,ranks,bytes,round,seconds"]
    load = os.getloadavg()[0]

    print(f"{time.strftime('%Y-%m-%d')}, load {load:.1f}"
          + (": not a quiet machine" if load > 0.5 else ""))
    if args.only == "overlap":
        overlap(args)
    if args.only in (None, "host"):
        on_this_host(args, csv)
    if args.only in (None, "tcp"):
        over_tcp(args, csv)
    if args.csv:
        pathlib.Path(args.csv).write_text("\n".join(csv) + "\n")
        print(f"\nevery measurement: {args.csv}")


if __name__ == "__main__":
    main()
