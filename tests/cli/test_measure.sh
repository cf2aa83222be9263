#!/bin/bash
# What a run says of its time: the phases of each rank and epoch add up to the clock, and where the
# network is slow the exposed communication grows, the computing does not.
. tests/cli/lib.sh

conv_job measured
run() { "$PACELINE" run job.yaml --out "$@" >"$1.log" 2>&1 || fail "$1: $(cat "$1.log")"; }
run alone
run fast --workers 2 --set strategy.schedule=end # nothing is hidden behind computing
run slow --workers 2 --set strategy.schedule=end --set debug.bandwidth=20Mi
run servers --workers 2 --set replicas.ps.replicas=1 --set strategy.type=ParameterServer \
    --set strategy.mode=async
run split --workers 2 --set strategy.type=ModelParallel
run profiled --set 'training.profile=[2]' --set training.optimizer.name=adadelta
run unprofiled --set training.optimizer.name=adadelta
run profiled-2 --workers 2 --set 'training.profile=[1, 2]'
run mpi --workers 2 --set strategy.algorithm=mpi
run groups --workers 4 --set replicas.ps.replicas=1 --set strategy.type=ParameterServer \
    --set strategy.mode=async --set strategy.groups=2

python3 - "$repo/docs/reference/events.md" <<'PY' || fail "times"
import glob, json, re, sys

PHASES = "data forward backward communication update evaluate checkpoint other".split()
bad = []


def epochs(run):
    return [e for e in map(json.loads, open(f"{run}/events.jsonl")) if e["event"] == "epoch"]


def total(run, phase, rank):
    return sum(e["perRank"][phase][rank] for e in epochs(run))


for run, ranks in (("alone", 1), ("fast", 2), ("slow", 2), ("servers", 3), ("split", 2)):
    off = []
    for e in epochs(run):
        if any(len(values) != ranks for values in e["perRank"].values()):
            bad.append(f"{run}: not one value per rank")
        if any(value is not None and value < 0 for values in e["perRank"].values() for value in values):
            bad.append(f"{run}: a phase is below zero")
        off.append(abs(sum(e["perRank"][p][0] for p in PHASES) - e["seconds"] - e["evaluateSeconds"]))
    # Between two looks at the clock the machine may do something else, but not each time.
    if len(off) != 2 or min(off) > 0.001:
        bad.append(f"{run}: the phases miss the clock by {off} s")
    for phase in ("forward", "backward", "evaluate"):
        if not total(run, phase, 0) > 0:
            bad.append(f"{run}: no time in {phase}")
    if ranks > 1 and not total(run, "communication", 1) > 0:
        bad.append(f"{run}: no communication")
    if run != "split" and not total(run, "update", ranks - 1) > 0:
        bad.append(f"{run}: no update")

# 2 ranks exchange half of the gradient twice: so long is each line busy.
done = [json.loads(line) for line in open("slow/events.jsonl")][-1]
wire = done["bytesSent"] / 2 / (20 << 20)
for rank in (0, 1):
    exposed, forward = total("slow", "communication", rank), total("slow", "forward", rank)
    if exposed < 0.9 * wire:
        bad.append(f"rank {rank}: {wire} s on the wire, of which {exposed} s were communication")
    if forward > 0.5 * wire:  # a tenth of it on an idle machine, as without the slow network
        bad.append(f"rank {rank}: {forward} s in forward on a slow network")
if abs(sum(done["perRank"][p][0] for p in PHASES) - done["seconds"]) > 0.05:
    bad.append("done: the phases are not its seconds")

def last(run):
    return [json.loads(line) for line in open(f"{run}/events.jsonl")][-1]


# Who sends to whom.
for run in ("fast", "slow", "servers", "split", "mpi", "groups"):
    to = last(run)["bytesTo"]
    if sum(map(sum, to)) != last(run)["bytesSent"] or not last(run)["bytesSent"] > 0:
        bad.append(f"{run}: {to} is not {last(run)['bytesSent']}")
    if run != "mpi" and any(to[r][r] for r in range(len(to))):
        bad.append(f"{run}: a rank sends to itself: {to}")
if last("slow")["bytesTo"] != last("fast")["bytesTo"] or last("fast")["bytesTo"][0][1] != last("fast")["bytesTo"][1][0]:
    bad.append("all-reduce: the network changes what is sent, or the ranks differ")
