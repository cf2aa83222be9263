#!/bin/bash
# Ctrl-C, a second one, and the death of the command itself: no rank is left, the checkpoint stays.
. tests/cli/lib.sh
fake

# begin MODE WORKERS: starts a run that never ends and waits until every rank says so.
begin() {
    export FAKE=$1 FAKE_PIDS="$dir/pids"
    rm -rf "$FAKE_PIDS" out
    touch "$FAKE_PIDS"
    set -m # else the shell makes a background process ignore SIGINT
    "$PACELINE" run job.yaml --workers "$2" --out out >/dev/null 2>errors &
    command=$!
    set +m
    until_true ranks_are "$2"
}

# shellcheck disable=SC2317 # called by until_true
ranks_are() { [ "$(wc -l <"$FAKE_PIDS")" -ge "$1" ]; }

all_gone() {
    # shellcheck disable=SC2046
    gone $(cat "$FAKE_PIDS")
}

for workers in 1 2; do
    for signal in INT TERM HUP; do
        begin hang $workers
        kill -$signal $command
        wait $command
        same "$signal, $workers workers, exit code" $? 130
        all_gone || fail "$signal, $workers workers: a rank is left"
        check "$signal" "$(cat errors)" "interrupted; every worker has ended"
        check "$signal" "$(cat errors)" "continue with: paceline run out/job.json --out out --resume"
        if [ ! -s out/step-100.safetensors ]; then fail "$signal: the checkpoint is gone"; fi
    done

    # Ranks that ignore SIGTERM, one of them with a child in a session of its own.
    begin hang-child $workers
    kill -TERM $command
    wait $command
    same "deaf ranks, $workers workers, exit code" $? 130
    all_gone || fail "deaf ranks, $workers workers: a process is left"

    begin hang-hard $workers
    kill -INT $command
    kill -INT $command
    wait $command
    same "twice, $workers workers, exit code" $? 130
    all_gone || fail "twice, $workers workers: a rank is left"

    begin hang-hard $workers
    kill -KILL $command
    wait $command 2>/dev/null
    until_true all_gone

    # mpirun, or the only worker, is killed from outside.
    begin hang-hard $workers
    kill -KILL "$(pgrep -P $command)"
    wait $command
    same "engine killed, $workers workers, exit code" $? 1
    all_gone || fail "engine killed, $workers workers: a rank is left"
    check "engine killed" "$(cat errors)" "a worker was killed by signal 9 (Killed)"
done
verdict
