"""The same jobs under every fault end in the same state.

For each fault of faulty_proxy.py and each N up to the number of requests that a run without faults
makes, an operator works through a proxy that spoils every N-th request, in a namespace of its own.
Spec, status and owned objects at the end, without times, versions and identities, must equal those
of the run without faults. By default each N is tried with SHARE of the faults, in turn;
EVERY=1 tries all of them.
"""

import argparse
import asyncio
import base64
import http.client
import json
import os
import re
import signal
import ssl
import sys
import tempfile
import threading
import time

from faulty_proxy import FAULTS, Proxy

SHARE = 2
AT_ONCE = 16
PATIENCE_S = 120
KINDS = {
    "pods": "api/v1",
    "services": "api/v1",
    "configmaps": "api/v1",
    "secrets": "api/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "podgroups": "apis/scheduling.volcano.sh/v1beta1",
}
# What differs from run to run, wherever it stands.
FLEETING = {
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields",
    "generation", "nodeName", "podIP", "podIPs", "hostIP", "hostIPs", "startTime", "startedAt",
    "finishedAt", "lastTransitionTime", "completionTime", "activeSince", "activeSeconds",
    "activeMilliseconds", "clusterIP", "clusterIPs", "namespace", "observedGeneration",
    "backoffUntil", "lastProbeTime", "ready",
}  # fmt: skip


class Api:
    """The API server itself, for the test's own eyes; each thread keeps its connection."""

    def __init__(self, server, ca, token):
        self.server, self.token = server, token
        self.tls = ssl.create_default_context(cafile=ca)
        self.mine = threading.local()

    def call(self, method, path, body=None):
        if not hasattr(self.mine, "connection"):
            self.mine.connection = http.client.HTTPSConnection(
                *self.server, context=self.tls, timeout=30
            )
        self.mine.connection.request(
            method,
            f"/{path}",
            json.dumps(body) if body else None,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        answer = self.mine.connection.getresponse()
        text = answer.read()
        if answer.status == 404:
            return None
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)

    async def __call__(self, *args):
        return await asyncio.to_thread(self.call, *args)


def template(**behaviour):
    return {
        "metadata": {"annotations": {f"paceline.test/{k}": v for k, v in behaviour.items()}},
        "spec": {"containers": [{"name": "trainer", "image": "train:1"}]},
    }


def jobs():
    """They need nobody: their pods' annotations say how each of them ends."""
    done = {"exit": "0", "exit-after": "700ms"}
    specs = {
        "good": {
            "runPolicy": {
                "cleanPodPolicy": "All",
                "schedulingPolicy": {"gang": "Volcano", "schedulerName": "default-scheduler"},
            },
            "replicas": {
                "chief": {"replicas": 1, "template": template(**done)},
                "worker": {"replicas": 1, "template": template()},
                "ps": {"replicas": 1, "template": template()},
            },
        },
        "bad": {
            "runPolicy": {"backoffLimit": 1},
            "replicas": {
                "worker": {
                    "replicas": 1,
                    "restartPolicy": "ExitCode",
                    "template": template(exit="137"),
                }
            },
        },
        "brief": {
            "runPolicy": {"ttlSecondsAfterFinished": 1},
            "replicas": {"worker": {"replicas": 1, "template": template(exit="0")}},
        },
    }
    for name, spec in specs.items():
        yield {
            "apiVersion": "paceline.dev/v1",
            "kind": "TrainingJob",
            "metadata": {"name": name},
            "spec": spec,
        }


def normal(value, words):
    """Without what differs from run to run; `words` are texts to replace."""
    if isinstance(value, dict):
        return {k: normal(v, words) for k, v in sorted(value.items()) if k not in FLEETING}
    if isinstance(value, list):
        return [normal(v, words) for v in value]
    if isinstance(value, str):
        for word, other in words.items():
            value = value.replace(word, other)
        # The digits and the key follow from the master key and the job's UID.
        value = re.sub(r"^[A-Za-z0-9+/]{43}=$", "<32 bytes>", value)
        return re.sub(r"-key-[0-9a-f]{8}$", "-key-<digits>", value)
    return value


