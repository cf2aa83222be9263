#!/usr/bin/env python3
"""How fast and how small the operator is, against a real API server with fake nodes.

`make bench-operator` runs all of it (about half an hour on two cores); BENCH_OPERATOR="--only job
--pairs 1 --workers 100" a part. Times of writes come from the API server's audit log, so that looking
does not disturb what is looked at; memory is anonymous plus shared-memory Pss, high-water mark beside
it. The yardstick is raw.c: the same bytes over eight keep-alive connections with the same rights.
"""

import argparse
import concurrent.futures
import datetime
import http.client
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("start", "idle", "job", "many", "delete", "memory", "failover")
SERVICE_ACCOUNT = "paceline-operator"


def micros(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Cluster:
    def __init__(self, folder, nodes):
        self.folder = folder
        self.process = subprocess.Popen(
            [ROOT / "bench/operator/cluster.sh", folder, str(nodes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        answers = [self.process.stdout.readline().strip() for _ in range(4)]
        if not all(answers):
            self.process.wait()
            sys.exit("Kubernetes did not start")
        self.url, self.namespace, self.token, self.bin = answers
        self.ca = f"{folder}/cluster/pki/ca.crt"
        self.tls = ssl.create_default_context(cafile=self.ca)
        self.audit = open_when_there(f"{folder}/audit")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def call(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(
            f"{self.url}{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": "Bearer admin", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            if e.code == 404 and method != "POST":
                return None
            raise

    def count(self, namespace, kind="pods"):
        page = self.call("GET", f"/api/v1/namespaces/{namespace}/{kind}?limit=1")
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    def new_namespace(self, name):
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        while not self.call("GET", path):
            time.sleep(0.05)

    def apply_jobs(self, namespace, jobs):
        """At once, over as many connections as the raw client has; returns when all are accepted."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: self.apply_each(namespace, jobs[i::8]), range(8)))

    def apply_each(self, namespace, jobs):
        path = f"/apis/paceline.dev/v1/namespaces/{namespace}/trainingjobs"
        headers = {"Authorization": "Bearer admin", "Content-Type": "application/json"}
        connection = http.client.HTTPSConnection(
            urllib.parse.urlsplit(self.url).netloc, context=self.tls
        )
        for job in jobs:
            connection.request("POST", path, json.dumps(job), headers)
            answer = connection.getresponse()
            if answer.status != 201:
                sys.exit(f"a job was refused: {answer.read().decode()}")
            answer.read()
        connection.close()

    def jobs(self, namespace):
        path = f"/apis/paceline.dev/v1/namespaces/{namespace}/trainingjobs"
        return self.call("GET", path)["items"]

    def audited(self, namespace):
        """Events of the audit log since the last look that are about the namespace."""
        time.sleep(1)
        events = []
        for line in self.audit:
            event = json.loads(line)
            if event.get("objectRef", {}).get("namespace") == namespace:
                events.append(event)
        return events


def open_when_there(path):
    while not os.path.exists(path):
        time.sleep(0.05)
    return open(path, encoding="utf-8")


def job(name, workers, managed_by=None):
    policy = {"managedBy": managed_by} if managed_by else {}
    return {
        "apiVersion": "paceline.dev/v1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": policy,
            "replicas": {
                "worker": {
                    "replicas": workers,
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "name": "trainer",
                                    "image": "train:1",
                                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                                }
                            ]
                        }
                    },
                }
            },
        },
    }


class Operator:
    def __init__(self, cluster, program, *flags, elect=False):
        self.port = free_port()
        self.log = open(f"{cluster.folder}/operator.log", "a", encoding="utf-8")
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [program, "--kubeconfig", f"{cluster.folder}/operator.conf", "--all-namespaces",
             "--operator-namespace", cluster.namespace,
             "--web-address", f"127.0.0.1:{self.port}", *flags,
             *([] if elect else ["--no-leader-election"])],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        while not self.ready():
            if self.process.poll() is not None:
                sys.exit(f"the operator ended; see {self.log.name}")
            time.sleep(0.002)
        self.start_ms = 1000 * (time.monotonic() - begin)

    def ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                s.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return b" 200 " in s.recv(64)
        except OSError:
            return False

    def cpu_s(self):
        """Of all threads, to the nanosecond."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def memory_mb(self):
        """Anonymous plus shared-memory Pss, and the high-water mark of everything."""
        pid, sums = self.process.pid, {}
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
            sums[line.split(":")[0]] = int(line.split()[1])
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0])
        return (sums["Pss_Anon"] + sums["Pss_Shmem"]) / 1024, peak / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.log.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(what, condition, seconds=900, step=0.2):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"gave up waiting: {what}")
        time.sleep(step)


def is_true(job_object, condition):
    conditions = (job_object.get("status") or {}).get("conditions", [])
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


def of_operator(event):
    return event["user"]["username"].endswith(f":{SERVICE_ACCOUNT}") and not event.get(
        "userAgent", ""
    ).startswith("paceline-raw")


def written(events, resource, verb=None, subresource=None):
    return [
        e
        for e in events
        if e["objectRef"]["resource"] == resource
        and (verb is None or e["verb"] == verb)
        and e["objectRef"].get("subresource") == subresource
        and e["responseStatus"]["code"] < 300
        and "dryRun" not in e["requestURI"]
    ]


class Bench:
    def __init__(self, args):
        self.args, self.rows = args, []
        self.program = str((ROOT / args.build / "bin/paceline-operator").resolve())
        self.raw_program = str((ROOT / args.build / "bench/operator/raw").resolve())
        self.serial = 0

    def row(self, what, value, target=""):
        self.rows.append((what, value, target))
        print(f"  {what}: {value}" + (f"  (target: {target})" if target else ""), flush=True)

    def namespace(self):
        self.serial += 1
        name = f"bench-{self.serial}"
        self.cluster.new_namespace(name)
        return name

    def clean(self, namespace):
        """Jobs and what they own go; by their finalizers only an operator can end this."""
        c = self.cluster
        c.call("DELETE", f"/apis/paceline.dev/v1/namespaces/{namespace}/trainingjobs", {})
        wait("clean-up", lambda: not c.jobs(namespace) and c.count(namespace) == 0)

    def raw(self, jobs, bare=False):
        """Seconds from the first request to the last answer."""
        c, namespace = self.cluster, self.namespace()
        c.apply_jobs(namespace, [{**j, "spec": {**j["spec"], "runPolicy": {
            **j["spec"]["runPolicy"], "managedBy": "example.test/nobody"}}} for j in jobs])  # fmt: skip
        time.sleep(1)
        out = subprocess.run(
            [self.raw_program, "--server", c.url, "--ca", c.ca, "--token", c.token,
             "--namespace", namespace, *(["--bare"] if bare else [])],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        pods = sum(j["spec"]["replicas"]["worker"]["replicas"] for j in jobs)
        wait("raw pods run", lambda: self.run_all(namespace, pods))
        return namespace, float(out[2])

    def run_all(self, namespace, pods):
        """Whether so many pods are there and all of them run."""
        path = f"/api/v1/namespaces/{namespace}/pods?limit=1&fieldSelector=status.phase!%3DRunning"
        c = self.cluster
        return c.count(namespace) == pods and not c.call("GET", path)["items"]

    def operated(self, jobs):
        """The same by the operator: seconds from the first job's arrival to the last pod's
        creation, seconds from the last pod's start to the last write of a status, the writes."""
        c, namespace = self.cluster, self.namespace()
        operator = Operator(c, self.program)
        c.audited(namespace)
        cpu = operator.cpu_s()
        c.apply_jobs(namespace, jobs)
        wait("jobs run", lambda: all(is_true(j, "Running") for j in c.jobs(namespace)))
        time.sleep(4)  # for whatever else it writes
        cpu = operator.cpu_s() - cpu
        events = c.audited(namespace)
        ours = [e for e in events if of_operator(e)]
        begin = min(micros(e["requestReceivedTimestamp"])
                    for e in written(events, "trainingjobs", "create"))  # fmt: skip
        created = [micros(e["stageTimestamp"]) for e in written(ours, "pods", "create")]
        started = [micros(e["stageTimestamp"]) for e in written(events, "pods", "patch", "status")]
        settled = [micros(e["stageTimestamp"]) for e in written(ours, "trainingjobs", None, "status")]
        writes = {
            "pods": len(created),
            "status": len(settled),
            "events": len(written(ours, "events")),
        }
        writes["objects"] = len([e for e in ours if e["verb"] == "create"
                                 and e["responseStatus"]["code"] < 300
                                 and "dryRun" not in e["requestURI"]
                                 and e["objectRef"]["resource"] not in ("pods", "events")])  # fmt: skip
        writes["all"] = len(ours)
        return {
            "namespace": namespace, "operator": operator, "cpu": cpu, "writes": writes,
            "created": max(created) - begin, "settled": max(settled) - max(started),
            "running": max(started) - begin,
        }  # fmt: skip

    def compare(self, name, jobs, limit):
        ratios, raws, ours, settled, cpus, writes = [], [], [], [], [], {}
        for _ in range(self.args.pairs):
            namespace, raw = self.raw(jobs)
            sweeper = Operator(self.cluster, self.program)
            self.clean(namespace)
            sweeper.stop()
            result = self.operated(jobs)
            memory = result["operator"].memory_mb()
            self.clean(result["namespace"])
            result["operator"].stop()
            raws.append(raw)
            ours.append(result["created"])
            ratios.append(result["created"] / raw)
            settled.append(result["settled"])
            cpus.append(result["cpu"])
            writes = result["writes"]
            print(f"    raw {raw:.2f} s, operator {result['created']:.2f} s, "
                  f"settled {result['settled']:+.2f} s, CPU {result['cpu']:.2f} s", flush=True)  # fmt: skip
        self.row(f"{name}: raw client", spread(raws, "s"))
        self.row(f"{name}: operator, all pods created", spread(ours, "s"))
        self.row(f"{name}: operator / raw", spread(ratios, ""), f"{limit}")
        self.row(f"{name}: settled after the last start", spread(settled, "s"), "3 s")
        self.row(f"{name}: CPU", spread(cpus, "s"), "1 s" if len(jobs) == 1 else "")
        self.row(f"{name}: writes", ", ".join(f"{v} {k}" for k, v in writes.items()),
                 "6 objects, 20 status, 20 events" if len(jobs) == 1 else "")  # fmt: skip
        self.row(f"{name}: memory after it", f"{memory[0]:.1f} MB (peak RSS {memory[1]:.1f} MB)")

    def part_start(self):
        times = []
        for _ in range(5):
            operator = Operator(self.cluster, self.program)
            times.append(operator.start_ms)
            operator.stop()
        self.row("start to /readyz", spread(times, "ms", 0), "1000 ms")
        with tempfile.NamedTemporaryFile() as f:
            subprocess.run(["strip", "-o", f.name, self.program], check=True)
            self.row("binary, stripped", f"{os.path.getsize(f.name) / 1e6:.2f} MB", "2 MB")

    def part_idle(self):
        operator = Operator(self.cluster, self.program, elect=True)
        time.sleep(5)
        cpu, begin = operator.cpu_s(), time.monotonic()
        time.sleep(self.args.idle)
        share = (operator.cpu_s() - cpu) / (time.monotonic() - begin)
        memory = operator.memory_mb()
        operator.stop()
        self.row("idle CPU", f"{100 * share:.3f}% of a core over {self.args.idle} s", "0.5%")
        self.row("idle memory", f"{memory[0]:.1f} MB (peak RSS {memory[1]:.1f} MB)", "6 MB")

    def part_job(self):
        self.compare(f"one job of {self.args.workers}", [job("big", self.args.workers)], 1.15)

    def part_many(self):
        n = self.args.jobs
        self.compare(f"{n} jobs of 4", [job(f"job-{i}", 4) for i in range(n)], 1.2)

    def part_delete(self):
        """Our finalizers cost a write per pod; the collector alone has none to wait for."""
        c, alone, ours = self.cluster, [], []
        jobs = [job("big", self.args.workers)]
        for _ in range(self.args.pairs):
            namespace, _ = self.raw(jobs, bare=True)
            alone.append(self.deletion(namespace))
            result = self.operated(jobs)
            ours.append(self.deletion(result["namespace"]))
            result["operator"].stop()
            print(f"    collector alone {alone[-1]:.2f} s, with operator {ours[-1]:.2f} s", flush=True)
        self.row("delete: garbage collector alone", spread(alone, "s"))
        self.row("delete: with the operator", spread(ours, "s"), "no slower")

    def deletion(self, namespace):
        c, begin = self.cluster, time.monotonic()
        c.call("DELETE", f"/apis/paceline.dev/v1/namespaces/{namespace}/trainingjobs/big",
               {"propagationPolicy": "Background"})  # fmt: skip
        wait("deletion", lambda: c.count(namespace) == 0)
        return time.monotonic() - begin

    def part_memory(self):
        c = self.cluster
        operator = Operator(c, self.program)
        namespace, have = self.namespace(), 0
        for pods, target in ((1000, "12 MB"), (5000, "35 MB")):
            while have < pods:
                c.apply_jobs(namespace, [job(f"memory-{have}", 1000)])
                have += 1000
                wait("pods run", lambda: all(is_true(j, "Running") for j in c.jobs(namespace)))
            time.sleep(10)
            memory = operator.memory_mb()
            self.row(f"memory with {pods} pods",
                     f"{memory[0]:.1f} MB (peak RSS {memory[1]:.1f} MB)", target)  # fmt: skip
        self.clean(namespace)
        time.sleep(10)
        memory = operator.memory_mb()
        self.row("memory after they went", f"{memory[0]:.1f} MB")
        operator.stop()

    def part_failover(self):
        times = []
        for _ in range(self.args.failovers):
            first = Operator(self.cluster, self.program, "--identity", "first", elect=True)
            wait("first leads", lambda: self.leader() == "first")
            second = Operator(self.cluster, self.program, "--identity", "second", elect=True)
            time.sleep(3)
            begin = time.monotonic()
            first.kill()
            wait("second leads", lambda: self.leader() == "second", step=0.05)
            times.append(time.monotonic() - begin)
            second.stop()
        self.row("failover after kill -9 (lease 15 s)", spread(times, "s"), "17 s")

    def leader(self):
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.cluster.namespace}/leases"
        items = self.cluster.call("GET", path)["items"]
        return items[0]["spec"].get("holderIdentity") if items else None

    def run(self):
        folder = tempfile.mkdtemp()
        self.cluster = Cluster(folder, self.args.nodes)
        try:
            for part in self.args.only or PARTS:
                print(f"{part}:", flush=True)
                getattr(self, f"part_{part}")()
        finally:
            self.cluster.stop()
            if self.args.keep:
                print(f"logs: {folder}")
            else:
                shutil.rmtree(folder)
        self.table()

    def table(self):
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            model = next((l.split(":")[1].strip() for l in f if l.startswith("model name")), "?")
        command = "make bench-operator"
        if len(sys.argv) > 1:
            command += f' BENCH_OPERATOR="{" ".join(sys.argv[1:])}"'
        print(f"\n{command}\n{os.cpu_count()} x {model}, Linux {platform.release()}, "
              f"{datetime.date.today()}\n")  # fmt: skip
        wide = max(len(r[0]) for r in self.rows)
        value = max(len(r[1]) for r in self.rows)
        for what, got, target in self.rows:
            print(f"{what:{wide}}  {got:{value}}  {target}".rstrip())


def spread(values, unit, digits=2):
    text = f"{statistics.median(values):.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
    return f"{text} {unit}".rstrip()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("BUILD", "build/gcc"))
    parser.add_argument("--only", nargs="+", choices=PARTS)
    parser.add_argument("--pairs", type=int, default=3, help="alternating runs of raw and operator")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--idle", type=int, default=60, help="seconds")
    parser.add_argument("--failovers", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="leave the logs")
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    main()
