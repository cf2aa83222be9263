#!/bin/bash
# TIMEOUT: 900
# paceline study: the slice of each built-in study on small data, a study of one's own, going on where it was
# left, and its messages.
. tests/cli/lib.sh

idx_data
mkdir words && python3 "$repo/tests/cli/make_words.py" words || exit 1
words=(--set dataset.path=words --set dataset.steps=7 --set "model={layers: [{type: embedding, vocabulary: 12, units: 8}, {type: lstm, units: 8},
    {type: dense, units: 12}]}")
small=(--set "dataset={name: idx, path: data}" --set "model={name: mlp, hidden: [20]}")
study() { "$PACELINE" study "$@" 2>errors; }

# In place of other frameworks: speaks as they do, of the network that the engine describes.
cat >told.py <<'P'
import json, sys, common
args = common.arguments(["best", "graph"])
outputs = args.layers[-1]["out"][0]
assert (outputs, args.batch) in ((4, 32), (4, 128), (12, 20)), (outputs, args.batch)
print(json.dumps({"version": "7"}), flush=True)
for line in sys.stdin:
    print(json.dumps({"samplesPerSecond": 400 * args.workers + outputs, "stepMs": 1}), flush=True)
P
export PYTHONPATH=${repo:?}/bench/peers PYTHONDONTWRITEBYTECODE=1
for peer in torch tensorflow; do
    mkdir -p "venvs/.venv-$peer/bin"
    printf '#!/bin/sh\nshift\nexec python3 told.py "$@"\n' >"venvs/.venv-$peer/bin/python"
    chmod +x "venvs/.venv-$peer/bin/python"
done
export BENCH_VENVS=venvs

for built in $("$PACELINE" study | awk 'NR > 1 { print $1 }'); do
    data=("${small[@]}")
    case $built in
    001) data=() ;; # makes its own
    004-lstm) data=("${words[@]}") ;;
    esac
    study "$built" --scale slice "${data[@]}" --out "slice-$built" >output ||
        fail "$built: $(cat errors output)"
    check "$built" "$(cat output)" "report: slice-$built/report.html"
    check "$built: the page" "$(cat "slice-$built/report.html")" "</html>"
done
study 002 --scale slice "${small[@]}" --out slice-002 >output || fail "002, again: $(cat errors)"
grep -Eq '^ *servers +[0-9]+[.][0-9]+%' output || fail "a table: $(cat output)"
check "published" "$(cat slice-002/report.html)" "<td>92.71%</td>"

# 003: what was timed, what should come of it, and what did, at the points of the scale only.
times=slice-003/vgg16e-times-seed-1/events.jsonl
python3 - "$(tail -1 $times)" <<'P' || fail "003: the times"
import json, sys
d = json.loads(sys.argv[1])
assert d["gradientSeconds"] >= 0.01 and d["simulated"], d
assert d["transferToGradient"] == d["transferSeconds"] / d["gradientSeconds"], d
assert d["transferSeconds"] >= d["bytes"] / 490000, d  # what its line carries in a second
P
timed=$(stat -c %Y.%i $times)
study 003 --scale slice "${small[@]}" --out slice-003 --json >003.json || fail "003, again: $(cat errors)"
same "003: timed once" "$(stat -c %Y.%i $times)" "$timed"
python3 - <<'P' || fail "003: the estimates"
import json
runs = {r["variant"]: r["done"] for r in json.load(open("003.json"))["runs"]}
g, c = runs["resnet34-times"]["gradientSeconds"], runs["resnet34-times"]["transferSeconds"]
assert "resnet34-join-central-2" in runs and "resnet34-join-central-4" not in runs, sorted(runs)
def near(name, field, want):
    found = runs[name]["estimate"][field]
    assert abs(found - want) < 1e-6 * want, (name, field, found, want)
near("resnet34-join-central-2", "best", 2 * g / (3 * c + g))
near("resnet34-join-central-2", "worst", 2 * g / (4 * c + g))
near("resnet34-join-distributed-2", "speedup", 2 * g / (c + g))
near("resnet34-split-central-2", "best", g / (3 * c + g / 2))
near("resnet34-async-central-2", "worst", 2 * g / (4 * c + g))
for name in ("resnet34-alone", "resnet34-async-semaphore-2", "resnet34-at-once-2"):
    near(name, "measured", runs[name]["samplesPerSecond"] * g / 64)
P
check "003: published" "$(cat slice-003/report.html)" "<td>5.15 s</td>"
check "003: a figure" "$(cat slice-003/report.html)" "SqueezeNet, split, central, estimated"
check "003: said to be simulated" "$(cat slice-003/report.html)" "simulated: times are those of slower"