def essence(kind, o, words):
    """What of an owned object counts."""
    meta = o["metadata"]
    kept = {
        "labels": meta.get("labels"),
        "annotations": meta.get("annotations"),
        "owners": [f"{r['kind']}/{r['name']}" for r in meta.get("ownerReferences", [])],
        "finalizers": meta.get("finalizers"),
        "phase": o.get("status", {}).get("phase"),
        "deleting": "deletionTimestamp" in meta,
    }
    for field in ("spec", "data", "type", "immutable"):
        kept[field] = o.get(field)
    return normal(kept, words)


class Run:
    def __init__(self, test, namespace, fault=None, period=0):
        self.test, self.namespace = test, namespace
        self.fault, self.period = fault, period

    def __str__(self):
        if not self.fault:
            return "no fault"
        return f"{self.fault} at every {self.period}. request"

    async def state(self):
        api, state, words = self.test.api, {}, {self.namespace: "<namespace>"}
        listed = await api(
            "GET", f"apis/paceline.dev/v1/namespaces/{self.namespace}/trainingjobs"
        )
        for o in listed["items"]:
            words[o["metadata"]["uid"]] = "<uid>"
        for o in listed["items"]:
            state[f"trainingjobs/{o['metadata']['name']}"] = normal(
                {"spec": o["spec"], "status": o.get("status")}, words
            )
        for kind, group in KINDS.items():
            for o in (await api("GET", f"{group}/namespaces/{self.namespace}/{kind}"))["items"]:
                if o["metadata"]["name"] != "kube-root-ca.crt":
                    name = normal(o["metadata"]["name"], words)
                    state[f"{kind}/{name}"] = essence(kind, o, words)
        return state

    async def settled(self):
        """The state when it equals the wanted one; else when it has stopped changing."""
        end, last, same, state = time.monotonic() + PATIENCE_S, None, 0, {}
        while time.monotonic() < end:
            await asyncio.sleep(0.4)
            if self.namespace not in self.test.over:
                continue
            state = await self.state()
            if self.test.wanted and state == self.test.wanted:
                return state
            same = same + 1 if state == last else 0
            if same == (20 if self.test.wanted else 8):
                break
            last = state
        return state or await self.state()

    async def run(self):
        test, ns = self.test, self.namespace
        await test.api("POST", "api/v1/namespaces", {"metadata": {"name": ns}})
        while not await test.api("GET", f"api/v1/namespaces/{ns}/serviceaccounts/default"):
            await asyncio.sleep(0.05)
        proxy = Proxy(test.upstream, *test.certificate, test.ca, self.fault, self.period)
        port = await proxy.start()
        with tempfile.TemporaryDirectory() as folder:
            for job in jobs():
                await test.api("POST", f"apis/paceline.dev/v1/namespaces/{ns}/trainingjobs", job)
            log = open(f"{folder}/log", "w+", encoding="utf-8")
            operator = await asyncio.create_subprocess_exec(
                *(test.operator, "--kubeconfig", test.kubeconfig(folder, port)),
                *("--namespace", ns, "--operator-namespace", ns, "--no-leader-election"),
                *("--master-key-file", test.master_key, "--web", "none"),
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
            try:
                state = await self.settled()
            finally:
                if operator.returncode is None:
                    operator.send_signal(signal.SIGTERM)
                try:
                    await asyncio.wait_for(operator.wait(), 30)
                except asyncio.TimeoutError:
                    operator.kill()
                    await operator.wait()
                await proxy.stop()
            log.seek(0)
            self.log = log.read()
            log.close()
        self.exit, self.requests, self.spoiled, self.trace = (
            operator.returncode, proxy.requests, proxy.spoiled, proxy.log
        )  # fmt: skip
        return state


def difference(got, want, path=""):
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted(set(got) | set(want)):
            yield from difference(got.get(key), want.get(key), f"{path}.{key}")
    elif got != want:
        yield f"{path}: {json.dumps(got)[:300]}, not {json.dumps(want)[:300]}"


class Test:
    def __init__(self, args):
        self.args, self.wanted = args, None
        self.operator = args.operator
        host, port = args.server.removeprefix("https://").split(":")
        self.upstream = (host, int(port))
        self.ca = f"{args.pki}/ca.crt"
        self.certificate = (f"{args.pki}/server.crt", f"{args.pki}/server.key")
        self.api = Api(self.upstream, self.ca, "admin")
        self.token = args.token
        self.failed = self.count = 0
        self.master_key = f"{args.pki}/master-key"
        with open(self.master_key, "wb") as f:
            f.write(bytes(range(32)))

    def kubeconfig(self, folder, port):
        path = f"{folder}/kubeconfig"
        with open(self.ca, "rb") as f:
            ca = base64.b64encode(f.read()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": f"https://127.0.0.1:{port}",
                        "certificate-authority-data": ca,
                    },
                }
            ],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "users": [{"name": "test", "user": {"token": self.token}}],
        }
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        os.chmod(path, 0o600)
        return path

    async def look(self):
        """Keeps `over`: the namespaces in which everything that was asked for has happened."""
        while True:
            ended = {}
            for o in (await self.api("GET", "apis/paceline.dev/v1/trainingjobs"))["items"]:
                true = {c["type"] for c in (o.get("status") or {}).get("conditions", [])
                        if c["status"] == "True"}  # fmt: skip
                ended.setdefault(o["metadata"]["namespace"], {})[o["metadata"]["name"]] = true
            self.over = {
                ns for ns, jobs in ended.items()
                if set(jobs) == {"good", "bad"}
                and "Succeeded" in jobs["good"] and "Failed" in jobs["bad"]
            }  # fmt: skip
            await asyncio.sleep(0.3)

    async def one(self, run):
        state = await run.run()
        self.count += 1
        problems = list(difference(state, self.wanted))
        if run.exit:
            problems.append(f"the operator ended with {run.exit}")
        if not run.spoiled and run.period < 0.8 * self.requests:
            problems.append(f"nothing was spoiled in {run.requests} requests")
        if problems:
            self.failed += 1
            print(f"{run}: {len(problems)} differences")
            for problem in problems[:8]:
                print(f"    {problem}")
            for line in run.trace[-12:] + run.log.splitlines()[-8:]:
                print(f"    | {line[:220]}")
            sys.stdout.flush()

    async def all(self):
        begin, self.over = time.monotonic(), set()
        looking = asyncio.create_task(self.look())
        calm = Run(self, "calm")
        self.wanted = await calm.run()
        if "calm" not in self.over or calm.exit:
            print(f"without faults the jobs do not end: {json.dumps(self.wanted, indent=1)}")
            print("\n".join(calm.trace[-20:]) + "\n" + calm.log[-2000:])
            return 1
        self.requests = calm.requests
        pairs = self.pairs(calm.requests)
        queue = asyncio.Queue()
        for i, (fault, period) in enumerate(pairs):
            queue.put_nowait(Run(self, f"f{i}-{fault}-{period}", fault, period))

        async def worker():
            while not queue.empty() and self.failed < 10:
                await self.one(queue.get_nowait())

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
        looking.cancel()
        print(
            f"{self.count} runs of {len(pairs)}, {self.failed} ended differently; "
            f"{calm.requests} requests without faults; {time.monotonic() - begin:.0f} s"
        )
        return 1 if self.failed or self.count < len(pairs) else 0

    def pairs(self, requests):
        periods = range(1, requests + 1)
        if self.args.period:
            periods = [self.args.period]
        if self.args.fault:
            return [(self.args.fault, n) for n in periods]
        if self.args.every:
            return [(fault, n) for n in periods for fault in FAULTS]
        return [(FAULTS[(n * SHARE + n // 4 + i) % len(FAULTS)], n) for n in periods for i in range(SHARE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operator", required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--pki", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--every", action="store_true", default=bool(os.environ.get("EVERY")))
    parser.add_argument("--fault", choices=FAULTS, default=os.environ.get("FAULT"))
    parser.add_argument("--period", type=int, default=int(os.environ.get("PERIOD", "0")))
    sys.exit(asyncio.run(Test(parser.parse_args()).all()))


if __name__ == "__main__":
    main()
