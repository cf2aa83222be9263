#!/usr/bin/env python3
"""A worker that fails in the ways a real one should not: FAKE names the way."""
import json
import os
import signal
import sys
import time

MODE = os.environ.get("FAKE", "succeed")
RANK = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))

# What mpirun of Open MPI 5 prints, the first paragraph about a rank, the other about itself.
DASHES = "-" * 74
NOTICES = f"""{DASHES}
prterun noticed that process rank 0 with PID 21283 on node vm exited on
signal 9 (Killed).
{DASHES}
\0{DASHES}
There are not enough slots available in the system
{DASHES}"""


def emit(**event):
    if RANK == 0:
        print(json.dumps(event), flush=True)


def out_folder():
    return sys.argv[sys.argv.index("--out") + 1]


# Words that a terminal would obey: a title, a clear screen, C1, another direction of writing.
HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"


def start():
    emit(event="start", job="fake" + (HOSTILE if MODE == "hostile" else ""), model="fashion-cnn", params=3274634,
         ranks=int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")), threads=1, isa="avx2", cpu="a CPU",
         lanes=32, batchSize=128, batchesPerEpoch=100, epochs=2, steps=200, trainSamples=12800,
         validationSamples=0, testSamples=1000, memoryBytes=150e6, resumedStep=0)
    if MODE != "hang-early":
        emit(event="firstStep", seconds=0.2)


def progress(step):
    emit(event="progress", epoch=step // 100, step=step, loss=2 / (1 + step / 20), accuracy=0.5,
         samplesPerSecond=1000, etaSeconds=(200 - step) / 10)


def checkpoint():
    path = os.path.join(out_folder(), "step-100.safetensors")
    if RANK == 0:
        with open(path, "w") as f:
            f.write("not a real one")
    emit(event="checkpoint", path=path, step=100, seconds=0.1)


def epochs():
    for epoch in range(2):
        for step in range(100 * epoch, 100 * epoch + 100, 20):
            progress(step)
        emit(event="epoch", epoch=epoch + 1, step=100 * (epoch + 1), loss=0.5 / (epoch + 1),
             accuracy=0.8, l2=0.01, validationLoss=None, validationAccuracy=None, testLoss=0.4,
             testAccuracy=0.85 + 0.05 * epoch, learningRate=0.05, seconds=1.5, evaluateSeconds=0.1,
             samplesPerSecond=1000)


def done():
    emit(event="done", step=200, seconds=3.2, trainSeconds=3, samplesPerSecond=1000, testLoss=0.4,
         testAccuracy=0.9, top5=0.99, confusion=[[9, 1], [2, 8]],
         checkpoint=os.path.join(out_folder(), "step-100.safetensors"),
         perRank=dict(data=[0.1], forward=[1], backward=[1.5], communication=[0.2], update=[0.1],
                      evaluate=[0.2], peakBytes=[150e6]), bytesSent=0)


def hang():
    """Says where it is, and ends when it is asked to by a file, or never."""
    with open(os.environ["FAKE_PIDS"], "a") as f:
        f.write(f"{os.getpid()}\n")
    while MODE not in ("hang", "hang-slow") or not os.path.exists(os.environ.get("PACELINE_STOP_FILE", "")):
        time.sleep(0.1)
    if MODE == "hang-slow":
        time.sleep(1)  # as the last step and its checkpoint do
    emit(event="stopped", step=100, checkpoint=os.path.join(out_folder(), "step-100.safetensors"))
    sys.exit(0)


def main():
    if MODE == "vanish":
        sys.exit(0)
    if MODE == "no-reason":
        sys.exit(7)
    if MODE == "log":
        print("worker log line", file=sys.stderr, flush=True)
    if MODE == "hostile":
        print("log " + HOSTILE + " \u00e9\u20ac", file=sys.stderr, flush=True)
        print("x" + "\u00e9" * 6000, file=sys.stderr, flush=True)  # parted in buffers
    if MODE == "notices":
        print(NOTICES, file=sys.stderr, flush=True)
    start()
    if MODE in ("hang", "hang-slow", "hang-early", "hang-hard", "hang-child"):
        deaf = MODE in ("hang-hard", "hang-child")
        signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else signal.SIG_DFL)
        checkpoint()
        if MODE == "hang-child" and os.fork() == 0:
            os.setsid()
        hang()
    if MODE == "killed" and RANK == 0:
        checkpoint()
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "error":
        if RANK > 0:
            time.sleep(5)  # as a real one does: rank 0 tells
        emit(event="error", code=4, message="the loss is nan at step 3, layer dense2")
        sys.exit(4)
    if sys.argv[1] == "calibrate":
        emit(event="calibration", gradientSeconds=0.1, transferSeconds=0.01, bytes=1000)
        sys.exit(0)
    if MODE == "garbage":
        print("\x01\x02 {not json", flush=True)
        sys.exit(0)
    if MODE == "flood":
        print("x" * 262144, flush=True)  # mpirun of Open MPI 5 hands on whole lines only
        time.sleep(3600)
    if MODE == "unknown-event":
        emit(event="weather", sky="blue")
        emit(no_event=1)
    epochs()
    checkpoint()
    done()
    if MODE == "fail-late":
        sys.exit(5)


main()
