#!/bin/bash
# What a run says of its time: the phases of each rank and epoch add up to the clock, and where the
# network is slow the exposed communication grows, the computing does not.
. tests/cli/lib.sh

conv_job measured
run() { "$PACELINE" run job.yaml --out "$@" >"$1.log" 2>&1 || fail "$1: $(cat "$1.log")"; }
run alone
run fast --workers 2
run slow --workers 2 --set debug.bandwidth=20Mi
run servers --workers 2 --set replicas.ps.replicas=1 --set strategy.type=ParameterServer \
    --set strategy.mode=async
run split --workers 2 --set strategy.type=ModelParallel

python3 - <<'PY' || fail "times"
import json, sys

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
        if min(min(values) for values in e["perRank"].values()) < 0:
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
    more = {p: total("slow", p, rank) - total("fast", p, rank) for p in PHASES}
    if more["communication"] < 0.5 * wire:
        bad.append(f"rank {rank}: {wire} s on the wire, communication grew by {more['communication']} s")
    if more["forward"] > 0.25 * wire:
        bad.append(f"rank {rank}: forward grew by {more['forward']} s on a slow network")
if abs(sum(done["perRank"][p][0] for p in PHASES) - done["seconds"]) > 0.05:
    bad.append("done: the phases are not its seconds")
print("\n".join(bad))
sys.exit(bool(bad))
PY
check "the report" "$(cat slow/report.html)" "Epoch by epoch"
verdict
