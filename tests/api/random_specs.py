#!/usr/bin/env python3
"""random_specs.py PACELINE SEED COUNT FOLDER: makes COUNT TrainingJobs t0.json, t1.json, ..., and all
of them in all.json, from the table of fields (`paceline explain --json`) and the rules across fields
(`--markdown`). Each has random values in the fields of a few rules, mostly where the fields apply, so
that rules hold and break.

random_specs.py PACELINE --compare FOLDER: asks validate about each job and reads what the API server
said of all.json from FOLDER/api.out. Fails where one takes a job that the other refuses by a rule, or
where they name other rules."""
import json
import random
import re
import subprocess
import sys

COMPLETE = {"name": "c", "image": "i", "command": ["x"]}
# Of fields whose values have no range or words in the table.
VALUES = {
    "spec.dataset.path": ["/data", "data", "/"],
    "spec.dataset.cachePath": ["/cache"],
    "spec.output.subPath": ["a/b"],
    "spec.dataset.volume": [{"hostPath": {"path": "/x"}}],
    "spec.output.volume": [{"hostPath": {"path": "/x"}}],
    "spec.mpi": [{}],
    "spec.model.layers": [[{"type": "flatten"}, {"type": "dense", "units": 10}],
                          [{"type": "dense", "units": 10, "name": f"d{i}"} for i in range(6)]],
    "spec.debug.pushOrder": [[0, 1]],
}
CONTAINERS = [[COMPLETE], [COMPLETE], [{"name": "c", "image": "i"}], [{"name": "", "image": "i"}], [{"name": "c"}], [],
              [{"name": "c", "image": "i", "command": []}], [COMPLETE, {"image": "i"}]]
# Their lanes depend on batch normalisation, which the API server does not know.
NORMALIZED = re.compile("resnet|densenet")


class Table:
    def __init__(self, paceline):
        def ask(*options):
            return subprocess.run([paceline, "explain", *options], check=True, capture_output=True,
                                  text=True).stdout

        self.fields = {f["path"]: f for f in json.loads(ask("--json"))}
        section = ask("--markdown").split("## Rules across fields")[1].split("\n## ")[0]
        rows = [line[2:-2].split(" | ", 1) for line in section.splitlines() if line.startswith("| `")]
        self.rules = [re.findall("`([^`]+)`", fields) for fields, _ in rows]
        self.sentences = {(fields[0], text) for fields, (_, text) in zip(self.rules, rows)
                          if not text.startswith("a warning: ")}

    def selector(self, path):
        """The field that this one goes with, and the words; None: it always applies."""
        above = path
        while "." in above:
            words = self.fields.get(above, {}).get("with", "").split(" and ")[0].split()
            if words:
                beside = [above.rsplit(".", 1)[0], above.rsplit(".", 2)[0], "spec.dataset"]
                for folder in beside:
                    if f"{folder}.{words[0].split('.')[-1]}" in self.fields:
                        return f"{folder}.{words[0].split('.')[-1]}", words[1:]
            above = above.rsplit(".", 1)[0]
        return None


