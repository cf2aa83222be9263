#!/usr/bin/env python3
"""Enforces NetworkPolicies on a one-node cluster:  policy.py SERVER PKI

Watches pods, namespaces and networkpolicies and keeps one nft table that filters what is forwarded to
and from pods: ingress and egress, pod and namespace selectors, ipBlock, ports by number, range and
name. Connections that stand are kept. What the node itself sends (probes) is not forwarded, so it
passes. Runs in the node's network namespace; pods share a bridge, so it needs
bridge-nf-call-iptables=1.
"""
import http.client
import json
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

KINDS = {
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "policies": "/apis/networking.k8s.io/v1/networkpolicies",
}
OPERATORS = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
}
# direction: the side of the pod, the side of the peer, the peers' field in a rule
DIRECTIONS = {
    "Ingress": ("daddr", "saddr", "from"),
    "Egress": ("saddr", "daddr", "to"),
}


class Mirror:
    """What the API server has of each kind; `changed` is set with every change."""

    def __init__(self, server, pki):
        self.server = urllib.parse.urlparse(server)
        self.tls = ssl.create_default_context(cafile=f"{pki}/ca.crt")
        self.tls.load_cert_chain(f"{pki}/admin.crt", f"{pki}/admin.key")
        self.objects = {kind: {} for kind in KINDS}
        self.listed = set()
        self.lock = threading.Lock()
        self.changed = threading.Event()

    def get(self, path):
        connection = http.client.HTTPSConnection(
            self.server.hostname, self.server.port, context=self.tls, timeout=600
        )
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"{path}: {answer.status}")
        return answer

    def follow(self, kind):
        path = KINDS[kind]
        listed = json.load(self.get(path))
        with self.lock:
            self.objects[kind] = {o["metadata"]["uid"]: o for o in listed["items"]}
            self.listed.add(kind)
        self.changed.set()
        version = listed["metadata"]["resourceVersion"]
        for line in self.get(f"{path}?watch=1&resourceVersion={version}"):
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            with self.lock:
                uid = event["object"]["metadata"]["uid"]
                if event["type"] == "DELETED":
                    self.objects[kind].pop(uid, None)
                else:
                    self.objects[kind][uid] = event["object"]
            self.changed.set()

    def follow_forever(self, kind):
        while True:
            try:
                self.follow(kind)
            except (OSError, http.client.HTTPException, ValueError) as error:
                print(kind, repr(error), flush=True)
                time.sleep(0.5)

    def view(self):
        with self.lock:
            return {kind: list(objects.values()) for kind, objects in self.objects.items()}


def selects(selector, labels):
    labels = labels or {}
    expressions = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in (selector.get("matchLabels") or {}).items()
    ] + (selector.get("matchExpressions") or [])
    return all(
        OPERATORS[e["operator"]](labels.get(e["key"]), e.get("values") or []) for e in expressions
    )


def labels(thing):
    return thing["metadata"].get("labels")


def namespace(thing):
    return thing["metadata"]["namespace"]


def peers(peer, policy, view):
    """nft expressions (without the side) for the addresses of one peer."""
    if "ipBlock" in peer:
        excepted = peer["ipBlock"].get("except")
        return [(peer["ipBlock"]["cidr"], "{ " + ", ".join(excepted) + " }" if excepted else None)]
    if "namespaceSelector" in peer:
        wanted = {
            n["metadata"]["name"]
            for n in view["namespaces"]
            if selects(peer["namespaceSelector"], labels(n))
        }
    else:
        wanted = {namespace(policy)}
    return [
        (pod["status"]["podIP"], None)
        for pod in view["pods"]
        if namespace(pod) in wanted and selects(peer.get("podSelector", {}), labels(pod))
    ]


def port_numbers(port, pod):
    """The numbers of a policy's port; a name is looked up in the pod it leads to."""
    if isinstance(port, int):
        return [port]
    return [
        p["containerPort"]
        for container in pod["spec"]["containers"]
        for p in container.get("ports") or []
        if p.get("name") == port
    ]


def port_matches(rule, pod):
    matches = []
    for port in rule.get("ports") or []:
        protocol = port.get("protocol", "TCP").lower()
        if "port" not in port:
            matches.append(f"meta l4proto {protocol}")
            continue
        end = f"-{port['endPort']}" if "endPort" in port else ""
        matches += [f"{protocol} dport {n}{end}" for n in port_numbers(port["port"], pod)]
    return matches if rule.get("ports") else [""]


def address_matches(rule, direction, policy, view):
    _, side, field = DIRECTIONS[direction]
    if not rule.get(field):
        return [""]
    return [
        f"ip {side} {address}" + (f" ip {side} != {excepted}" if excepted else "")
        for peer in rule[field]
        for address, excepted in peers(peer, policy, view)
    ]


def chain(pod, direction, policies, view):
    return [
        f"{address} {port} return"
        for policy in policies
        for rule in policy["spec"].get(direction.lower()) or []
        for address in address_matches(rule, direction, policy, view)
        for port in port_matches(rule, pod)
    ] + ["counter drop"]


def render(view):
    """The nft table for what is there: one chain per isolated pod and direction."""
    view["pods"] = [
        pod
        for pod in view["pods"]
        if pod["status"].get("podIP")
        and not pod["spec"].get("hostNetwork")
        and pod["status"]["phase"] not in ("Succeeded", "Failed")
    ]
    chains, jumps = [], []
    for pod in view["pods"]:
        chosen = [
            policy
            for policy in view["policies"]
            if namespace(policy) == namespace(pod)
            and selects(policy["spec"].get("podSelector", {}), labels(pod))
        ]
        for direction, (side, _, _) in DIRECTIONS.items():
            policies = [policy for policy in chosen if direction in policy["spec"]["policyTypes"]]
            if not policies:
                continue
            address = pod["status"]["podIP"]
            name = f"{direction.lower()}_{address.replace('.', '_')}"
            rules = "\n    ".join(chain(pod, direction, policies, view))
            chains.append(f"  chain {name} {{\n    {rules}\n  }}")
            jumps.append(f"    ip {side} {address} jump {name}")
    # Before the filters of kube-proxy, after its translation of Service addresses.
    hook = [
        "  chain forward {",
        "    type filter hook forward priority -10; policy accept;",
        "    ct state established,related accept",
        *jumps,
        "  }",
    ]
    return "\n".join(["table ip network_policy {", *chains, *hook, "}", ""])


def main():
    mirror = Mirror(*sys.argv[1:3])
    for kind in KINDS:
        threading.Thread(target=mirror.follow_forever, args=[kind], daemon=True).start()
    applied = None
    while True:
        mirror.changed.wait()
        mirror.changed.clear()
        if mirror.listed != set(KINDS):
            continue
        table = render(mirror.view())
        if table == applied:
            continue
        # Declared first, so that deleting it cannot fail; all of it is one transaction.
        subprocess.run(
            ["nft", "-f", "-"],
            input="table ip network_policy\ndelete table ip network_policy\n" + table,
            text=True,
            check=True,
        )
        applied = table
        print(table.count(" jump "), "isolated", flush=True)


main()
