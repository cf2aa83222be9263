#!/bin/bash
# Runs the unit tests of operator/core and operator/reconcile under gcov and fails unless they take
# every branch and run every line of both folders. Nothing can be excluded.
#   tests/coverage.sh            one line per file; what was missed; the total
set -euo pipefail
cd "$(dirname "$0")/.."

folders=(operator/core operator/reconcile)
build=build/gcc-coverage
binaries=()
for source in $(printf 'tests/unit/%s/test_*.c ' "${folders[@]}"); do
    binaries+=("$build/${source%.c}")
done

make -s -j"$(nproc)" --no-print-directory CC=gcc COVERAGE=1 SANITIZER= "${binaries[@]}"
find "$build" -name '*.gcda' -delete # counts of earlier runs
BUILD=$build tests/run.sh "${binaries[@]}"

python3 - "$build" "${folders[@]}" <<'END'
import collections, glob, json, os, subprocess, sys

build, *folders = sys.argv[1:]
branches = collections.defaultdict(dict)  # file -> (line, number) -> times taken
lines = collections.defaultdict(dict)  # file -> line -> times run
missed = []
for folder in folders:
    for source in sorted(glob.glob(f"{folder}/*.c")):
        notes = f"{build}/{source[:-2]}.gcno"
        if not os.path.exists(notes):
            missed.append(f"{source}: in no test")
            continue
        text = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", notes],
                              check=True, capture_output=True, text=True).stdout
        for file in json.loads(text)["files"]:
            name = os.path.normpath(file["file"])
            if os.path.dirname(name) not in folders:
                continue
            for line in file["lines"]:
                number = line["line_number"]
                lines[name][number] = lines[name].get(number, 0) + line["count"]
                for i, branch in enumerate(line["branches"]):
                    key = number, i
                    branches[name][key] = branches[name].get(key, 0) + branch["count"]

total = taken = 0
for name in sorted(lines):
    ran = sum(n > 0 for n in lines[name].values())
    went = sum(n > 0 for n in branches[name].values())
    print(f"{name:40} lines {ran:4} of {len(lines[name]):4}"
          f"   branches {went:4} of {len(branches[name]):4}")
    missed += [f"{name}:{n}: never run" for n, times in sorted(lines[name].items()) if not times]
    missed += [f"{name}:{n}: branch {i} never taken"
               for (n, i), times in sorted(branches[name].items()) if not times]
    total += len(branches[name])
    taken += went
for line in missed:
    print(line)
print(f"{taken} of {total} branches taken")
sys.exit(1 if missed or not total else 0)
END
