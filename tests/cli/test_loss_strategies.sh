#!/bin/bash
# TIMEOUT: 300
# Every loss of labels that are numbers or bits, by every strategy: those that promise the bytes of one worker give
# them, by the others the loss falls, and what cannot be is refused by validate. What a loss computes, and each
# strategy's promises, are tests of their own (test_losses.sh, test_async.sh and the like).
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
for kind in "mse numbers 2" "mae numbers 2" "huber numbers 2" "sigmoidCrossEntropy bits 5"; do
    loss=${kind%% *}
    # shellcheck disable=SC2086 # words
    job $kind
    alone=$(result alone)
    joined=$(result joined --set training.accumulate=4)
    check "$loss, joined" "$joined" "  -"
    falls alone || fail "$loss: one worker learns nothing: $(cat alone/events.jsonl)"
    n=0
    while IFS='|' read -r what promise workers options; do
        [ -n "$what" ] || continue
        set=(--set "replicas.worker.replicas=$workers")
        for option in $options; do set+=(--set "$option"); done
        case $promise in
        refused*)
            refused "$loss: $what" "${promise#refused: }" "${set[@]}"
            continue
            ;;
        esac
        n=$((n + 1))
        got=$(result "run$n" "${set[@]}")
        case $promise in
        alone) same "$loss: $what" "$got" "$alone" ;;
        joined) same "$loss: $what" "$got" "$joined" ;;
        free) falls "run$n" || fail "$loss: $what: the loss does not fall: $got" ;;
        esac
    done <<<"$table"
    same "$loss: runs" "$n" 11
    rm -rf alone joined run*
done
verdict
