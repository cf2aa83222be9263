#!/bin/bash
# The run folder: nothing is lost, one run at a time, and it holds what docs/reference/run.md says.
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
same "after a line that was cut" "$?$errors" 0
same "events after a line that was cut" "$(python3 -c '
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

unset FAKE

# Refused, or ended before it had begun: everything is as it was, what lay in its way included.
sum() { find "$@" -type f -exec sha256sum {} + | sort; }
before=$(sum runs)
FAKE=no-reason "$PACELINE" run job.yaml --resume --set training.epochs=9 >/dev/null 2>&1
same "a refused resume, exit code" $? 7
same "a refused resume" "$(sum runs)" "$before"
cp -a runs/small silent # its events were removed
rm silent/events.jsonl
silent=$(find silent -type f | sort)
FAKE=no-reason "$PACELINE" run job.yaml --resume --out silent >/dev/null 2>&1
same "a refused resume without events, files" "$(find silent -type f | sort)" "$silent"
"$PACELINE" run job.yaml --resume --out silent >/dev/null 2>&1
same "a resume without events has its own" "$(wc -l <silent/events.jsonl)" 16
FAKE=no-reason "$PACELINE" run job.yaml --set training.epochs=9 >/dev/null 2>&1
same "a run that has not begun, exit code" $? 7
same "a run that has not begun" "$(sum runs)" "$before"
FAKE=no-reason "$PACELINE" run job.yaml --out new/er/run >/dev/null 2>&1
if [ -e new ]; then fail "a run that has not begun: folders are left"; fi
FAKE=garbage "$PACELINE" run job.yaml --out bare >/dev/null 2>&1 # begun, but without a checkpoint
before=$(sum bare)
check "events without a checkpoint" "$before" "bare/events.jsonl"
FAKE=no-reason "$PACELINE" run job.yaml --out bare --set training.epochs=9 >/dev/null 2>&1
same "a run that has not begun, in the folder of one without a checkpoint" "$(sum bare)" "$before"
"$PACELINE" run job.yaml --out bare >/dev/null 2>&1
same "a run that has begun there has its own events" "$(wc -l <bare/events.jsonl)" 16
same "and only those files" "$(cd bare && echo ./*)" "./events.jsonl ./job.json ./report.html ./step-100.safetensors"
mkdir given
FAKE=no-reason "$PACELINE" run job.yaml --out given/run >/dev/null 2>&1
same "a run that has not begun, in a folder that was there" "$(find given)" given

# Whoever reads the output leaves.
for options in "" --json; do
    # shellcheck disable=SC2086
    "$PACELINE" run job.yaml --out piped$options $options 2>errors | true
    same "read by nobody $options, exit code" "${PIPESTATUS[0]}" 0
    same "read by nobody $options" "$(tail -1 piped$options/events.jsonl | grep -o '"event": *"done"')" '"event": "done"'
done

# A report of any run: of one that was killed, and of one that still runs.
FAKE=killed "$PACELINE" run job.yaml --out killed >/dev/null 2>&1
rm -f killed/report.html
same "a report" "$("$PACELINE" report killed)" killed/report.html
check "a report of a killed run" "$(cat killed/report.html)" "; not done: step "
FAKE=hang FAKE_PIDS="$dir/pids2" "$PACELINE" run job.yaml --out running >/dev/null 2>&1 &
first=$!
until_true test -s pids2
"$PACELINE" report running --output other.html >/dev/null || fail "a report of a running one"
check "a report of a running one" "$(cat other.html)" "Effective spec"
kill $first
wait $first
errors=$("$PACELINE" report data 2>&1)
same "a report of no run, exit code" $? 3
check "a report of no run" "$errors" "data is no run folder: "

touch file
errors=$("$PACELINE" run job.yaml --out file/x 2>&1 >/dev/null)
same "a file in the way, exit code" $? 5
check "a file in the way" "$errors" "cannot make the folder file"
verdict
