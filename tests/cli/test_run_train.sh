#!/bin/bash
# TIMEOUT: 300
# The real engine: train, evaluate, predict, resume, stop and compare worker counts.
. tests/cli/lib.sh

field() { python3 -c 'import json, sys
print([e for e in map(json.loads, open(sys.argv[1])) if e["event"] == sys.argv[2]][-1][sys.argv[3]])' "$@"; }

"$PACELINE" run job.yaml --out one >output || fail "one worker: exit code $?"
"$PACELINE" run job.yaml --out two --workers 2 >/dev/null || fail "two workers: exit code $?"
same "ranks" "$(field two/events.jsonl start ranks)" 2
checkpoint=$(field one/events.jsonl "done" checkpoint)
cmp "$checkpoint" "$(field two/events.jsonl "done" checkpoint)" || fail "the checkpoints differ"
check "table" "$(cat output)" "checkpoint     $checkpoint"
if [ ! -s one/report.html ]; then fail "no report"; fi

accuracy=$(field one/events.jsonl "done" testAccuracy)
"$PACELINE" evaluate "$checkpoint" --json >evaluation || fail "evaluate: exit code $?"
same "evaluate" "$(field evaluation evaluation accuracy)" "$accuracy"
table=$("$PACELINE" evaluate "$checkpoint")
check "evaluate, table" "$table" "Ankle boot"
check "evaluate, table" "$table" "10,000 samples: accuracy "

images=/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz
"$PACELINE" predict "$checkpoint" $images --limit 5 --json >predictions || fail "predict: exit code $?"
same "predict, images" "$(wc -l <predictions)" 5
check "predict, a name" "$("$PACELINE" predict one $images --limit 1 --top 10)" "Ankle boot "
errors=$("$PACELINE" predict "$checkpoint" job.yaml 2>&1 >/dev/null)
same "predict on no images, exit code" $? 3
check "predict on no images" "$errors" "job.yaml: no file that this model takes"
errors=$("$PACELINE" evaluate one/absent.safetensors 2>&1 >/dev/null)
same "evaluate without a file, exit code" $? 3
check "evaluate without a file" "$errors" "absent.safetensors"

# One epoch, then resumed: the same final bytes.
"$PACELINE" run job.yaml --out parts --set training.epochs=1 >/dev/null || fail "first part"
"$PACELINE" run job.yaml --out parts --resume >/dev/null || fail "second part"
same "resumed at the epoch's end" "$(field parts/events.jsonl start resumedStep)" 32
cmp "$checkpoint" "$(field parts/events.jsonl "done" checkpoint)" || fail "resume differs"

# Ctrl-C in the middle.
set -m
"$PACELINE" run job.yaml --workers 2 --out stopped --set training.epochs=1000 >/dev/null 2>errors &
command=$!
set +m
until_true grep -qs '"epoch"' stopped/events.jsonl
ranks=$(pgrep -P "$(pgrep -P $command)")
kill -INT $command
wait $command
same "interrupted, exit code" $? 130
# shellcheck disable=SC2086
gone $ranks || fail "interrupted: a rank is left"

"$PACELINE" speedup job.yaml --workers 1,2 --steps 20 --json >speedup.json 2>/dev/null ||
    fail "speedup: exit code $?"
python3 - speedup.json <<'PY' || fail "speedup"
import json, os, sys
result = json.load(open(sys.argv[1]))
rows = result["rows"]
assert [r["workers"] for r in rows] == [1, 2], rows
assert rows[0]["speedup"] == 1 and rows[0]["lanesCeiling"] == 1 and rows[1]["lanesCeiling"] == 2
for r in rows:
    assert 0 < r["predicted"] <= r["workers"], r
    assert r["samplesPerSecond"] > 0 and abs(r["efficiency"] * r["workers"] - r["speedup"]) < 1e-9
    assert abs(r["batchesPerSecond"] * 64 - r["samplesPerSecond"]) < 1e-6 * r["samplesPerSecond"]
assert os.path.getsize(result["report"]) > 1000
PY
verdict
