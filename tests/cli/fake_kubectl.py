#!/usr/bin/env python3
"""A kubectl that answers from files in the folder FAKE_KUBECTL, and notes how it was called.

calls.jsonl has the arguments and standard input of each call. The answer to a call is what lies in
the folder under the name of its first word that is there, with the number of such calls so far:
`get-tj.2` (the second `get trainingjobs...`), else `get-tj`; likewise `get-pods`, `create`, `exec`,
`exec-fetched`. A file NAME.err goes to standard error, and its first line is the exit code; a file
NAME.hang makes it wait for ever.
"""
import fcntl
import json
import os
import shutil
import sys
import time

FOLDER = os.environ["FAKE_KUBECTL"]


def name_of(args):
    words = [a for a in args if not a.startswith("-")]
    if "--" in args:
        return "exec-fetched" if args[-1] == "--fetched" else "exec"
    kind = {"trainingjobs.paceline.dev": "tj"}
    for at, word in enumerate(words):
        if word in ("get", "delete"):
            return f"{word}-{kind.get(words[at + 1], words[at + 1])}"
        if word in ("create", "config"):
            return word
    return "unknown"


def count(name):
    with open(os.path.join(FOLDER, "calls.jsonl"), "a+") as calls:
        fcntl.flock(calls, fcntl.LOCK_EX)
        calls.seek(0)
        n = 1 + sum(json.loads(line)["name"] == name for line in calls)
        stdin = sys.stdin.read() if name == "create" else ""
        json.dump({"name": name, "args": sys.argv[1:], "stdin": stdin}, calls)
        calls.write("\n")
    return n


def answer(path):
    if os.path.exists(path + ".hang"):
        time.sleep(3600)
    if os.path.exists(path + ".err"):
        code, _, text = open(path + ".err").read().partition("\n")
        sys.stderr.write(text)
        sys.stderr.flush()
        if os.path.exists(path):
            shutil.copyfileobj(open(path, "rb"), sys.stdout.buffer)
        sys.exit(int(code))
    if os.path.exists(path):
        shutil.copyfileobj(open(path, "rb"), sys.stdout.buffer)
        sys.exit(0)


def main():
    name = name_of(sys.argv[1:])
    n = count(name)
    for i in range(n, 0, -1):
        answer(os.path.join(FOLDER, f"{name}.{i}"))
    answer(os.path.join(FOLDER, name))


main()