# 002-search: what it trained is what the search asks for, and its answer follows from the accuracies.
study 002-search --scale slice "${small[@]}" --out slice-002-search --json >search.json || fail "again: $(cat errors)"
check "002-search: the page" "$(cat slice-002-search/report.html)" "<h2>The smallest number of epochs by all-reduce</h2>"
python3 - <<'P' || fail "002-search: $(cat search.json)"
import json, pathlib, statistics
result = json.load(open("search.json"))
means = {}
for run in result["runs"]:
    means.setdefault(run["variant"], []).append(run["done"]["testAccuracy"])
means = {name: statistics.mean(values) for name, values in means.items()}
needed = means["all-reduce"] - 0.005
low, high, found, asked = 1, 4, "", set()
while low < high:
    middle = (low + high) // 2
    asked.add(f"at-{middle}")
    if means[f"at-{middle}"] >= needed - 1e-12:
        found, high = f"at-{middle}", middle
    else:
        low = middle + 1
assert result["searches"][0]["found"] == found, (result["searches"], means)
assert set(means) == asked | {"all-reduce", "servers"}, sorted(means)
assert {p.name[:4] for p in pathlib.Path("slice-002-search").glob("at-*")} == asked
P

# By worker and server, and memory without what was there before the job.
check "002: by rank" "$(cat slice-002/report.html)" "<td>servers, server 0</td>"
python3 - <<'P' || fail "000: memory"
import json, pathlib, re
folder = pathlib.Path("slice-000")
events = [json.loads(line) for line in (folder / "ahead-96-seed-1/events.jsonl").read_text().splitlines()]
start = next(e for e in events if e["event"] == "start")
net = events[-1]["perRank"]["peakBytes"][1] - start["perRank"]["idleBytes"][1]
row = re.search(r"<td>ahead-96, worker 1</td>(.*?)</tr>", (folder / "report.html").read_text())[1]
shown = re.findall(r"<td>(.*?)</td>", row)[2]
assert net > 0 and shown == f"{net / 2**20:.1f} MiB", (net, shown)
P

# 001: the network before and after its split, by worker; the same weights, so the same accuracy.
check "001: by worker" "$(cat slice-001/report.html)" "<td>split-4, worker 3</td>"
python3 - <<'P' || fail "001: the split"
import json, pathlib, re
folder = pathlib.Path("slice-001")
def done(name):
    return json.loads((folder / f"{name}-seed-1/events.jsonl").read_text().splitlines()[-1])
whole, split = done("whole"), done("split-2")
assert whole["testLoss"] == split["testLoss"], (whole, split)
row = re.search(r"<td>split-2, worker 1</td>(.*?)</tr>", (folder / "report.html").read_text())[1]
shown = re.findall(r"<td>(.*?)</td>", row)[5]
sent = split["bytesTo"][1][0]
assert sent > 0 and shown == f"{sent / 2**20:.1f} MiB", (sent, shown)
P

cat >own.yaml <<'YAML'
apiVersion: paceline.dev/v1
kind: Study
metadata: {name: rates}
title: Two learning rates
job:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 32, optimizer: {name: sgd}}
scales:
- {name: one, seeds: 4}
variants:
- {name: slow, set: {training.optimizer.learningRate: 0.0001}}
- {name: fast, set: {training.optimizer.learningRate: 0.1}}
tables:
- {title: Rates, columns: [{title: accuracy, measure: testAccuracy, format: percent}]}
orderings:
- {text: A small rate learns less, measure: testAccuracy, rising: [slow, fast]}
- {text: and the other way round, measure: testAccuracy, rising: [fast, slow]}
YAML
study own.yaml >output || fail "a study of one's own: $(cat errors)"
check "held" "$(cat output)" "held       A small rate learns less"
check "not held" "$(cat output)" "NOT held   and the other way round"
check "its folder" "$(ls runs/study-rates-one)" "fast-seed-4"
check "JSON" "$(study own.yaml --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(len(r["runs"]), r["orderings"][1]["verdict"])')" "8 NOT held"

# What has ended stays; what has not is trained, and what is another job now is moved aside.
at() { stat -c %Y.%i "runs/study-rates-one/$1/events.jsonl"; }
one=$(at slow-seed-1)
sed -i '/"event":"done"/d' runs/study-rates-one/fast-seed-4/events.jsonl
study own.yaml >again || fail "again: $(cat errors)"
same "what has ended" "$(at slow-seed-1)" "$one"
check "what has not" "$(tail -1 runs/study-rates-one/fast-seed-4/events.jsonl)" '"event":"done"'
same "the same tables" "$(cat again)" "$(cat output)"
study own.yaml --seeds 1 --set training.epochs=1 >output || fail "one epoch: $(cat errors)"
check "an earlier run" "$(ls runs/study-rates-one)" "slow-seed-1.1"
check "undecided" "$(cat output)" "undecided  A small rate"