def number(rng, allowed, whole):
    """Whole numbers of one job are near one another, so that bounds between them are met exactly."""
    low, high = (re.findall(r"-?\d[\d.e+]*", allowed) + ["1000000"])[:2]
    low, high = float(low), float(high)
    if whole:
        near = (0, 1, 2, rng.size // 2, rng.size - 1, rng.size, rng.size, rng.size + 1, 4 * rng.size, 1024)
        few = [x for x in near if low <= x <= high] or [low]
        return int(rng.choice(few))
    few = [x for x in (0, 0.1, 0.25, 0.5, 0.9, 1, 2, 40) if low < x < high]
    return rng.choice(few + ([low] if "above" not in allowed else []))


def sample(rng, path, field):
    allowed, kind = field["allowed"], field["type"]
    if path in VALUES:
        return rng.choice(VALUES[path])
    if path.endswith(".template"):
        spec = {"containers": rng.choice(CONTAINERS)}
        if rng.random() < 0.2:
            spec["initContainers"] = rng.choice(CONTAINERS)
        return {"spec": spec} if rng.random() < 0.9 else {}
    if kind == "boolean":
        return rng.random() < 0.5
    if allowed.startswith("one of "):
        words = [w for w in allowed[len("one of "):].split(", ") if not NORMALIZED.match(w)]
        return rng.choice(words)
    if kind in ("integer", "bytes"):
        return number(rng, allowed, True)
    if kind == "number":
        return number(rng, allowed, False)
    if kind in ("integers", "numbers"):
        each = re.sub("^a list of .*? (?:integers|numbers)", "", allowed)
        length = rng.choice([1, 2, 3, rng.size])
        values = [number(rng, each, kind == "integers") for _ in range(length)]
        return sorted(set(values)) if rng.random() < 0.6 else values
    return None


def put(root, path, value):
    *above, last = path.split(".")
    for key in above:
        root = root.setdefault(key, {})
        if not isinstance(root, dict):
            return
    root[last] = value


def get(root, path):
    for key in path.split("."):
        if not isinstance(root, dict) or key not in root:
            return None
        root = root[key]
    return root


def fill(rng, table, job, path):
    """A random value at path and, nearly always, what makes the field apply."""
    field = table.fields[path]
    by = table.selector(path)
    if by and rng.random() < 0.95 and get(job, by[0]) not in by[1]:
        fill(rng, table, job, by[0])
        put(job, by[0], rng.choice([w for w in by[1] if not NORMALIZED.match(w)]))
    value = sample(rng, path, field)
    if value is not None:
        put(job, path, value)


def complete(rng, table, job):
    """Gives fields that are required where they apply a value, mostly."""
    for path, field in table.fields.items():
        above = path.rsplit(".", 1)[0]
        if not field["required"] or "[" in path or get(job, path) is not None:
            continue
        by = table.selector(path)
        if get(job, above) is None and not (by and get(job, by[0]) in by[1]):
            continue
        if by and get(job, by[0]) not in by[1]:
            continue
        if rng.random() < 0.95:
            value = {} if field["type"] == "object" else sample(rng, path, field)
            if value is not None:
                put(job, path, value)


def random_job(rng, table, name):
    job = {"apiVersion": "paceline.dev/v1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": {}}
    kind, rng.size = rng.random(), rng.choice([2, 4, 6, 8, 11, 16])
    if kind < 0.7:
        put(job, "spec.model.name", rng.choice(["mlp", "fashion-cnn"]))
    elif kind < 0.85:
        put(job, "spec.mpi", {})
    if kind >= 0.7 and rng.random() < 0.8:
        put(job, "spec.replicas.worker.template", {"spec": {"containers": [COMPLETE]}})
    image = [r for r in table.rules if all(p == "spec.model" or p.startswith(("spec.replicas", "spec.runPolicy", "spec.mpi")) for p in r)]
    for rule in rng.sample(table.rules if kind < 0.7 else image, rng.choice([1, 1, 2, 3])):
        for path in rule:
            if path.startswith("spec.model.layers"):
                job["spec"].get("model", {}).pop("name", None)
            if rng.random() < 0.8 and (path not in ("spec.model", "spec.mpi") or kind < 0.7 and rng.random() < 0.1):
                fill(rng, table, job, path)
    complete(rng, table, job)
    if kind < 0.7 and rng.random() < 0.97:
        model = job["spec"].setdefault("model", {})
        if "layers" in model and rng.random() < 0.9:
            model.pop("name", None)
            model.pop("hidden", None)
        elif not model.get("name"):
            model["name"] = "mlp"
    return job


def generate(paceline, seed, count, folder):
    rng, table = random.Random(int(seed)), Table(paceline)
    jobs = [random_job(rng, table, f"t{i}") for i in range(int(count))]
    for i, job in enumerate(jobs):
        with open(f"{folder}/t{i}.json", "w") as f:
            json.dump(job, f)
    with open(f"{folder}/all.json", "w") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": jobs}, f)


def rules_of(table, lines):
    """The rules that the lines name, and the lines that name none."""
    named = {line: {(path, text) for path, text in table.sentences
                    if line.startswith(path + ": ") and line.endswith("; " + text)} for line in lines}
    return set().union(*named.values()), [line for line, rules in named.items() if not rules]


def compare(paceline, folder):
    table, server, met, failed = Table(paceline), {}, set(), 0
    with open(f"{folder}/api.out") as f:
        for line in f:
            name = re.search(r'"?\b(t\d+)"? (?:is invalid: |created)(.*)', line)
            if name:
                server[name[1]] = [x.rstrip("]\n") for x in re.split(r"(?:^\[|, )(?=spec[\w.\[\]]*: )", name[2])
                                   if x.startswith("spec")]
    for name, items in server.items():
        done = subprocess.run([paceline, "validate", f"{folder}/{name}.json"], capture_output=True, text=True)
        lines = [line.split(": ", 1)[1] for line in done.stderr.splitlines()
                 if re.match(r"\S+:\d+: ", line)]
        ours, others = rules_of(table, lines)
        theirs, schema = rules_of(table, items)
        alone = any(path == "spec.model" and "in spec.replicas" in text for path, text in ours)
        met |= ours
        if items and done.returncode == 0 or ours and not items:
            failed = 1
        elif others or schema or alone and ours <= theirs or ours == theirs:
            continue # neither asks rules of a field whose value is wrong
        failed = 1
        print(f"{name}: validate says {lines}, the API server {items}")
    print(f"{len(server)} random jobs, {sum(not items for items in server.values())} taken; "
          f"{len(met)} of {len(table.sentences)} rules were broken")
    for path, text in sorted(table.sentences - met):
        print(f"never broken: {path}: {text}")
    sys.exit(failed or met != table.sentences)


if __name__ == "__main__":
    if sys.argv[2] == "--compare":
        compare(sys.argv[1], sys.argv[3])
    else:
        generate(*sys.argv[1:])
