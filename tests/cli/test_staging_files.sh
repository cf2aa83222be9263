#!/bin/bash
# TIMEOUT: 300
# Samples of IDX and of CIFAR's binary files, read from there when a batch has them: the bytes of a run that reads all
# first, on one to three workers, kept or not, as bytes or as floats; compressed files are read first, or refused.
. tests/cli/lib.sh

idx_data
mkdir packed cifar
for file in data/*; do gzip -9 <"$file" >"packed/${file#data/}.gz" || exit 1; done
python3 - <<'PY' || exit 1
import random

draw = random.Random(2)
for name in [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]:
    with open(f"cifar/{name}.bin", "wb") as f:
        for _ in range(20 + len(name) + int(name[-1], 36) % 5):  # each of another length
            label = draw.randrange(10)
            f.write(bytes([label]) + bytes(min(255, draw.randrange(60) + 20 * label) for _ in range(3072)))
PY
cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: staged}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data, validationSplit: 0.1, normalize: {mean: 0.3, std: 0.7}}
  training: {epochs: 2, batchSize: 20, lanes: 4, threads: 1, optimizer: {name: adam, learningRate: 0.01}}
  checkpoint: {keep: 1, best: false}
JOB
run() { "$PACELINE" run job.yaml --out "$@" >/dev/null 2>"$1.errors" || fail "$1: $(cat "$1.errors")"; }
stream=(--set dataset.staging=stream)
each=("${stream[@]}" --set dataset.cache=false --set dataset.prefetch=0)
for set in idx cifar10; do
    given=(--set "dataset.name=$set")
    if [ $set = cifar10 ]; then given+=(--set dataset.path=cifar); fi
    run $set-whole "${given[@]}"
    for workers in 1 2 3; do run $set-stream$workers --workers $workers "${given[@]}" "${stream[@]}"; done
    run $set-each1 "${given[@]}" "${each[@]}"
    run $set-each2 --workers 2 "${given[@]}" "${each[@]}"
    run $set-rows2 --workers 2 "${given[@]}" "${stream[@]}" --set dataset.rowConvert=false
done
run idx-packed2 --workers 2 --set dataset.path=packed "${stream[@]}"
run idx-packedrows1 --set dataset.path=packed "${stream[@]}" --set dataset.rowConvert=false

python3 - <<'PY' || fail "what was run"
import json, os, sys

bad = []


def events(run, name):
    return [e for e in map(json.loads, open(f"{run}/events.jsonl")) if e["event"] == name]


runs = [d for d in os.listdir(".") if os.path.exists(f"{d}/events.jsonl")]
if len(runs) != 16:
    bad.append(f"only {sorted(runs)}")
for run in runs:
    name, kind = run.split("-")
    if open(events(run, "done")[-1]["checkpoint"], "rb").read() != open(events(f"{name}-whole", "done")[-1]["checkpoint"], "rb").read():
        bad.append(f"{run}: other weights than of a run that reads first")
    read = [sum(e["perRank"]["decode"]) > 0 for e in events(run, "epoch")]
    want = {"whole": (False, False), "stream1": (True, False), "each1": (True, True), "each2": (True, True),
            "packed2": (False, False), "packedrows1": (False, False)}
    if kind in want and tuple(read) != want[kind]:
        bad.append(f"{run}: epochs read from the files: {read}")
    if read[0] != (kind[:4] not in ("whol", "pack")):
        bad.append(f"{run}: the first epoch read from the files: {read[0]}")
for name, pixels in (("idx", 784), ("cifar10", 3072)):
    start = {kind: events(f"{name}-{kind}", "start")[0] for kind in ("whole", "each1")}
    samples = sum(start["whole"][f"{part}Samples"] for part in ("train", "validation", "test"))
    # A place and a state are kept for each sample, and the names of at most six files.
    if not start["each1"]["memoryBytes"] <= start["whole"]["memoryBytes"] - samples * (pixels - 18) + 1024:
        bad.append(f"{name}: what is not kept takes memory: {[s['memoryBytes'] for s in start.values()]}")
print("\n".join(bad))
sys.exit(bool(bad))
PY
"$PACELINE" run job.yaml --out refused --set dataset.path=packed "${each[@]}" >refused.log 2>&1
same "refused" $? 2
check "refused" "$(cat refused.log)" "a compressed file cannot be read in parts, as spec.dataset.cache false needs"
check "what has no files" "$("$PACELINE" validate job.yaml --set 'dataset={name: patterns, staging: stream}' 2>&1)" \
    "allowed with stream: name images, idx, mnist, "
verdict
