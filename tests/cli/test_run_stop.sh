#!/bin/bash
# TIMEOUT: 300
# Ctrl-C and SIGTERM with the real engine: the checkpoint of the next step, the report, and a run that goes on from
# there to the bytes of one that was not stopped.
. tests/cli/lib.sh

idx_job stop 60 "everyEpochs: 0, best: false"
"$PACELINE" run job.yaml --json --out whole >/dev/null || fail "the whole run"
last=checkpoint-00000300.safetensors

# begin OUT ARGUMENT...: a run that has made its first steps.
begin() {
    rm -f events
    set -m # else the shell makes a background process ignore SIGINT
    "$PACELINE" run job.yaml --json "$@" >events 2>errors &
    command=$!
    set +m
    until_true grep -q '"event":"epoch"' events
}

for workers in 1 2; do
    out=parts$workers
    begin --out $out --workers $workers --set debug.gradientSeconds=0.05
    kill -INT $command
    wait $command
    same "stopped, $workers, exit code" $? 130
    same "stopped, $workers" "$(grep -c '"event":"stopped"' events)" 1
    check "stopped, $workers" "$(cat errors)" "stopped after step "
    step=$(find $out -name 'checkpoint-*.safetensors' -printf '%f\n')
    check "stopped, $workers: a checkpoint" "$step" "checkpoint-"
    if [ "$step" = "$last" ]; then fail "it was not stopped"; fi
    check "stopped, $workers: the report" "$(cat $out/report.html)" "Effective spec"
    "$PACELINE" run job.yaml --json --out $out --resume >events 2>errors || fail "resumed, $workers: $(cat errors)"
    cmp $out/$last whole/$last || fail "resumed, $workers: other bytes"
done

# A service manager sends SIGTERM to every process; a single worker then saves its checkpoint, too.
for whom in all worker; do
    begin --out $whom --workers 1 --set debug.gradientSeconds=0.05
    worker=$(pgrep -P $command)
    kill -TERM "$worker"
    if [ $whom = all ]; then kill -TERM $command; fi
    wait $command
    same "SIGTERM to $whom, exit code" $? 130
    check "SIGTERM to $whom" "$(cat errors)" "stopped after step "
    check "SIGTERM to $whom: a checkpoint" "$(echo $whom/checkpoint-*.safetensors)" "checkpoint-0"
    "$PACELINE" run job.yaml --json --out $whom --resume >events 2>errors || fail "resumed, $whom: $(cat errors)"
    cmp $whom/$last whole/$last || fail "resumed, $whom: other bytes"
done

# Resumed where there is nothing left to train.
"$PACELINE" run job.yaml --out all --resume >table 2>errors || fail "resumed at the end: $(cat errors)"
check "resumed at the end" "$(cat table)" "trained        nothing: at step 300 already, and the job has 300 steps"
"$PACELINE" run job.yaml --out all --resume --set training.steps=9 >table 2>errors || fail "beyond the end: $(cat errors)"
check "beyond the end" "$(cat table)" "trained        nothing: at step 300 already, and the job has 9 steps"
case $(cat table) in *throughput* | *"first step"*) fail "beyond the end: $(cat table)" ;; esac
verdict
