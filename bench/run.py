#!/usr/bin/env python3
"""make bench: the engine against PyTorch and TensorFlow, and against the machine's own peaks.

Everything on one core (the first allowed one), the same batch, samples held in memory, a step is
forward, backward and update. Peers build the networks from the engine's own description of the
layers. Each round measures every contender once, in turn, and only figures of one round are divided
by each other. A peer that is absent, or whose network has other parameters, is "not compared".

    make bench BENCH="--only fashion-cnn --batch 128 --rounds 3"
    make bench BENCH="--sections peak,kernels"
    make bench BENCH="--sections start,convolutions"
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import networks

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENVS = pathlib.Path(os.environ.get("BENCH_VENVS", ROOT))
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Keeps freed activations in the process instead of returning them to the kernel at every step.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
MPI = {f"{p}_ALLOW_RUN_AS_ROOT{s}": "1" for p in ("OMPI", "PRTE") for s in ("", "_CONFIRM")}

# name: virtual environment, script, variant, environment; the first is what most people write.
PEERS = {
    "PyTorch eager": ("torch", "torch_bench.py", "eager", {}),
    "PyTorch best": ("torch", "torch_bench.py", "best", KEEP_MEMORY),
    "PyTorch compile": ("torch", "torch_bench.py", "compile", KEEP_MEMORY),
    "PyTorch bf16": ("torch", "torch_bench.py", "bf16", KEEP_MEMORY),
    "TensorFlow graph": ("tensorflow", "tf_bench.py", "graph", KEEP_MEMORY),
    "TensorFlow XLA": ("tensorflow", "tf_bench.py", "xla", KEEP_MEMORY),
}


# Those whose products are of bf16: beside each other, not beside fp32. The first is ours.
BF16 = ("Paceline bf16", "PyTorch bf16")


class Absent(Exception):
    """Why a contender is not compared."""


def pinned(cores):
    return ["taskset", "-c", ",".join(map(str, cores))]


def json_lines(command, **options):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              **options)
    except FileNotFoundError as error:
        raise Absent(error) from None
    if done.returncode:
        raise Absent((done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Engine:
    """Our training steps; started anew for each measurement."""

    def __init__(self, args, network, batch, ranks=1, **training):
        self.command = pinned(args.cores[:ranks])
        if ranks > 1:
            self.command += ["mpirun", "-np", str(ranks), "--bind-to", "none"]
        self.job = {
            "apiVersion": "paceline.dev/v1", "kind": "TrainingJob", "metadata": {"name": "bench"},
            "spec": {
                "model": {"name": network},
                "dataset": networks.dataset(network, args.folder, args.data),
                "training": {"batchSize": batch, "threads": 1, **training,
                             "optimizer": {"name": "sgd", "learningRate": 0.001, "momentum": 0.9}},
                "replicas": {"worker": {"replicas": ranks}},
            },
        }
        self.spec = args.folder / f"job-{network}-{batch}-{ranks}-{training.get('lanes', 0)}"
        self.spec = self.spec.with_name(f"{self.spec.name}-{training.get('precision', 'fp32')}.json")
        self.spec.write_text(json.dumps(self.job))
        self.command += [args.build / "bin/paceline-worker", "bench", "--spec", self.spec]

    def run(self, *options):
        return json_lines(self.command + list(options), env={**os.environ, **MPI})

    def measure(self, steps):
        return self.run("--steps", str(steps))[-1]

    def describe(self):
        return self.run("--describe")

    def close(self):
        pass


class Peer:
    """Started once; asked for steps over a pipe."""

    def __init__(self, args, name, network, layers, batch):
        venv, script, variant, environment = PEERS[name]
        python = VENVS / f".venv-{venv}/bin/python"
        if not python.exists():
            raise Absent(f"no {python.parent.parent.name}")
        self.errors = tempfile.TemporaryFile("w+", dir=args.folder)
        description = args.folder / f"{network}.layers"
        description.write_text("".join(json.dumps(layer) + "\n" for layer in layers))
        data = ["--data", args.data] if networks.NETWORKS[network][0] == "fashion" else []
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            pinned(args.cores[:1]) + [python, ROOT / "bench/peers" / script, "--network", description,
             "--batch", str(batch), "--variant", variant] + data,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **ONE_THREAD, **environment})
        first = self.answer()
        self.first_step = time.perf_counter() - begin
        self.version = first["version"]
        if first["parameters"] != networks.parameters(layers):
            self.close()
            raise Absent(f"it has {first['parameters']} parameters, "
                         f"not {networks.parameters(layers)}")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.close()
            self.errors.seek(0)
            errors = self.errors.read().strip().splitlines()
            raise Absent(errors[-1] if errors else "it ended")
        return json.loads(line)

    def measure(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def spread(values, unit=""):
    median = f"{statistics.median(values):.2f}{unit}"
    return f"{median} ({min(values):.2f}-{max(values):.2f})"


def contend(args, contenders, batch):
    """rates[name][round]: samples per second, each contender once a round; each about
    args.seconds long. Whoever fails drops out and is said to."""
    steps, rates = {}, {name: [] for name in contenders}
    for name, contender in list(contenders.items()):
        try:
            rate = contender.measure(max(3, 64 // batch))["samplesPerSecond"]
            steps[name] = max(3, int(args.seconds * rate / batch))
        except Absent as why:
            print(f"  {name:<22} not compared: {why}")
            del contenders[name], rates[name]
    for _ in range(args.rounds):
        for name, contender in contenders.items():
            rates[name].append(contender.measure(steps[name])["samplesPerSecond"])
    return rates


def ratios(ours, theirs):
    return [a / b for a, b in zip(ours, theirs)]


def cpu_has_bf16():
    with open("/proc/cpuinfo", encoding="ascii") as info:
        return any("avx512_bf16" in line.split() for line in info if line.startswith("flags"))


def bf16_engine(args, network, batch):
    engine = Engine(args, network, batch, precision="bf16")
    engine.describe()
    return engine


def section_peers(args):
    peak, bandwidth = max(one_process(args).values()), memory_bandwidth(args)
    print(f"\nroofline: FMA peak {peak:.1f} GFLOP/s, memory {bandwidth:.1f} GB/s")
    for network, batch in cases(args):
        print(f"\n{network}, {networks.fed_with(network)}, batch {batch}, one core: samples/s; "
              "ratio: Paceline / that row")
        engine = Engine(args, network, batch)
        layers = engine.describe()
        seconds = networks.bound(layers, batch, peak * 1e9, bandwidth * 1e9)
        contenders = {"Paceline": engine}
        try:
            for name in [BF16[0], *args.peers]:
                try:
                    if name in BF16 and not cpu_has_bf16():
                        raise Absent("this CPU has no products of bf16")
                    contenders[name] = (bf16_engine(args, network, batch) if name == BF16[0] else
                                        Peer(args, name, network, layers, batch))
                except Absent as why:
                    print(f"  {name:<22} not compared: {why}")
            compare(args, contenders, batch, batch / seconds)
        finally:
            for contender in contenders.values():
                contender.close()
        sys.stdout.flush()


def compare(args, contenders, batch, most=None):
    """most: samples per second by the roofline, where there is one."""
    rates = contend(args, contenders, batch)
    ours = rates.get("Paceline")
    if not ours:
        return
    for name, values in rates.items():
        against = spread(ratios(ours, values)) if name != "Paceline" else ""
        print(f"  {name:<22} {statistics.median(values):9.1f} "
              f"({min(values):.1f}-{max(values):.1f})   {against}")
    if most:
        print(f"  {'roofline bound':<22} {most:9.1f}   {spread(ratios(ours, [most] * len(ours)))}")
    best = max((name for name in rates if name not in ("Paceline", "PyTorch eager", *BF16)),
               key=lambda name: statistics.median(rates[name]), default=None)
    if best:
        print(f"  best peer: {best}; Paceline / best {spread(ratios(ours, rates[best]))}")
    for name in ("Paceline", BF16[1]):
        if BF16[0] in rates and name in rates:
            print(f"  {BF16[0]} / {name} {spread(ratios(rates[BF16[0]], rates[name]))}")


MB = 1e6


def start_target(start):
    millions = start["params"] / 1e6
    return 0.5 if millions < 30 else 0.3 + millions / 100


def memory_target(start):
    """By what the engine itself says that it keeps."""
    parts = start["memory"]
    slots = parts["optimizerState"] / parts["parameters"]
    return 1.15 * (4 * start["params"] * (2 + slots) + parts["savedActivations"]) / MB + 40


def verdict(value, target):
    return f"{'held' if value <= target else 'MISSED'} ({value / target:.2f} of {target:.2f})"


def run_job(args, network, batch, ranks):
    """The events of a short run by name, with evaluation and checkpoint; images from the packed copy
    that the first run makes."""
    job = Engine(args, network, batch, ranks).job
    data = job["spec"]["dataset"]
    if data["name"] == "images":
        packed = args.folder / f"packed-{network}"  # others have the same images
        packed.mkdir(exist_ok=True)
        data["cachePath"] = str(packed)
    job["spec"]["training"]["steps"] = 3
    spec = args.folder / "start.json"
    spec.write_text(json.dumps(job))
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        lines = json_lines(pinned(args.cores[:ranks]) + [args.build / "bin/paceline", "run", spec, "--json",
                           "--out", f"{folder}/run"], cwd=folder, env={**os.environ, **MPI})
    return {line["event"]: line for line in lines}


def peer_memory(args, network, batch):
    """{name: MB at most} of the peers that are there."""
    layers = Engine(args, network, batch).describe()
    memory = {}
    for name in (name for name in args.peers if name not in BF16):
        try:
            peer = Peer(args, name, network, layers, batch)
            memory[name] = peer.measure(3)["memoryMiB"] * 2**20 / MB
            peer.close()
        except Absent as why:
            print(f"  {name:<22} not compared: {why}")
    return memory


def start_of(args, network, batch, ranks):
    runs = [run_job(args, network, batch, ranks) for _ in range(args.rounds + 1)]
    scan, runs = runs[0]["start"]["readSeconds"], runs[1:]
    start = runs[0]["start"]
    first = [run["firstStep"]["seconds"] for run in runs]
    peak = max(max(run["done"]["perRank"]["peakBytes"]) for run in runs) / MB
    parts = {name: value / MB for name, value in start["memory"].items()}
    print(f"\n{network}, {networks.fed_with(network)}, batch {batch}, {start['params']:,} parameters, "
          f"{ranks} rank{'s' if ranks > 1 else ''}")
    said = "; images from the packed copy, " + f"without it reading took {scan:.2f} s"
    print(f"  first step after {spread(first, ' s')}: "
          f"{verdict(statistics.median(first), start_target(start))}"
          f"{said if networks.NETWORKS[network][0] == 'images' else ''}")
    print("  memory " + ", ".join(f"{name} {value:.1f}" for name, value in parts.items()))
    if ranks > 1:
        print(f"  at most {peak:.1f} MB in a rank")
        return
    target = memory_target(start)
    print(f"  at most {peak:.1f} MB: {verdict(peak, target)}", end="")
    print("" if peak <= target else f"; without the {parts['data']:.1f} MB of samples: "
          f"{verdict(peak - parts['data'], target)}")
    peers = peer_memory(args, network, batch)
    for name, memory in peers.items():
        small = start["params"] < 20e6
        wanted = (f"; at most {'half of it' if small else 'as much'}: "
                  f"{verdict(peak, memory / 2 if small else memory)}")
        print(f"  {name:<22} {memory:8.1f} MB{wanted if name.startswith('PyTorch') else ''}")


def section_start(args):
    """Exec to the first step, page cache warm, and the largest resident memory of a process (VmHWM)
    with evaluation and checkpoint, beside their targets."""
    print("\nstart and memory: of each network's largest batch; MB are 10^6 bytes")
    for network in args.only:
        batch = max(args.batch or networks.NETWORKS[network][2])
        for ranks in (1, 2) if network == "fashion-cnn" and len(args.cores) > 1 else (1,):
            try:
                start_of(args, network, batch, ranks)
            except Absent as why:
                print(f"\n{network}: not measured: {why}")
        sys.stdout.flush()


def cases(args):
    for network in args.only:
        for batch in args.batch or networks.NETWORKS[network][2]:
            yield network, batch


def peaks(args):
    cores = [str(core) for core in args.cores[:2]]
    return json_lines([args.build / "bench/peak"] + cores)


def peak_rates(args):
    return {(line["isa"], line["processes"]): line["gflops"]
            for line in peaks(args) if "isa" in line}


def one_process(args):
    return {isa: rate for (isa, processes), rate in peak_rates(args).items() if processes == 1}


def memory_bandwidth(args):
    return next(line["bandwidth"] for line in peaks(args) if "bandwidth" in line)


def section_peak(args):
    print("\nFMA peak, GFLOP/s")
    for (isa, processes), rate in peak_rates(args).items():
        print(f"  {isa:<8} {processes} process{'es' if processes > 1 else '  '} {rate:8.1f}")
    print(f"\nmemory bandwidth of one process, GB/s: {memory_bandwidth(args):.1f}")


def section_kernels(args):
    for network, batch in cases(args):
        engine = Engine(args, network, batch)
        peak = max(one_process(args).values())
        rates, seconds = {}, {}
        for _ in range(args.rounds):
            for line in engine.run("--layers"):
                rates.setdefault(line["kernel"], []).append(line["gflops"])
                seconds.setdefault(line["kernel"], []).append(line["seconds"])
        print(f"\n{network}, batch {batch}: GFLOP/s, share of the {peak:.1f} GFLOP/s FMA peak, ms")
        for kernel, values in rates.items():
            median = statistics.median(values)
            print(f"  {kernel:<26} {median:8.1f} ({min(values):.1f}-{max(values):.1f})"
                  f"  {100 * median / peak:5.1f}%  {1e3 * statistics.median(seconds[kernel]):8.3f}")


CONVOLUTION = 0.7  # of its roofline, at least
PASSES = ("forward", "data gradient", "weight gradient")


def convolution_shares(args, network, batch, peak, bandwidth):
    """[(share of the roofline, GFLOP/s, which)] of each pass of each convolution, medians over the rounds."""
    engine = Engine(args, network, batch)
    layers = engine.describe()
    bounds = networks.convolutions(layers, batch, peak * 1e9, bandwidth * 1e9)
    seconds, rates = {}, {}
    for _ in range(args.rounds if bounds else 0):
        for line in engine.run("--layers"):
            seconds.setdefault(line["kernel"], []).append(line["seconds"])
            rates.setdefault(line["kernel"], []).append(line["gflops"])
    return [(bound / statistics.median(seconds[kernel]), statistics.median(rates[kernel]),
             f"{network}, {said}: {which}")
            for name, (said, bound) in bounds.items() for which in PASSES
            if (kernel := f"{name} {which}") in seconds]


def section_convolutions(args):
    """Each distinct convolution with 16 channels in and out at least, the worst first."""
    peak, bandwidth = max(one_process(args).values()), memory_bandwidth(args)
    found = []
    print(f"\nconvolutions: share of the smaller of {peak:.1f} GFLOP/s and intensity x {bandwidth:.1f} GB/s; "
          "above 100%: its maps stay in a cache")
    for network in args.only:
        batch = max(args.batch or networks.NETWORKS[network][2])
        try:
            found += convolution_shares(args, network, batch, peak, bandwidth)
        except Absent as why:
            print(f"  {network}: not measured: {why}")
    for share, rate, said in sorted(found):
        print(f"  {100 * share:5.1f}%  {rate:6.1f} GFLOP/s  {said}{'   BELOW 70%' if share < CONVOLUTION else ''}")
    below = sum(share < CONVOLUTION for share, _, _ in found)
    print(f"  {below} of {len(found)} below 70%: {'MISSED' if below else 'held' if found else 'not measured'}")


def interval(values):
    """Mean and the half width of its 95% interval."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return mean, float("nan")
    return mean, 1.96 * statistics.stdev(values) / len(values) ** 0.5


