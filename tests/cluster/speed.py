#!/usr/bin/env python3
"""Measures built-in jobs on a cluster of this machine:  speed.py SERVER PKI NAMESPACE RUNS

Prints for each thing the median and the maximum of RUNS, and its target. Times are taken where the API
server shows something: from the request to the watch event of the job that shows the step.
"""
import glob
import http.client
import json
import os
import queue
import re
import signal
import ssl
import statistics
import sys
import threading
import time

SERVER, PKI, NAMESPACE = sys.argv[1:4]
RUNS = int(sys.argv[4])
JOBS = f"/apis/paceline.dev/v1/namespaces/{NAMESPACE}/trainingjobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PATIENCE = 120
TLS = ssl.create_default_context(cafile=f"{PKI}/ca.crt")
TLS.load_cert_chain(f"{PKI}/admin.crt", f"{PKI}/admin.key")


def send(method, path, body=None, kind="application/json"):
    host, port = SERVER.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(host, int(port), context=TLS, timeout=600)
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
    return connection.getresponse()


def ask(method, path, body=None, kind="application/json"):
    answer = send(method, path, body, kind)
    text = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {text[:500]}")
    return json.loads(text)


class Watch:
    """What the API server shows of a namespace's objects, with the time it was shown."""

    def __init__(self, path):
        self.path = path
        self.events = queue.Queue()
        version = ask("GET", path)["metadata"]["resourceVersion"]
        self.answer = send("GET", f"{path}?watch=1&resourceVersion={version}")
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.answer:
            self.events.put((time.monotonic(), json.loads(line)["object"]))

    def until(self, holds):
        """The time at which an object was shown that `holds`, and the object."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                at, thing = self.events.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise SystemExit(f"nothing after {PATIENCE} s: {holds.__doc__}")
            if holds(thing):
                return at, thing


def job(name, workers, **spec):
    return {
        "apiVersion": "paceline.dev/v1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "model": {"name": "fashion-cnn"},
            "dataset": {"name": "fashion-mnist"},
            "training": {"epochs": 1000, "batchSize": 128, "threads": 1},
            "replicas": {
                "worker": {
                    "replicas": workers,
                    "template": {
                        "spec": {
                            "terminationGracePeriodSeconds": 5,
                            "containers": [{"resources": {"requests": {"cpu": "100m"}}}],
                        }
                    },
                }
            },
            **spec,
        },
    }


def step_of(thing):
    return thing.get("status", {}).get("progress", {}).get("step", 0)


def generation_of(thing):
    return thing.get("status", {}).get("launch", {}).get("generation", 0)


def trains(thing):
    return any(
        c["type"] == "Running" and c.get("reason") == "Training"
        for c in thing.get("status", {}).get("conditions", [])
    )


def next_step(watch, generation):
    """The first step that a generation above this one shows; when it trains, the old one's is
    still there."""

    def launched(thing):
        """a later generation trains"""
        return generation_of(thing) > generation and trains(thing)

    _, thing = watch.until(launched)
    before = step_of(thing)

    def stepped(thing):
        """a step of the later generation"""
        return step_of(thing) != before

    return watch.until(stepped)


def delete(name):
    ask("DELETE", f"{JOBS}/{name}?propagationPolicy=Background")
    selector = f"{PODS}?labelSelector=paceline.dev%2Fjob-name%3D{name}"
    while ask("GET", selector)["items"]:
        time.sleep(0.2)


def starts(rows):
    for i in range(RUNS):
        watch, pods = Watch(JOBS), Watch(PODS)
        begin = time.monotonic()
        ask("POST", JOBS, job(f"start-{i}", 2))

        def stepped(thing):
            """a first step"""
            return step_of(thing) > 0

        first, _ = watch.until(stepped)
        running, seen = None, {}
        while not pods.events.empty():
            at, pod = pods.events.get()
            if pod["status"]["phase"] == "Running":
                running = seen.setdefault(pod["metadata"]["name"], at)
        rows["from the apply to the first step"].append(first - begin)
        rows["from the last pod's start to the first step"].append(first - running)
        delete(f"start-{i}")


def pod_of(name, index):
    """The metadata of the pod that runs, once there is one."""
    labels = f"paceline.dev%2Fjob-name%3D{name},paceline.dev%2Findex%3D{index}"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for pod in ask("GET", f"{PODS}?labelSelector={labels}")["items"]:
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
                return pod["metadata"]
        time.sleep(0.1)
    raise SystemExit(f"worker {index} of {name} does not run after {PATIENCE} s")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def processes(pod, program):
    """Those of this machine that run the program in the pod."""
    return [
        int(folder.split("/")[2])
        for folder in glob.glob("/proc/[0-9]*")
        if f"pod{pod['uid']}" in read(f"{folder}/cgroup")
        and read(f"{folder}/comm").strip() == program[:15]
    ]


def agent_memory(pod):
    """MB that no other process shares: anonymous and shared memory."""
    of_agent = processes(pod, "paceline-agent")
    (pid,) = (p for p in of_agent if re.search(r"^NSpid:.*\t1$", read(f"/proc/{p}/status"), re.M))
    fields = dict(line.split(":") for line in read(f"/proc/{pid}/smaps_rollup").splitlines()[1:])
    return sum(int(fields[name].split()[0]) for name in ("Pss_Anon", "Pss_Shmem")) / 1000


def lose_pod(name, i):
    path = f"{PODS}/{pod_of(name, 1)['name']}"
    ask("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})


def lose_rank(name, i):
    for pid in processes(pod_of(name, 1), "paceline-worker"):
        os.kill(pid, signal.SIGKILL)


def scale(name, i):
    patch = {"spec": {"replicas": 1 + i % 2}}
    ask("PATCH", f"{JOBS}/{name}/scale", patch, "application/merge-patch+json")


def changes(rows, name, change, row):
    for i in range(RUNS):
        time.sleep(8)  # for a checkpoint, every 5 s: what fails again without one waits longer each time
        watch = Watch(JOBS)
        generation = generation_of(ask("GET", f"{JOBS}/{name}"))
        begin = time.monotonic()
        change(name, i)
        at, _ = next_step(watch, generation)
        rows[row].append(at - begin)


def throughput():
    """Samples a second of two pods against one, one thread each."""
    watch = Watch(JOBS)
    ask("POST", JOBS, job("ratio", 1))
    speed = {}
    for workers in (1, 2):

        def settled(thing):
            """half a minute of training"""
            p = thing.get("status", {}).get("progress", {})
            points = thing.get("status", {}).get("scaling", [])
            speed.update({p["workers"]: p["samplesPerSecond"] for p in points})
            return step_of(thing) >= 1200 * workers and workers in speed

        watch.until(settled)
        if workers == 1:
            generation = generation_of(ask("GET", f"{JOBS}/ratio"))
            ask(
                "PATCH",
                f"{JOBS}/ratio/scale",
                {"spec": {"replicas": 2}},
                "application/merge-patch+json",
            )
            next_step(watch, generation)
    delete("ratio")
    return speed


def main():
    targets = {
        "from the apply to the first step": 4,
        "from the last pod's start to the first step": 1.5,
        "from a worker pod's loss to the next step": 4,
        "from a rank's loss to the next step": 2,
        "from a change of scale to the next step": 4,
    }
    rows = {row: [] for row in targets}
    starts(rows)
    watch = Watch(JOBS)
    ask("POST", JOBS, job("long", 2, runPolicy={"backoffLimit": 1000}))
    next_step(watch, 0)
    changes(rows, "long", lose_pod, "from a worker pod's loss to the next step")
    changes(rows, "long", lose_rank, "from a rank's loss to the next step")
    print({row: [round(s, 2) for s in seconds] for row, seconds in rows.items()}, file=sys.stderr)
    memory = max(agent_memory(pod_of("long", i)) for i in (0, 1))
    changes(rows, "long", scale, "from a change of scale to the next step")
    print(f"| {RUNS} runs each | median | most | target |\n|---|---|---|---|")
    for row, seconds in rows.items():
        print(f"| {row} | {statistics.median(seconds):.2f} s | {max(seconds):.2f} s | {targets[row]} s |")
    print(f"| an agent's memory | {memory:.1f} MB | | 4 MB |")
    delete("long")
    speed = throughput()
    print(f"| samples/s of two pods against one: {speed[2]:.0f} against {speed[1]:.0f}"
          f" | {speed[2] / speed[1]:.2f} | | 1.8 |")


main()
