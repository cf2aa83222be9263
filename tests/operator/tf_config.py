"""TF_CONFIG of the pods of the jobs in tests/objects, read by TensorFlow's own resolver (test_tf_config.sh).

The environment is expanded as the kubelet does it; what TensorFlow must make of it stands below,
written by hand from TFJob's semantics and the differences that docs/reference/pods.md lists.
"""

import glob
import json
import os
import re
import sys

from objects import objects


def hosts(job, role, indices, port=2222, namespace="team-a"):
    return {i: f"{job}-{role}-{i}.{job}.{namespace}.svc:{port}" for i in indices}


TF = {
    "chief": hosts("train", "chief", [0]),
    "worker": hosts("train", "worker", [0, 1], 3333),
    "ps": hosts("train", "ps", [0, 1], 4444),
    "evaluator": hosts("train", "evaluator", [0]),
}
UNLISTED = {"worker": hosts("train", "worker", [0, 1])}
DYN = {"chief": hosts("train", "chief", [0]), "ps": hosts("train", "ps", [0, 1])}
DYN_PLAIN = {"ps": hosts("train", "ps", [0]), "worker": hosts("train", "worker", [0])}
KUEUE = {"worker": hosts("queued", "worker", [0, 1, 2]), "ps": hosts("queued", "ps", [0])}
TORCH = {"chief": hosts("train", "chief", [0]), "worker": hosts("train", "worker", [0, 1])}

# (file, role, index): cluster, environment. None: no TF_CONFIG at all.
TABLE = {
    **{
        ("tensorflow", role, index): (TF, "cloud")
        for role, index in [
            ("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1), ("evaluator", 0)
        ]
    },
    ("tensorflow-unlisted", "worker", 0): (UNLISTED, "cloud"),
    ("tensorflow-unlisted", "worker", 1): (UNLISTED, "cloud"),
    ("tensorflow-unlisted", "evaluator", 0): (UNLISTED, "cloud"),
    ("base", "worker", 0): None,
    ("builtin", "worker", 0): None,
    ("builtin", "worker", 3): None,
    ("builtin-template", "worker", 0): None,
    ("builtin-template", "worker", 1): None,
    **{("builtin-servers", role, index): None for role in ("worker", "ps") for index in (0, 1)},
    ("mpi", "worker", 0): None,
    ("mpi", "worker", 1): None,
    ("dynamic", "chief", 0): ({**DYN, "worker": {}}, ""),
    ("dynamic", "worker", 0): ({**DYN, "worker": hosts("train", "worker", [0])}, ""),
    ("dynamic", "worker", 2): ({**DYN, "worker": hosts("train", "worker", [2])}, ""),
    ("dynamic", "ps", 0): ({**DYN, "worker": {}}, ""),
    ("dynamic", "ps", 1): ({**DYN, "worker": {}}, ""),
    ("dynamic-plain", "worker", 0): (DYN_PLAIN, ""),
    ("dynamic-plain", "ps", 0): ({**DYN_PLAIN, "worker": {}}, ""),
    ("pytorch", "chief", 0): (TORCH, "cloud"),
    ("pytorch", "worker", 0): (TORCH, "cloud"),
    ("pytorch", "worker", 1): (TORCH, "cloud"),
    ("insecure", "worker", 0): ({"worker": hosts("train", "worker", [0, 1])}, "cloud"),
    ("insecure", "worker", 1): ({"worker": hosts("train", "worker", [0, 1])}, "cloud"),
    ("plugins", "worker", 0): ({"worker": hosts("train", "worker", [0, 1, 2])}, "cloud"),
    ("plugins", "worker", 2): ({"worker": hosts("train", "worker", [0, 1, 2])}, "cloud"),
    ("kueue", "worker", 0): (KUEUE, "cloud"),
    ("kueue", "worker", 2): (KUEUE, "cloud"),
    ("kueue", "ps", 0): (KUEUE, "cloud"),
}
# TFJob's own text, byte for byte but for the host names.
EXACT = {
    ("tensorflow", "ps", 1):
        '{"cluster":{"chief":["train-chief-0.train.team-a.svc:2222"],'
        '"evaluator":["train-evaluator-0.train.team-a.svc:2222"],'
        '"ps":["train-ps-0.train.team-a.svc:4444","train-ps-1.train.team-a.svc:4444"],'
        '"worker":["train-worker-0.train.team-a.svc:3333","train-worker-1.train.team-a.svc:3333"]},'
        '"task":{"type":"ps","index":1},"environment":"cloud"}',
    ("dynamic-plain", "worker", 0):
        '{"cluster":{"worker":{"0":"train-worker-0.train.team-a.svc:2222"},'
        '"ps":["train-ps-0.train.team-a.svc:2222"]},"task":{"type":"worker","index":0}}',
    ("dynamic-plain", "ps", 0):
        '{"cluster":{"worker":{},"ps":["train-ps-0.train.team-a.svc:2222"]},'
        '"task":{"type":"ps","index":0}}',
}


def expand(value, known):
    """$(NAME) of a known variable; $$ is a dollar (the kubelet's expansion)."""
    return re.sub(
        r"\$(\$|\(([^)]*)\))",
        lambda m: "$" if m[1] == "$" else known.get(m[2], m[0]),
        value,
    )


def variables(container, config_maps):
    known = {}
    for variable in container.get("env", []):
        if "value" in variable:
            known[variable["name"]] = expand(variable["value"], known)
        elif "configMapKeyRef" in variable["valueFrom"]:
            ref = variable["valueFrom"]["configMapKeyRef"]
            known[variable["name"]] = config_maps[ref["name"]]["data"][ref["key"]]
    return known


def containers(program):
    """Of every pod: the key into TABLE, the container's name, its environment."""
    for job in sorted(glob.glob("tests/objects/*.yaml")):
        made = objects(program, job)
        config_maps = {o["metadata"]["name"]: o for o in made if o["kind"] == "ConfigMap"}
        for pod in (o for o in made if o["kind"] == "Pod"):
            labels = pod["metadata"]["labels"]
            key = (os.path.basename(job)[:-5], labels["paceline.dev/role"], int(labels["paceline.dev/index"]))
            for container in pod["spec"]["containers"]:
                yield key, container["name"], variables(container, config_maps)


def resolve(text):
    import tensorflow

    os.environ["TF_CONFIG"] = text
    resolver = tensorflow.distribute.cluster_resolver.TFConfigClusterResolver()
    spec = resolver.cluster_spec()
    cluster = {
        role: {i: spec.task_address(role, i) for i in spec.task_indices(role)}
        for role in spec.jobs
    }
    # The resolver keeps no environment; Estimator's RunConfig reads it from the text.
    environment = json.loads(text).get("environment", "")
    return cluster, resolver.task_type, resolver.task_id, environment


def main(program):
    seen, failed = set(), 0
    for key, name, env in containers(program):
        seen.add(key)
        text, want = env.get("TF_CONFIG"), TABLE.get(key, "no row")
        if want is None or text is None or want == "no row":
            got = text
        else:
            got, want = resolve(text), (want[0], key[1], key[2], want[1])
        if got != want or text != EXACT.get(key, text):
            print(f"{key} {name}: got {got}, want {want}\n  {text}")
            failed += 1
    for key in TABLE.keys() - seen:
        print(f"{key}: no such pod")
        failed += 1
    print(f"{len(seen)} pods, {failed} wrong")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
