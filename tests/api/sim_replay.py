"""Sends one trace of requests to a real API server and to the simulated one; answers must match.

usage: sim_replay.py URL TOKEN CA REPLAY-PROGRAM

Compared are status codes, reasons, messages, what decides in objects (identity, finalizers,
deletion, generation, owners, phase), whether the resource version moved, and watch events.
"""
import http.client
import json
import re
import ssl
import subprocess
import sys
import urllib.parse

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
NS = "default"
CORE = f"/api/v1/namespaces/{NS}"
JOBS = f"/apis/paceline.dev/v1/namespaces/{NS}/trainingjobs"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
POLICIES = f"/apis/networking.k8s.io/v1/namespaces/{NS}/networkpolicies"
FINALIZER = "paceline.dev/tracking"


class Real:
    def __init__(self, url, token, ca):
        self.token = token
        address = urllib.parse.urlsplit(url)
        context = ssl.create_default_context(cafile=ca)
        self.connection = http.client.HTTPSConnection(address.hostname, address.port,
                                                      context=context, timeout=30)

    def send(self, method, path, content_type, accept, body):
        headers = {"Authorization": f"Bearer {self.token}",
                   "Accept": accept or "application/json"}
        if body:
            headers["Content-Type"] = content_type or "application/json"
        self.connection.request("GET" if method == "WATCH" else method, path, body or None, headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if method == "WATCH" and answer.status == 200:
            return 200, [json.loads(line) for line in text.splitlines()]
        return answer.status, json.loads(text) if text else None


class Simulated:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def send(self, *fields):
        self.process.stdin.write("\t".join(field or "" for field in fields) + "\n")
        self.process.stdin.flush()
        status, text = self.process.stdout.readline().split("\t", 1)
        return int(status), json.loads(text) if text.strip() else None


class Side:
    """One server with what it has said: placeholders in requests are filled from it."""

    def __init__(self, server):
        self.server, self.seen, self.moved, self.more = server, {}, None, ""

    def fill(self, text):
        def value(match):
            what, name = match.group(1), match.group(2)
            if what == "continue":
                return urllib.parse.quote(self.more)
            return self.seen[name]["uid" if what == "uid" else "resourceVersion"]
        return re.sub(r"<(uid|rv|continue) ?([^>]*)>", value, text) if text else text

    def learn(self, body):
        if not isinstance(body, dict) or "metadata" not in body:
            return
        meta = body["metadata"]
        self.more = meta.get("continue", "") or self.more
        if "name" not in meta:
            if "resourceVersion" in meta:
                self.seen["list"] = meta
            return
        old = self.seen.get(meta["name"], {})
        self.moved = None if old.get("uid") != meta["uid"] else \
            old["resourceVersion"] != meta["resourceVersion"]
        self.seen[meta["name"]] = meta

    def send(self, step):
        self.moved = None
        status, body = self.server.send(*(self.fill(field) for field in step))
        self.learn(body)
        return {"status": status, "body": normal(body), "moved": self.moved}


def normal_meta(meta):
    keep = ("name", "namespace", "labels", "finalizers", "generation",
            "deletionGracePeriodSeconds")
    out = {key: meta[key] for key in keep if key in meta}
    out["deleting"] = "deletionTimestamp" in meta
    out["owners"] = [{k: v for k, v in owner.items() if k != "uid"}
                     for owner in meta.get("ownerReferences", [])]
    for key in ("remainingItemCount",):
        if key in meta:
            out[key] = meta[key]
    out["more"] = bool(meta.get("continue"))
    return out


def normal_text(text):
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text)
    text = re.sub(r"(ResourceVersion in (?:the precondition|record)) \(\d+\)", r"\1 (RV)", text)
    return re.sub(r"too old resource version: \d+ \(\d+\)", "too old", text)


