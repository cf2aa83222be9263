#!/bin/bash
# TIMEOUT: 300
# Losses of labels that are numbers or bits, by every strategy: those that promise the bytes of one worker give them, by
# the others the loss falls, and what cannot be is refused by validate. What a loss computes, and each strategy's
# promises, are tests of their own (test_losses.sh, test_async.sh and the like).
#
# One loss of each kind of label, mse of numbers and sigmoidCrossEntropy of bits, meets all strategies. A strategy sees
# of a loss only the gradient and sums of values, and mae and huber differ from mse in these values alone. So they meet
# three strategies, one for each way to compute a loss: of a share of a batch (servers), of the last part of a network
# (three parts), and of a whole batch on each worker (asynchronous). A run mostly waits for its ranks to start, so a few
# go at a time.
# shellcheck disable=SC2154 # lib.sh sets repo
. tests/cli/lib.sh

python3 "$repo/tests/cli/make_values.py" data 100 40 || exit 1
# job LOSS FOLDER OUTPUTS
job() {
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: losses}
spec:
  model:
    loss: $1
    layers:
      - {type: flatten}
      - {type: dense, units: 12}
      - {type: relu, name: middle}
      - {type: dense, units: $3, name: side, lossWeight: 0.3}
      - {type: dense, units: $3, inputs: [middle]}
  dataset: {name: arrays, path: data/$2}
  training: {epochs: 2, batchSize: 16, lanes: 8, threads: 1,
             optimizer: {name: sgd, momentum: 0.5, learningRate: 0.01}}
  checkpoint: {best: false}
JOB
}

# NAME | PROMISE | WORKERS | what is set. The promise: the bytes of one worker (alone), or those of one worker that
# has four batches an update (joined), or none but that the loss falls (free); or refused, with this sentence.
ps="strategy.type=ParameterServer replicas.ps.replicas=1"
table="
servers|alone|4|$ps
three parts|alone|3|strategy.type=ModelParallel strategy.microBatches=2
joined|joined|3|strategy.batch=join training.accumulate=4
one at a time|joined|2|$ps strategy.schedule=oneAtATime strategy.batch=join training.accumulate=4
all at once|joined|4|$ps strategy.schedule=allAtOnce strategy.batch=join training.accumulate=4
backup worker|free|3|$ps strategy.backupWorkers=1 strategy.batch=join training.accumulate=2
switch|free|2|strategy.type=StrategySwitch replicas.ps.replicas=1 strategy.switch.when=epoch strategy.switch.epoch=1
local|free|3|strategy.type=LocalSGD strategy.averageEvery=2
asynchronous|free|2|$ps strategy.mode=async
bounded|free|2|$ps strategy.mode=bounded
groups|free|4|$ps strategy.mode=async strategy.groups=2
only backup workers|refused: found all workers, or more; allowed: fewer than workers|2|$ps strategy.backupWorkers=2 \
strategy.batch=join
four of three parts|refused: found 4 workers for a network of 3 parts|4|strategy.type=ModelParallel
joined groups|refused: found join, or several batches per update|4|$ps strategy.mode=async strategy.groups=2 \
strategy.batch=join training.accumulate=4
"
# falls NAME: the loss of the second epoch is below that of the first.
falls() {
    grep '"event":"epoch"' "$1/events.jsonl" | sed 's/.*,"loss":\([-0-9.e+]*\).*/\1/' |
        awk '{ loss[NR] = $1 + 0 } END { exit !(NR == 2 && loss[2] < loss[1]) }'
}
# refused NAME SENTENCE OPTION...
refused() {
    local status=0
    "$PACELINE" validate job.yaml "${@:3}" >said 2>&1 || status=$?
    same "$1: the exit code of validate" "$status" 2
    check "$1" "$(cat said)" "$2"
    same "$1: mistakes" "$(grep -c '; allowed' said)" 1
}
few="servers three_parts asynchronous"
# start NAME OPTION...: a run in the background, four at a time; its digest goes to the file NAME.sum.
start() {
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
    result "$@" >"$1.sum" &
}
# try LOSS FOLDER OUTPUTS NAMES: the strategies of these names, or all where there are none.
try() {
    local loss=$1 names=${4:-} what promise workers options option set n=0 runs=()
    job "$1" "$2" "$3"
    rm -rf alone* joined* run*
    start alone
    if [ -z "$names" ]; then start joined --set training.accumulate=4; fi
    while IFS='|' read -r what promise workers options; do
        [ -n "$what" ] || continue
        case " ${names:-${what// /_}} " in *" ${what// /_} "*) ;; *) continue ;; esac
        set=(--set "replicas.worker.replicas=$workers")
        for option in $options; do set+=(--set "$option"); done
        case $promise in
        refused*) refused "$loss: $what" "${promise#refused: }" "${set[@]}" ;;
        *)
            runs+=("$promise|$what")
            start "run$((++n))" "${set[@]}"
            ;;
        esac
    done <<<"$table"
    wait
    check "$loss, alone" "$(cat alone.sum)" "  -"
    falls alone || fail "$loss: one worker learns nothing: $(cat alone/events.jsonl)"
    for ((n = 1; n <= ${#runs[@]}; n++)); do
        what=${runs[n - 1]#*|} promise=${runs[n - 1]%%|*}
        case $promise in
        free) falls "run$n" || fail "$loss: $what: the loss does not fall: $(cat "run$n.sum")" ;;
        *) same "$loss: $what" "$(cat "run$n.sum")" "$(cat "$promise.sum")" ;;
        esac
    done
    if [ -z "$names" ]; then check "$loss, joined" "$(cat joined.sum)" "  -"; fi
    same "$loss: runs" "${#runs[@]}" "$(if [ -n "$names" ]; then wc -w <<<"$names"; else echo 11; fi)"
}
try mse numbers 2
try sigmoidCrossEntropy bits 5
try mae numbers 2 "$few"
try huber numbers 2 "$few"
verdict
