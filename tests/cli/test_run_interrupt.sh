#!/bin/bash
# Ctrl-C, SIGTERM and SIGHUP let the engine save a checkpoint. A second Ctrl-C kills it, and so does the death of the
# command: no rank is left, the checkpoint stays.
# LANE: waiting
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
    if [ "$1" != hang-early ]; then until_true grep -q firstStep out/events.jsonl; fi
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
        check "$signal" "$(cat errors)" "stopping after the next step, with a checkpoint; Ctrl-C again kills at once"
        check "$signal" "$(cat errors)" "stopped after step 100, as asked to"
        check "$signal" "$(cat errors)" "continue with: paceline run out/job.json --out out --resume"
        check "$signal, report" "$(cat out/report.html 2>&1)" "Effective spec"
        if [ -e out/.stop ]; then fail "$signal: the file that asks is left"; fi
        if [ ! -s out/step-100.safetensors ]; then fail "$signal: the checkpoint is gone"; fi

        # Before the first step there is nothing to save.
        begin hang-early $workers
        kill -$signal $command
        wait $command
        same "early $signal, $workers workers, exit code" $? 130
        all_gone || fail "early $signal, $workers workers: a rank is left"
        check "early $signal" "$(cat errors)" "interrupted; every worker has ended"
    done

    # A terminal that closes sends SIGHUP twice; systemd sends SIGTERM and SIGHUP.
    for signals in "HUP HUP" "TERM HUP" "INT TERM"; do
        begin hang-slow $workers
        kill -"${signals% *}" $command
        until_true grep -q "stopping after the next step" errors
        kill -"${signals#* }" $command
        wait $command
        same "$signals, $workers workers, exit code" $? 130
        all_gone || fail "$signals, $workers workers: a rank is left"
        check "$signals" "$(cat errors)" "stopped after step 100, as asked to"
    done

    # Ranks that ignore SIGTERM, one of them with a child in a session of its own.
    begin hang-child $workers
    kill -INT $command
    until_true grep -q "stopping after the next step" errors
    kill -INT $command
    wait $command
    same "deaf ranks, $workers workers, exit code" $? 130
    all_gone || fail "deaf ranks, $workers workers: a process is left"

    begin hang-hard $workers
    kill -INT $command
    until_true grep -q "stopping after the next step" errors
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
