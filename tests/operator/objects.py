"""The objects of the jobs in tests/objects, compared with what is recorded there.

X.yaml is a job, X.txt its objects as differences. A pod differs from the pod before it in its file, the first object
of a kind from that of base.yaml, and those of base.yaml from nothing. So a change of all objects changes base.txt only.

    + PATH = JSON       the object has this value there
    - PATH              it lacks what the other has there
    order PATH: ...     items that both have are not in the other's order, or new items are not after them

    python3 tests/operator/objects.py PROGRAM            PROGRAM: build/gcc/tests/operator/objects
    python3 tests/operator/objects.py PROGRAM --update   records what the operator makes now
"""

import difflib
import glob
import json
import subprocess
import sys

WIDTH = 100


def unique(pairs):
    found = dict(pairs)
    assert len(found) == len(pairs), f"a key twice: {[key for key, _ in pairs]}"
    return found


def objects(program, job):
    """Those that the operator makes for the job in this file."""
    made = subprocess.run([program, job], stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout, object_pairs_hook=unique)


def has_names(items):
    """Kubernetes merges lists of named items by their names, so these are their keys here, too."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return all(names) and len(set(names)) == len(names)


def children(value, path):
    """Of a map or a list: what is in it, by its path."""
    if isinstance(value, dict):
        return {f'{path}["{k}"]' if set("./[") & set(k) else f"{path}.{k}".lstrip("."): v for k, v in value.items()}
    if isinstance(value, list) and has_names(value):
        return {f"{path}[{v['name']}]": {k: x for k, x in v.items() if k != "name"} for v in value}
    return {f"{path}[{i}]": v for i, v in enumerate(value)}


def added(value, path):
    line = f"+ {path} = {json.dumps(value)}"
    if not value or not isinstance(value, (dict, list)) or len(line) <= WIDTH:
        yield line
        return
    for at, child in children(value, path).items():
        yield from added(child, at)


def differences(old, new, path=""):
    if type(old) is not type(new) or not isinstance(new, (dict, list)) or not old or not new:
        if json.dumps(old) != json.dumps(new):
            yield from added(new, path)
        return
    before, after = children(old, path), children(new, path)
    for at in before:
        if at not in after:
            yield f"- {at}"
    for at, child in after.items():
        yield from differences(before[at], child, at) if at in before else added(child, at)
    expected = [at for at in before if at in after] + [at for at in after if at not in before]
    if isinstance(new, list) and list(after) != expected:
        yield f"order {path}: {' '.join(v['name'] for v in new)}"


def describe(made, base):
    """The text of one file."""
    lines, previous = [], {o["kind"]: o for o in reversed(base)}
    for new in made:
        kind = new["kind"]
        lines.append(kind)
        lines += differences(previous[kind], new) if kind in previous else added(new, "")
        previous[kind] = new
    return "".join(line + "\n" for line in lines)


def main(program, update=None):
    base = objects(program, "tests/objects/base.yaml")
    jobs = sorted(glob.glob("tests/objects/*.yaml"))
    assert len(jobs) >= 13, jobs
    failed = False
    for job in jobs:
        made = objects(program, job)
        got = describe(made, [] if made == base else base)
        file = job[: -len("yaml")] + "txt"
        if update == "--update":
            with open(file, "w", encoding="utf-8") as f:
                f.write(got)
        with open(file, encoding="utf-8") as f:
            want = f.read()
        if got != want:
            failed = True
            lines = want.splitlines(True), got.splitlines(True)
            sys.stdout.writelines(difflib.unified_diff(*lines, file, "what the operator makes", n=1))
    print(f"{len(jobs)} jobs")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
