#!/bin/bash
# TIMEOUT: 300
# A pod that is silent: all that it sends and gets is lost, and nothing is killed. A world that has
# pods on both sides ends on both; one that is whole goes on without its operator. On the way: what
# the agents take.
. tests/agent/launch.sh

ended_run() { grep -q "run ended generation=$1 " agent0.log; }
cut_off() { grep -q "connection ended channel=control: .*silent" agent0.log; }

# lose GENERATION POD: it falls silent while the world trains; prints how long that was not noticed.
lose() {
    local from
    begin "$1" 1000000 failed 0 1 2
    until_true heard "$begun\"training\""
    if [ "$1" = 1 ]; then
        memory "while its run trains" 0
        memory "while a daemon runs" 1
    fi
    from=$EPOCHREALTIME
    pod_cut "$2"
    until_true ended_run "$1"
    survivors "pod $2 is silent" 0 1 2
    awk "BEGIN { printf \"pod $2 is silent: nothing is left after %.1f s\\n\", $EPOCHREALTIME - $from }"
    verdict_of_run=$(grep "run ended generation=$1 " agent0.log)
    sed 's/.*exit=[0-9]*: /    /; s/ pod=.*//' <<<"$verdict_of_run"
    pod_join "$2"
}

mkdir data
python3 "$repo/tests/cli/make_idx.py" data 640 64 || exit 1
for i in 0 1 2; do serve $i; done
memory "idle" 0

lose 1 2
came "a peer is silent"
check "a peer is silent" "$(tail -n 1 "$said")" \
    '"message":"agent of w-2-0 (10.99.0.3): the other end has been silent for 5 s"'

lose 2 0
wait $operator # who was cut off from it
check "the chief is silent" "$verdict_of_run" "the other end has been silent for 5 s"

# A world of one pod: it trains on, and whoever comes then hears of it.
begin 3 1000000 stopped 0
until_true heard "$begun\"training\""
pod_cut 0
until_true cut_off
wait $operator
before=$(last pod0/state)
further() { [ "$(last pod0/state)" != "$before" ]; }
until_true further || verdict
pod_join 0
out=$(order stop 3 | chief ours --until "$begun\"stopped\"" 2>&1)
check "it trained on" "$out" "$begun\"training\""
check "it stops in order" "$out" "stopped after step"
verdict