# Other frameworks: the second answer counts; what is not there, or fails, is not compared and never behind.
cat >peers.yaml <<'YAML'
apiVersion: paceline.dev/v1
kind: Study
metadata: {name: peers}
title: Peers
job:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data}
  training: {steps: 3, batchSize: 32, threads: 1}
scales: [{name: one, seeds: 2}]
variants:
- {name: ours}
- {name: theirs, peer: "python3 peer.py"}
- {name: told, peer: "python3 told.py --batch 32 --variant best"}
- {name: breaks, peer: "python3 peer.py broken 2>/dev/null"}
- {name: once, peer: "python3 peer.py | head -n 2"}
- {name: absent, peer: "./no-such-program 2>/dev/null"}
tables:
- {title: Speed, columns: [{title: samples/s, measure: samplesPerSecond, format: rate}]}
orderings:
- {text: ahead of nobody, measure: samplesPerSecond, rising: [absent, ours]}
- {text: ahead of what broke, measure: samplesPerSecond, rising: [breaks, ours]}
YAML
cat >peer.py <<'P'
import json, sys
print(json.dumps({"version": "7"}), flush=True)
for i, line in enumerate(sys.stdin):
    speed = (900, 250)[i]
    print(json.dumps({"samplesPerSecond": speed, "stepMs": 1000 * 32 / speed, "steps": int(line)}), flush=True)
    if len(sys.argv) > 1:
        sys.exit("broken")
P
study peers.yaml >output || fail "peers: $(cat errors)"
check "a peer that is told the network" "$(tr -s " " <output)" "told 404 ± 0.0"
check "a peer" "$(tr -s " " <output)" "theirs 250 ± 0.0"
check "absent" "$(tr -s " " <output)" "absent not compared"
check "why" "$(cat errors)" "absent, seed 1: not compared: it is not installed"
check "a peer that fails" "$(tr -s " " <output)" "breaks not compared"
check "a peer that answers once" "$(tr -s " " <output)" "once not compared"
check "not ahead" "$(cat output)" "undecided  ahead of nobody"
check "nor of that" "$(cat output)" "undecided  ahead of what broke"
check "its event" "$(cat runs/study-peers-one/theirs-seed-2/events.jsonl)" '"version":"7","step":3'
check "why that" "$(cat errors)" "breaks, seed 1: not compared: it ended before it was measured"
same "tried again" "$(ls runs/study-peers-one/absent-seed-1)" "job.json"
sed -i 's/python3 peer.py"/python3 -u peer.py"/; s/name: ours}/name: ours, peer: "python3 peer.py"}/' peers.yaml
study peers.yaml >output || fail "peers, again: $(cat errors)"
check "another command" "$(cat runs/study-peers-one/theirs-seed-1/events.jsonl)" '"command":"python3 -u peer.py"'
check "a training moves aside" "$(ls runs/study-peers-one)" "ours-seed-1.1"
check "no training any more" "$(tr -s " " <output)" "ours 250 ± 0.0"

# Studies' own commands.
for told in 004:4 004-lstm:12; do
    for peer in torch tensorflow; do
        for workers in 1 2; do
            events=slice-${told%:*}/$peer-$workers-seed-1/events.jsonl
            check "$events" "$(cat "$events")" "\"samplesPerSecond\":$((400 * workers + ${told#*:}))"
        done
    done
done

# Each variant at each scale is a job that can be trained.
while read -r built scale; do
    study "$built" --scale "$scale" --check --out check >output || fail "$built $scale: $(cat errors)"
    check "$built $scale" "$(cat output)" "study $built, scale $scale: "
    check "$built $scale" "$(cat output)" " each; every one is a job that can be trained"
    if [ -e check ]; then fail "$built $scale: a folder is left"; fi
done < <("$PACELINE" study | awk 'NR > 1 { for (i = 2; $i ~ /^(small|full.*|slice)$/; i++) print $1, $i }')

refused() {
    local code=0
    study "${@:3}" >output || code=$?
    same "$1: exit code" "$code" 2
    check "$1" "$(cat errors)" "$2"
}
refused "no such study" 'there is no study "099"' 099
refused "no such scale" '--scale is "huge"; study rates has one' own.yaml --scale huge
refused "seeds" "--seeds is 101" own.yaml --seeds 101
sed -i 's/0.0001/-1/' own.yaml
refused "a job that is none" "variant slow is no job that runs" own.yaml
sed -i 's/measure: testAccuracy, rising/mesure: testAccuracy, rising/' own.yaml
refused "a key" 'own.yaml:17: found the key "mesure"; allowed: text rising' own.yaml
verdict