def normal(body):
    if isinstance(body, list):
        return [{"type": event["type"], "object": normal(event["object"])} for event in body
                if event["type"] != "BOOKMARK"]
    if body is None:
        return None
    out = {key: body[key] for key in ("kind", "apiVersion", "code", "reason") if key in body}
    if body.get("kind") == "Status":
        if body.get("reason") not in ("Invalid", "BadRequest"): # its wording is the server's own
            out["message"] = normal_text(body.get("message", ""))
        out["status"] = body["status"]
        details = dict(body.get("details") or {})
        for key in ("causes", "uid"):
            details.pop(key, None)
        out["details"] = details
        return out
    out["metadata"] = normal_meta(body["metadata"])
    if "items" in body:
        out["items"] = [normal(item) for item in body["items"]]
    for path in (("status", "phase"), ("spec", "nodeName"), ("spec", "replicas"),
                 ("spec", "runPolicy", "suspend"), ("status", "restarts"),
                 ("spec", "holderIdentity"), ("spec", "terminationGracePeriodSeconds")):
        value = body
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if path == ("spec", "replicas") and isinstance(value, dict):
            value = value.get("worker", {}).get("replicas")
        out[".".join(path)] = value
    return out


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def pod(name, node=None, finalizer=True, grace=None, owner=None, labels=None):
    spec = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    meta = {"name": name, "labels": labels or {"app": "replay"}}
    if finalizer:
        meta["finalizers"] = [FINALIZER]
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "paceline.dev/v1", "kind": "TrainingJob",
                                    "name": owner, "uid": f"<uid {owner}>", "controller": True,
                                    "blockOwnerDeletion": True}]
    return dump({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec})


def job(name, workers=2):
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return dump({"apiVersion": "paceline.dev/v1", "kind": "TrainingJob", "metadata": {"name": name},
                 "spec": {"replicas": {"worker": {"replicas": workers, "template": template}}}})


