#!/bin/bash
# The run folder: nothing is lost, one run at a time, and it holds what docs/cli.md says.
. tests/cli/lib.sh
fake

"$PACELINE" run job.yaml >/dev/null 2>errors
same "first run" "$?$(cat errors)" 0
same "files" "$(cd runs/small && echo ./*)" "./events.jsonl ./job.json ./report.html ./step-100.safetensors"
"$PACELINE" validate runs/small/job.json >/dev/null || fail "job.json is no valid job"
same "events" "$(wc -l <runs/small/events.jsonl)" 16

echo old >runs/small/mark
for i in 1 2; do
    errors=$("$PACELINE" run job.yaml 2>&1 >/dev/null)
    same "run after $i" "$errors" "paceline run: the earlier run is now in runs/small.$i"
done
same "the first run is whole" "$(cat runs/small.1/mark)" old

errors=$("$PACELINE" run job.yaml --resume 2>&1 >/dev/null)
same "resume keeps the folder" "$?$errors" 0
same "resume adds to the events" "$(wc -l <runs/small/events.jsonl)" 32
# The power went while the last line was written: what comes then has lines of its own.
printf '{"event":"progress","epo' >>runs/small/events.jsonl
errors=$("$PACELINE" run job.yaml --resume 2>&1 >/dev/null)
same "behind a line that was cut" "$?$errors" 0
same "events behind a line that was cut" "$(python3 -c '
import json
print([json.loads(line)["event"] for line in open("runs/small/events.jsonl")].count("start"))' 2>&1 | tail -1)" 3
errors=$("$PACELINE" run job.yaml --resume --out fresh 2>&1 >/dev/null)
same "resume of nothing" "$?$errors" "0paceline run: fresh holds no checkpoint: starting from the beginning"

export FAKE=hang FAKE_PIDS="$dir/pids"
"$PACELINE" run job.yaml --out busy >/dev/null 2>&1 &
first=$!
until_true test -s pids
errors=$("$PACELINE" run job.yaml --out busy 2>&1 >/dev/null)
code=$?
kill $first
wait $first
check "in use" "$errors" "busy is in use by another run"
if [ $code -eq 0 ]; then fail "in use: exit code 0"; fi

touch file
errors=$("$PACELINE" run job.yaml --out file/x 2>&1 >/dev/null)
same "a file in the way, exit code" $? 5
check "a file in the way" "$errors" "cannot make the folder file"
verdict