def section_order(args):
    """What the one sum order costs: the default lanes against one lane."""
    for network, batch in ((network, batch) for network, batch in cases(args) if batch >= 32):
        both = {"lanes": Engine(args, network, batch), "lane": Engine(args, network, batch, lanes=1)}
        rates = contend(args, both, batch)
        if len(rates) < 2:
            continue
        mean, half = interval([100 * (1 - r) for r in ratios(rates["lanes"], rates["lane"])])
        print(f"\n{network}, batch {batch}: the one sum order costs {mean:.1f}% +- {half:.1f}%"
              f" ({args.rounds} pairs)")


def section_ranks(args):
    """Two ranks on two cores, against what two processes of pure arithmetic get there."""
    if len(args.cores) < 2:
        print("\ntwo ranks: not measured, one core only")
        return
    peak = peak_rates(args)
    isa = max((isa for isa, _ in peak), key=lambda isa: peak[isa, 1])
    host = peak[isa, 2] / peak[isa, 1]
    for network, batch in ((network, batch) for network, batch in cases(args) if batch >= 8):
        rates = contend(args, {ranks: Engine(args, network, batch, ranks) for ranks in (1, 2)}, batch)
        if len(rates) == 2:
            print(f"\n{network}, batch {batch}: two ranks / one {spread(ratios(rates[2], rates[1]))},"
                  f" two-process / one-process FMA peak {host:.2f}")


