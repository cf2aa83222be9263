#!/bin/bash
# TIMEOUT: 300
# Ctrl-C and SIGTERM with the real engine: the checkpoint of the next step, the report, and a run that goes on from
# there to the bytes of one that was not stopped.
# LANE: waiting
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

# A service manager sends SIGTERM to every process, one by one: to a worker, or to mpirun and its ranks; at the end of a
# session also SIGHUP. All save their checkpoint, whether the command is among them or not.
for whom in all1 worker1 all2 workers2; do
    begin --out $whom --workers "${whom: -1}" --set debug.gradientSeconds=0.05
    engine=$(pgrep -P $command)
    mapfile -t processes < <(echo "$engine" && pgrep -P "$engine")
    case $whom in all*) processes+=("$command") ;; esac
    kill -TERM "${processes[@]}"
    kill -HUP "${processes[@]}"
    wait $command
    same "SIGTERM to $whom, exit code" $? 130
    check "SIGTERM to $whom" "$(cat errors)" "stopped after step "
    check "SIGTERM to $whom: a checkpoint" "$(echo $whom/checkpoint-*.safetensors)" "checkpoint-0"
    "$PACELINE" run job.yaml --json --out $whom --resume >events 2>errors || fail "resumed, $whom: $(cat errors)"
    cmp $whom/$last whole/$last || fail "resumed, $whom: other bytes"
done

# nohup: the end of its terminal does not stop it.
for workers in 1 2; do
    trap '' HUP
    begin --out nohup$workers --workers $workers --set debug.gradientSeconds=0.01
    trap - HUP
    kill -HUP $command
    wait $command
    same "SIGHUP with nohup, $workers, exit code" $? 0
    cmp nohup$workers/$last whole/$last || fail "SIGHUP with nohup, $workers: other bytes"
done

# To mpirun alone it is nothing.
begin --out deaf --workers 2 --set debug.gradientSeconds=0.01
kill -TERM "$(pgrep -P $command)"
wait $command
same "SIGTERM to mpirun, exit code" $? 0
cmp deaf/$last whole/$last || fail "SIGTERM to mpirun: other bytes"

# A rank that has failed ends the others: mpirun's SIGTERM is no wish to stop.
begin --out failed --workers 2 --set debug.gradientSeconds=0.05
kill -KILL "$(pgrep -P "$(pgrep -P $command)" | tail -1)"
wait $command
same "a rank that is killed, exit code" $? 1
check "a rank that is killed" "$(cat errors)" "a worker was killed by signal 9 (Killed)"

# Resumed where there is nothing left to train.
"$PACELINE" run job.yaml --out all1 --resume >table 2>errors || fail "resumed at the end: $(cat errors)"
check "resumed at the end" "$(cat table)" "trained        nothing: at step 300 already, and the job has 300 steps"
"$PACELINE" run job.yaml --out all1 --resume --set training.steps=9 >table 2>errors || fail "beyond the end: $(cat errors)"
check "beyond the end" "$(cat table)" "trained        nothing: at step 300 already, and the job has 9 steps"
case $(cat table) in *throughput* | *"first step"*) fail "beyond the end: $(cat table)" ;; esac
verdict
