#!/bin/bash
# TIMEOUT: 400
# StrategySwitch by a relaunch, under agents: the run of all-reduce ends by itself and says for what; the next
# generation goes on with asynchronous servers. An operator that comes in between hears all of it. With one
# worker the bytes are those of sequential SGD.
. tests/agent/launch.sh
sections='"strategy":{"type":"StrategySwitch","switch":{"when":"epoch","epoch":2,"how":"relaunch"}},'
roles='"worker":{"replicas":1},"ps":{"replicas":1}'
switched='"epoch":2,"step":200,"reason":"epoch"'
digest() { head -c 8000 "$(last "$1")" | tr -d '\0' | grep -o '"digest":"[0-9a-f]*"'; }

mkdir data
python3 "$repo/tests/cli/make_idx.py" data 6400 64 || exit 1
for i in 0 1; do serve $i >"log$i"; done

begin 1 400 stopped 0 1
came "up to the switch"
check "it trained before" "$(grep '"event":"start"' "$said")" '"switch":{"fired":false}'
check "the switch" "$(grep '"event":"switch"' "$said")" "$switched,\"relaunch\":true"
check "the end" "$(grep '"phase":"stopped"' "$said")" '"message":"stopped after step 200 to change the strategy","relaunch":true'
check "the pod's log" "$(<log0)" "switched strategy after epoch 2 (epoch); the engine is launched again"
survivors "up to the switch" 0 1

chief ours --until '"event":"epoch"' </dev/null >again 2>&1
check "the end, again" "$(grep '"phase":"stopped"' again)" '"relaunch":true'
check "the switch, again" "$(grep '"event":"switch"' again)" "$switched,\"relaunch\":true"

begin 2 400 "done" 0 1
came "after the switch"
started=$(grep '"generation":2.*"event":"start"' "$said")
check "from where" "$started" '"resumedStep":200'
check "in which part" "$started" "\"switch\":{\"fired\":true,$switched}"
check "by servers" "$(grep '"event":"done"' "$said")" '"pushed":200,"applied":200'
grep '"phase":"done"' "$said" | grep -q relaunch && fail "it asks to be launched again"
sections='' roles='"worker":{"replicas":1}' job 400 >local.json
"$PACELINE" run local.json --out local >local.log 2>&1 || fail "paceline run: $(tail -n 3 local.log)"
same "the weights" "$(digest pod0/state)" "$(digest local)"
verdict