class Decoder(Peer):
    """Of JPEGs that it holds in memory: ours, Pillow, or torchvision where .venv-torch has it."""

    def __init__(self, args, library, folder, size, what):
        self.errors = tempfile.TemporaryFile("w+", dir=args.folder)
        ours = [args.build / "bench/jpeg/decode", args.folder / folder, str(size), what]
        venv = VENVS / f".venv-{'torch' if library == 'torchvision' else library}/bin/python"
        if library != "Paceline" and not venv.exists():
            raise Absent(f"no {venv.parent.parent.name}")
        self.process = subprocess.Popen(
            pinned(args.cores[:1]) + (ours if library == "Paceline" else
             [venv, ROOT / "bench/peers/jpeg_bench.py", args.folder / folder, str(size), library, what]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **ONE_THREAD})
        self.version = self.answer()["version"]


def section_jpeg(args):
    """One core, files in memory, figures of a round divided by each other."""
    if not args.jpegs.exists():
        raise Absent(f"no {args.jpegs}")
    pillow = VENVS / ".venv-pillow/bin/python"
    subprocess.run([pillow if pillow.exists() else sys.executable, ROOT / "bench/jpeg/pictures.py", args.jpegs,
                    args.folder], check=True)
    for folder, size, what, said in (
            ("small", 0, "decode", "32 x 32, decoded"),
            ("small", 0, "prepare", "32 x 32, decoded, cut, mirrored, normalised"),
            ("large", 0, "decode", "500 x 375, decoded"),
            ("large", 224, "decode", "500 x 375 to 224 x 224"),
            ("large", 128, "draft", "500 x 375 to 128 x 128, DCT-scaled")):
        print(f"\nJPEG, {said}: images/s; ratio: Paceline / that row")
        contenders = {}
        try:
            for library in ("Paceline", "pillow") + (("torchvision",) if what == "decode" else ()):
                try:
                    contenders[library] = Decoder(args, library, folder, size, what)
                except Absent as why:
                    print(f"  {library:<22} not compared: {why}")
            compare(args, contenders, 1)
        finally:
            for contender in contenders.values():
                contender.close()


