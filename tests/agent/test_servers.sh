#!/bin/bash
# TIMEOUT: 400
# A parameter server in a pod of its own. It is killed, and the training goes on from the checkpoint, which
# has its state: the bytes are those of one rank. One of three workers is left out; the last rank is the
# server all the same.
. tests/agent/launch.sh
training='"strategy":{"type":"ParameterServer"},"checkpoint":{"everySteps":20},'
slowly='"debug":{"gradientSeconds":0.02},' # the server is killed in the middle on any machine
sections=$training$slowly
roles='"worker":{"replicas":3},"ps":{"replicas":1}'

mkdir data
python3 "$repo/tests/cli/make_idx.py" data 6400 64 || exit 1
for i in 0 1 2; do serve $i; done

begin 1 800 failed 0 1 2
until_true heard '"event":"checkpoint"'
check "who is what" "$(grep '"event":"start"' "$said")" '"ranks":3,"workers":2,"servers":1'
pod_pids 2 '^[^ ]*paceline-worker' | xargs kill -9
came "a server is killed"
survivors "a server is killed" 0 1 2

sections=$training
begin 2 800 "done" 0 1 2
came "again"
check "from where" "$(grep '"generation":2.*"event":"start"' "$said" | sed 's/"resumedStep":0[,}]/anew/')" '"resumedStep":'
sections='' roles='"worker":{"replicas":1}' job 800 >local.json
"$PACELINE" run local.json --out local >local.log 2>&1 || fail "paceline run: $(tail -n 3 local.log)"
cmp "$(last local)" "$(last pod0/state)" || fail "the weights differ"
verdict
