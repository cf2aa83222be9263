#!/bin/bash
# TIMEOUT: 300
# Samples that become floats once are the weights of those that do so in each batch, on one to three workers, read
# first or streamed; what converting takes, and the memory of floats, is said; study 000 toggles it.
. tests/cli/lib.sh

idx_data
mkdir pictures
python3 "$repo/tests/cli/make_pictures.py" pictures 40 10 || exit 1
cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: rows}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data, normalize: {mean: 0.3, std: 0.7}, prefetch: 0}
  training: {epochs: 3, batchSize: 20, lanes: 4, threads: 1, profile: [1, 3], optimizer: {name: adam, learningRate: 0.01}}
  checkpoint: {keep: 1, best: false}
JOB
run() { "$PACELINE" run job.yaml --out "$@" >/dev/null 2>"$1.errors" || fail "$1: $(cat "$1.errors")"; }
once=(--set dataset.rowConvert=false)
images=(--set dataset.name=images --set dataset.path=pictures/images --set dataset.imageSize=12)
stream=("${images[@]}" --set dataset.staging=stream)
run idx-each
run idx-ahead --set dataset.prefetch=2 --workers 2
run images-each "${images[@]}"
run images-once1 "${images[@]}" "${once[@]}"
for workers in 1 2 3; do
    run idx-once$workers --workers $workers "${once[@]}"
    run images-stream$workers --workers $workers "${stream[@]}" "${once[@]}"
done
run images-ahead2 --workers 2 "${stream[@]}" "${once[@]}" --set dataset.prefetch=2
"$PACELINE" validate job.yaml --json >each.json && "$PACELINE" validate job.yaml --json "${once[@]}" >once.json ||
    fail "validate"
for run in idx-each idx-once1; do
    checkpoint=$(find "$run" -name "checkpoint-*" | sort | tail -1)
    "$PACELINE" evaluate "$checkpoint" --json >"$run.test" 2>&1 || fail "evaluate $run: $(cat "$run.test")"
done
same "evaluate" "$(timeless <idx-once1.test)" "$(timeless <idx-each.test)"

python3 - <<'PY' || fail "what was run"
import json, os, sys

bad = []


def events(run, name):
    return [e for e in map(json.loads, open(f"{run}/events.jsonl")) if e["event"] == name]


def weights(run):
    return open(events(run, "done")[-1]["checkpoint"], "rb").read()


runs = [d for d in os.listdir(".") if os.path.exists(f"{d}/events.jsonl")]
if len(runs) != 11:
    bad.append(f"only {sorted(runs)}")
for run in runs:
    if weights(run) != weights(run.split("-")[0] + "-each"):
        bad.append(f"{run}: other weights than of a run that converts in each batch")
    # In which epochs rank 0 has converted. Others may still be at it when one begins the next epoch.
    took = [e["perRank"]["convert"][0] for e in events(run, "epoch")]
    want = {"each": "111", "ahead": "111", "once1": "000", "once2": "000", "once3": "000", "stream1": "100"}
    kind = run.split("-")[1]
    if kind in want and [t > 0 for t in took] != [c == "1" for c in want[kind]]:
        bad.append(f"{run}: epochs converted for {took} s")
    if took[0] == 0 and kind not in ("once1", "once2", "once3"):
        bad.append(f"{run}: nothing was converted")
    if "stream" not in kind and any(e["perRank"]["convert"][0] > e["perRank"]["prepare"][0] for e in events(run, "epoch")):
        bad.append(f"{run}: converting took longer than making batches")  # one thread does both
    # The row of the profile is the measure of rank 0, in microseconds.
    for e in events(run, "profile"):
        row = e["rows"].get("PyFunc", None)
        if (row is None) != (kind not in ("each", "ahead")):
            bad.append(f"{run}: PyFunc is {row}")
        if row is not None and abs(row - 1e6 * took[e["epoch"] - 1]) > 2:
            bad.append(f"{run}: PyFunc is {row} us, converting {took[e['epoch'] - 1]} s")

# Three more bytes for each pixel, but for what aligning takes.
files = {"idx": (270 + 40) * 28 * 28, "images": None}
start = {run: events(run, "start")[0] for run in runs}
for name, pixels in files.items():
    each, once = start[f"{name}-each"], start[f"{name}-once1"]
    pixels = pixels or (each["trainSamples"] + each["testSamples"]) * 3 * 12 * 12
    if abs(once["memoryBytes"] - each["memoryBytes"] - 3 * pixels) > 128:
        bad.append(f"{name}: {each['memoryBytes']} bytes, with floats {once['memoryBytes']}")
said = [json.load(open(f"{kind}.json"))["memoryBytes"] for kind in ("each", "once")]
lists = said[0]["data"] - files["idx"]  # two bytes a label, four a training sample's number
if not 0 < lists <= 6 * files["idx"] / 784 or {said[1][k] - said[0][k] for k in ("data", "total")} != {3 * files["idx"]}:
    bad.append(f"validate: {said}")
print("\n".join(bad))
sys.exit(bool(bad))
PY
check "with augmentation" "$("$PACELINE" validate job.yaml "${once[@]}" --set dataset.augment.flip=true 2>&1)" \
    "spec.dataset.rowConvert: found false with samples that are made anew in each batch; allowed with false: "

# Study 000: the presets, and one variant that is another's with this switch alone.
"$PACELINE" study 000 --scale slice --set dataset.name=idx --set dataset.path=data --set 'model={name: mlp, hidden: [20]}' \
    --out study >study.log 2>&1 || fail "study: $(cat study.log)"
python3 - <<'PY' || fail "study 000"
import json, pathlib, re

folder = pathlib.Path("study")
job = {n: json.loads((folder / f"{n}-seed-1/job.json").read_text())["spec"] for n in ("ahead-96", "beside-96", "beside-96-once")}
for name, want in (("ahead-96", ("stream", 1, False, "end")), ("beside-96", ("materialize", 0, True, "overlap"))):
    found = (*(job[name]["dataset"][key] for key in ("staging", "prefetch", "rowConvert")), job[name]["strategy"]["schedule"])
    assert found == want, (name, found)
job["beside-96-once"]["dataset"]["rowConvert"] = True
assert job["beside-96-once"] == job["beside-96"], "not this switch alone"
done = {n: json.loads((folder / f"{n}-seed-1/events.jsonl").read_text().splitlines()[-1]) for n in job}
assert done["beside-96-once"]["digest"] == done["beside-96"]["digest"], done
convert = done["beside-96"]["perRank"]["convert"][0]
table = (folder / "report.html").read_text().split("<h2>Samples become floats")[1]
shown = {name: re.findall(r"<td>(.*?)</td>", table.split(f"<td>{name}</td>")[1])[:2] for name in ("beside-96", "beside-96-once")}
assert convert > 0 and shown["beside-96"][0] == f"{1e3 * convert:.3g} ms", (convert, shown)
assert shown["beside-96"][1] == "0.35 s" and shown["beside-96-once"][0] == "0.00 s", shown
PY
verdict
