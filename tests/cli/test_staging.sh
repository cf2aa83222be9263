#!/bin/bash
# TIMEOUT: 300
# Images that are decoded while the training runs: the bytes of a run that decodes them all first, on one to
# three workers, kept or not; it begins before all are decoded; the events say what the stages took.
. tests/cli/lib.sh

mkdir data
python3 "$repo/tests/cli/make_pictures.py" data 40 10 || exit 1
cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: staged}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {name: images, path: data/images, imageSize: 12, validationSplit: 0.1, augment: {flip: true, pad: 1}}
  training: {epochs: 3, batchSize: 20, lanes: 4, threads: 1, optimizer: {name: adam, learningRate: 0.01}}
  checkpoint: {keep: 1, best: false}
JOB

run() { "$PACELINE" run job.yaml --out "$@" >/dev/null 2>"$1.errors" || fail "$1: $(cat "$1.errors")"; }
stream=(--set dataset.staging=stream)
run whole
for workers in 1 2 3; do
    run stream$workers --workers $workers "${stream[@]}"
    run each$workers --workers $workers "${stream[@]}" --set dataset.cache=false --set dataset.prefetch=0
done
run split2 --workers 2 "${stream[@]}" --set strategy.type=LocalSGD
run split2-whole --workers 2 --set strategy.type=LocalSGD

python3 - <<'PY' || fail "what was run"
import json, sys

bad = []


def events(run):
    return list(map(json.loads, open(f"{run}/events.jsonl")))


def done(run):
    return open(events(run)[-1]["checkpoint"], "rb").read()


for run in [f"{kind}{n}" for kind in ("stream", "each") for n in (1, 2, 3)]:
    if done(run) != done("whole"):
        bad.append(f"{run}: other weights than of a run that decodes first")
if done("split2") != done("split2-whole"):
    bad.append("LocalSGD: other weights")
for run, want in (("whole", "000"), ("stream1", "100"), ("each1", "111"), ("each3", "111")):
    e = [x for x in events(run) if x["event"] == "epoch"]
    took = [sum(x["perRank"]["decode"]) for x in e]
    if [t > 0 for t in took] != [c == "1" for c in want]:
        bad.append(f"{run}: epochs decoded for {took} s")
    for x in e:  # one thread per core decodes, so for each second of making at most so many
        if not all(d <= 64 * p + 1e-3 for d, p in zip(x["perRank"]["decode"], x["perRank"]["prepare"])):
            bad.append(f"{run}: decoding took longer than making batches: {x['perRank']}")
# Made in its step, a batch is waited for as long as making it takes; ahead, it is not.
for x in [x for run in ("each1", "each2", "each3") for x in events(run) if x["event"] == "epoch"]:
    for data, prepare in zip(x["perRank"]["data"], x["perRank"]["prepare"]):
        if not 0 < prepare <= data + 1e-4:
            bad.append(f"{prepare} s of making batches in {data} s of waiting for them")
for run in ("whole", "stream1"):
    first = [x["seconds"] for x in events(run) if x["event"] == "firstStep"][0]
    read = [x["readSeconds"] for x in events(run) if x["event"] == "start"][0]
    if not 0 < read < first:
        bad.append(f"{run}: {read} s of reading before a first step at {first} s")
start = {run: [x for x in events(run) if x["event"] == "start"][0] for run in ("whole", "stream1", "each1")}
if not start["each1"]["memoryBytes"] < start["whole"]["memoryBytes"] - 150 * 3 * 12 * 12 + 64 * 150:
    bad.append(f"what is not kept takes memory: {[s['memoryBytes'] for s in start.values()]}")
print("\n".join(bad))
sys.exit(bool(bad))
PY

# It begins before all are decoded: a damaged file that no batch has asked for does not matter yet.
echo damaged >data/images/test/eel/9.png
"$PACELINE" run job.yaml --out early --set training.steps=2 --json "${stream[@]}" >early.json 2>early.errors
same "exit code of what meets it" $? 3
check "progress before" "$(cat early.json)" '"event":"firstStep"'
for workers in 1 2; do
    errors=$("$PACELINE" run job.yaml --out bad$workers --workers $workers "${stream[@]}" 2>&1 >/dev/null)
    same "damaged, exit code" $? 3
    check "damaged" "$errors" "an image is damaged (dataset.staging: stream takes none): $PWD/data/images/test/eel/9.png: neither a JPEG"
done
"$PACELINE" run job.yaml --out first --set training.steps=2 --json >first.json 2>&1
same "exit code of what decodes first" $? 3
case $(cat first.json) in *firstStep*) fail "a step before all were decoded" ;; esac

for wrong in dataset.maxDamaged=0.1 dataset.cachePath=data dataset.normalizeBy=channel; do
    check "$wrong" "$("$PACELINE" validate job.yaml "${stream[@]}" --set $wrong 2>&1)" \
        "stream with something that needs every sample before the first step; allowed with stream: name images"
done
check "draft alone" "$("$PACELINE" validate job.yaml --set dataset.imageSize=0 --set dataset.draft=true 2>&1)" \
    "spec.dataset.draft: found it without; needed with it: an imageSize above 0"
check "cache alone" "$("$PACELINE" validate job.yaml --set dataset.cache=true 2>&1)" "dataset.cache"
verdict