SECTIONS = {
    "peak": section_peak, "peers": section_peers, "kernels": section_kernels,
    "convolutions": section_convolutions, "order": section_order, "ranks": section_ranks, "start": section_start, "jpeg": section_jpeg,
}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.processor())
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} CPUs, load {load:.2f}, {platform.system()} {platform.release()}"


def listed(allowed, convert=str):
    def parse(text):
        items = [convert(item) for item in text.split(",")]
        for item in items:
            if allowed and item not in allowed:
                raise argparse.ArgumentTypeError(f"{item!r} is none of: {', '.join(allowed)}")
        return items
    return parse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = list(networks.NETWORKS)
    parser.add_argument("--only", type=listed(names), default=names, help="networks, by commas")
    parser.add_argument("--batch", type=listed(None, int), help="instead of each network's own")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one measurement")
    parser.add_argument("--sections", type=listed(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--peers", type=listed(PEERS), default=list(PEERS))
    parser.add_argument("--cores", type=listed(None, int), default=sorted(os.sched_getaffinity(0)))
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--jpegs", type=pathlib.Path, help="archive of CIFAR-10's JPEGs",
                        default=ROOT.parent / "shared/datasets/cifar10-images/cifar10-images.tar.gz")
    parser.add_argument("--build", type=pathlib.Path, default="build/gcc")
    args = parser.parse_args()
    args.build = args.build.resolve()
    return args


def main():
    args = arguments()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        args.folder = pathlib.Path(folder)
        for name in args.sections:
            try:
                SECTIONS[name](args)
            except Absent as why:
                print(f"\n{name}: not measured: {why}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