if last("mpi")["bytesTo"][0][1] != 0 or "bytesTo" in last("alone"):
    bad.append("what nobody knows is told")
to = last("servers")["bytesTo"]
if to[0][1] or to[1][0] or not to[0][2] > 0 or to[0][2] + to[1][2] != to[2][0] + to[2][1]:
    bad.append(f"a server: {to}")
to = last("groups")["bytesTo"]  # 0 and 2 lead, and alone talk to the server
if to[1][4] or to[3][4] or to[0][2] or not (to[0][4] > 0 and to[2][4] > 0 and to[0][1] > 0 and to[3][2] > 0):
    bad.append(f"groups: {to}")

for run in ("alone", "fast", "servers"):
    start = [json.loads(line) for line in open(f"{run}/events.jsonl") if '"event":"start"' in line][0]
    # The largest tensor, a checkpoint's room, is the rest.
    parts, rest = start["memory"], start["memoryBytes"] - sum(start["memory"].values())
    if not 0 < rest <= parts["parameters"] or not 0 < parts["savedActivations"]:
        bad.append(f"{run}: memory is made of {parts}, and {rest}")
    ranks = last(run)["perRank"]
    for r in range(len(ranks["user"])):
        if not 0 < start["perRank"]["idleBytes"][r] < ranks["memoryBytes"][r] <= ranks["peakBytes"][r]:
            bad.append(f"{run}: memory of rank {r}")
        # Ticks of the scheduler may be counted late.
        if not 0 < ranks["user"][r] + ranks["system"][r] < 4 * last(run)["seconds"] + 0.1:
            bad.append(f"{run}: CPU seconds of rank {r}")

# The profile: of the epochs asked for, every layer, and no more than the phases have.
for run, want in (("profiled", [2]), ("profiled-2", [1, 2]), ("alone", [])):
    events = [json.loads(line) for line in open(f"{run}/events.jsonl")]
    profiles = [e for e in events if e["event"] == "profile"]
    if [e["epoch"] for e in profiles] != want:
        bad.append(f"{run}: profiles of {[e['epoch'] for e in profiles]}")
    for e in profiles:
        phases = [x for x in events if x["event"] == "epoch" and x["epoch"] == e["epoch"]][0]["perRank"]
        # An update of what has come begins within communication.
        spent = 1e6 * sum(phases[p][0] for p in ("forward", "backward", "update", "communication"))
        parts = [sum(l.get(p, 0) for l in e["layers"]) for p in ("forward", "backward", "weights", "update")]
        if not 0 < sum(parts) <= spent + len(e["layers"]) * 4 or min(parts) <= 0:
            bad.append(f"{run}: {parts} us of {spent}")
        rows = {"_FusedConv2D", "Conv2DBackpropFilter", "_FusedMatMul", "MatMul", "Dataset", "AllReduce"}
        if run == "profiled":
            rows.add("ResourceApplyAdadelta")
        if not rows <= e["rows"].keys() or min(e["rows"].values()) < 0:
            bad.append(f"{run}: rows {e['rows']}")
        if "Conv2DBackpropInput" in e["rows"] and e["rows"]["Conv2DBackpropInput"] > e["rows"]["Conv2DBackpropFilter"]:
            bad.append("the first convolution's input has no gradient")
if last("profiled")["digest"] != last("unprofiled")["digest"]:
    bad.append("the profile changes the result")

# Every event and field that these runs wrote is on the page.
def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key != "rows":  # operators, by names of others
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


page = open(sys.argv[1]).read()
said = set(re.findall(r"[A-Za-z0-9]+", " ".join(re.findall(r"`([^`]+)`", page))))
written = set()
for path in glob.glob("*/events.jsonl"):
    for line in open(path):
        written |= {json.loads(line)["event"], *keys(json.loads(line))}
if len(written) < 60:
    bad.append(f"only {len(written)} fields were looked up")
for key in sorted(written - said - {"event"}):
    bad.append(f"docs/reference/events.md does not have the field {key}")
print("\n".join(bad))
sys.exit(bool(bad))
PY
check "the report" "$(cat slow/report.html)" "Epoch by epoch"
check "its profile" "$(cat profiled/report.html)" "<td>ResourceApplyAdadelta</td>"
verdict