def release(name):
    return ("PATCH", f"{CORE}/pods/{name}", STRATEGIC, None,
            dump({"metadata": {"uid": f"<uid {name}>",
                               "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}))


def deletion(path, **options):
    return ("DELETE", path, None, None,
            dump({"kind": "DeleteOptions", "apiVersion": "v1", **options}) if options else None)


def trace():
    pods = f"{CORE}/pods"

    def get(path, accept=None):
        return ("GET", path, None, accept, None)

    def post(path, body, accept=None):
        return ("POST", path, None, accept, body)

    def merge(path, body):
        return ("PATCH", path, MERGE, None, dump(body))

    yield get(f"{pods}/a")
    yield get(f"{pods}?limit=1&labelSelector=app%3Dreplay")
    yield post(f"{pods}?dryRun=All", pod("a"))
    yield get(f"{pods}/a")
    yield post(pods, pod("a"))
    yield post(pods, pod("a"))
    yield post(f"{pods}?dryRun=All", pod("a"))
    yield get(f"{pods}/a", PARTIAL)
    yield post(pods, dump({"metadata": {"name": "bad"}, "spec": {"containers": [{"name": "c"}]}}))
    yield post(f"{pods}?dryRun=All", dump({"metadata": {"name": "bad"}, "spec": {"containers": []}}))
    # an unscheduled pod: the finalizer keeps it, then it goes at once
    yield deletion(f"{pods}/a", preconditions={"uid": "00000000-0000-4000-a000-000000000000"})
    yield deletion(f"{pods}/a", preconditions={"uid": "<uid a>", "resourceVersion": "1"})
    yield deletion(f"{pods}/a", preconditions={"uid": "<uid a>", "resourceVersion": "<rv a>"})
    yield deletion(f"{pods}/a")
    yield release("a")
    yield get(f"{pods}/a")
    yield release("a")
    # a scheduled one: grace, shortened, finalizer before and after
    yield post(pods, pod("b", node="n1"))
    yield deletion(f"{pods}/b", preconditions={"uid": "<uid b>"})
    yield deletion(f"{pods}/b", preconditions={"uid": "<uid b>"})
    yield deletion(f"{pods}/b", gracePeriodSeconds=60)
    yield release("b")
    yield release("b")
    yield deletion(f"{pods}/b", gracePeriodSeconds=5)
    yield deletion(f"{pods}/b", gracePeriodSeconds=0)
    yield get(f"{pods}/b")
    yield post(pods, pod("c", node="n1", grace=7))
    yield deletion(f"{pods}/c", gracePeriodSeconds=0, preconditions={"uid": "<uid c>"})
    yield deletion(f"{pods}/c", gracePeriodSeconds=0)
    yield release("c")
    # the kubelet's way: finished, then removed
    yield post(pods, pod("d", node="n1"))
    yield ("PATCH", f"{pods}/d/status", MERGE, None, dump({"status": {"phase": "Failed"}}))
    yield ("PATCH", f"{pods}/d/status", MERGE, None, dump({"status": {"phase": "Failed"}}))
    yield merge(f"{pods}/d", {"status": {"phase": "Running"}})
    yield deletion(f"{pods}/d")
    yield release("d")
    # patches
    yield post(pods, pod("e", node="n1", finalizer=False))
    yield merge(f"{pods}/e", {"metadata": {"labels": {"x": "1"}}})
    yield merge(f"{pods}/e", {"metadata": {"labels": {"x": "1"}}})
    yield merge(f"{pods}/e", {"metadata": {"resourceVersion": "1", "labels": {"x": "2"}}})
    yield merge(f"{pods}/e", {"metadata": {"resourceVersion": "<rv e>", "labels": {"x": None}}})
    yield merge(f"{pods}/e", {"metadata": {"uid": "00000000-0000-4000-a000-000000000000",
                                           "labels": {"x": "3"}}})
    yield ("PATCH", f"{pods}/e", STRATEGIC, None,
           dump({"metadata": {"uid": "00000000-0000-4000-a000-000000000000",
                              "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}))
    yield release("e")
    yield deletion(f"{pods}/e?gracePeriodSeconds=0")
    # jobs: status is a subresource, generation counts the spec
    yield post(JOBS, job("j"))
    yield post(JOBS, job("j"))
    yield merge(f"{JOBS}/j/status", {"metadata": {"uid": "<uid j>", "resourceVersion": "<rv j>"},
                                     "status": {"restarts": 1}})
    yield merge(f"{JOBS}/j/status", {"metadata": {"uid": "<uid j>", "resourceVersion": "1"},
                                     "status": {"restarts": 2}})
    yield merge(f"{JOBS}/j/status",
                {"metadata": {"uid": "00000000-0000-4000-a000-000000000000"},
                 "status": {"restarts": 2}})
    yield merge(f"{JOBS}/j/status",
                {"metadata": {"uid": "00000000-0000-4000-a000-000000000000",
                              "resourceVersion": "1"}, "status": {"restarts": 2}})
    yield merge(f"{JOBS}/j/status", {"spec": {"runPolicy": {"suspend": True}}})
    yield merge(f"{JOBS}/j", {"status": {"restarts": 9}})
    yield merge(f"{JOBS}/j", {"spec": {"runPolicy": {"suspend": True}}})
    yield merge(f"{JOBS}/j", {"spec": {"replicas": {"worker": {"replicas": 3}}}})
    yield merge(f"{JOBS}/j", {"metadata": {"labels": {"team": "a"}}})
    yield merge(f"{JOBS}/none/status", {"status": {"restarts": 1}})
    yield post(f"{CORE}/configmaps", dump({"metadata": {"name": "m", "labels": {"app": "replay"}}}))
    yield post(f"{CORE}/configmaps", dump({"metadata": {"name": "m"}}))
    yield post(f"{CORE}/configmaps", dump({"metadata": {"name": "n", "labels": {"app": "replay"}}}))
    yield get(f"{CORE}/configmaps?labelSelector=app%3Dreplay")
    yield get(f"{CORE}/configmaps?labelSelector=app%3Dreplay", PARTIAL_LIST)
    yield deletion(f"{CORE}/configmaps/m", preconditions={"uid": "<uid m>"})
    yield deletion(f"{CORE}/configmaps/m", preconditions={"uid": "<uid m>"})
    yield deletion(f"{CORE}/configmaps/n")
    service = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}
    yield post(f"{CORE}/services", dump(service))
    yield deletion(f"{CORE}/services/s")
    policy = {"metadata": {"name": "p"}, "spec": {"podSelector": {}}}
    yield post(POLICIES, dump(policy))
    yield deletion(f"{POLICIES}/p")
    secret = {"metadata": {"name": "k"}, "data": {}}
    yield post(f"{CORE}/secrets", dump(secret))
    yield post(f"{CORE}/secrets", dump(secret))
    yield deletion(f"{CORE}/secrets/k")
    # leases
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "one"}}
    yield get(f"{LEASES}/l")
    yield post(LEASES, dump(lease))
    yield post(LEASES, dump(lease))
    lease["spec"]["holderIdentity"] = "two"
    yield ("PUT", f"{LEASES}/l", None, None, dump(lease))
    lease["metadata"]["resourceVersion"] = "1"
    yield ("PUT", f"{LEASES}/l", None, None, dump(lease))
    lease["metadata"]["resourceVersion"] = "<rv l>"
    yield ("PUT", f"{LEASES}/l", None, None, dump(lease))
    yield deletion(f"{LEASES}/l")
    # pages, and watches with and without a selector's sight
    yield get(f"{pods}?labelSelector=app%3Dreplay")
    for name in ("x1", "x2", "x3"):
        yield post(pods, pod(name, owner="j"))
    yield get(f"{pods}?labelSelector=app%3Dreplay&limit=2")
    yield get(f"{pods}?labelSelector=app%3Dreplay&limit=2&continue=<continue>")
    watch = f"{pods}?watch=1&labelSelector=app%3Dreplay&timeoutSeconds=1&resourceVersion=<rv list>"
    yield get(f"{pods}?labelSelector=app%3Dreplay")
    yield merge(f"{pods}/x1", {"metadata": {"labels": {"app": "other"}}})
    yield merge(f"{pods}/x2", {"metadata": {"labels": {"y": "1"}}})
    yield merge(f"{pods}/x1", {"metadata": {"labels": {"app": "replay"}}})
    yield deletion(f"{pods}/x3")
    yield release("x3")
    yield ("WATCH", watch, None, None, None)
    yield ("WATCH", watch, None, PARTIAL, None)
    # a foreground deletion waits for the dependents
    yield deletion(f"{JOBS}/j", propagationPolicy="Foreground")
    yield merge(f"{JOBS}/j", {"metadata": {"finalizers": None}})
    yield get(f"{JOBS}/j")
    yield deletion(f"{JOBS}/j")
    yield post(JOBS, job("i", 1))
    for path in (f"{JOBS}/i", f"{LEASES}/l2", f"{CORE}/configmaps/n2"):
        if "/i" not in path:
            yield post(path.rsplit("/", 1)[0], dump({"metadata": {"name": path.rsplit("/", 1)[1]}}))
        yield deletion(path, preconditions={"uid": "00000000-0000-4000-a000-000000000000"})
        yield merge(path, {"metadata": {"uid": "00000000-0000-4000-a000-000000000000",
                                        "labels": {"a": "b"}}})
    yield deletion(f"{JOBS}/i", preconditions={"uid": "<uid i>", "resourceVersion": "<rv i>"},
                   propagationPolicy="Background")


def difference(path, real, simulated):
    """Lines that name each place where the two differ."""
    if isinstance(real, dict) and isinstance(simulated, dict):
        for key in sorted(set(real) | set(simulated)):
            yield from difference(f"{path}.{key}", real.get(key), simulated.get(key))
    elif isinstance(real, list) and isinstance(simulated, list) and len(real) == len(simulated):
        for i, pair in enumerate(zip(real, simulated)):
            yield from difference(f"{path}[{i}]", *pair)
    elif real != simulated:
        yield f"    {path}: real {dump(real)}, simulated {dump(simulated)}"


def main():
    url, token, ca, program = sys.argv[1:5]
    sides = [Side(Real(url, token, ca)), Side(Simulated(program))]
    steps = differ = 0
    for step in trace():
        real, simulated = (side.send(step) for side in sides)
        steps += 1
        if real != simulated:
            differ += 1
            print(f"{step[0]} {step[1]} {step[4] or ''}")
            print(*difference("", real, simulated), sep="\n")
    print(f"{steps} requests, {differ} answers differ")
    return 1 if differ or steps < 90 else 0


if __name__ == "__main__":
    sys.exit(main())
