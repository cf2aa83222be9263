#!/bin/bash
# TIMEOUT: 900
# LocalSGD: one worker is plain SGD to the byte, meeting after each update is AllReduce by whole batches
# up to rounding, runs repeat to the byte, stopped or not, and what is frozen stays.
. tests/cli/lib.sh

conv_job local
# local WORKERS EVERY: the options, in the array `s`.
local_sgd() { s=(--workers "$1" --set strategy.type=LocalSGD --set strategy.averageEvery="$2"); }
newest() { find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1; }
# near NAME A B LIMIT: the tensors of the last checkpoints differ by at most LIMIT * 2^-24.
near() {
    local units
    units=$(python3 "$repo/tests/cli/difference.py" "$(newest "$2")" "$(newest "$3")")
    echo "$1: $units * 2^-24"
    if ! awk "BEGIN { exit !($units <= $4) }" </dev/null; then fail "$1: $units * 2^-24 apart"; fi
}
adam=(--set "training.optimizer={name: adam}")
plain=(--set training.optimizer.momentum=0)

want=$(result one)
check "plain SGD" "$want" "  -"
for every in 1 2 3; do
    local_sgd 1 $every
    same "one worker, every $every" "$(result "one-$every" "${s[@]}")" "$want"
done
local_sgd 1 4
same "one worker, adam, clipped" "$(result one-adam "${s[@]}" "${adam[@]}" --set training.clipNorm=0.5)" \
    "$(result plain-adam "${adam[@]}" --set training.clipNorm=0.5)"

# Each update averaged: the mean of gradients, as in AllReduce that joins a batch of each worker. An update
# rounds the weights, their shares (1/3 is none that float has) and the levels of a sum otherwise: some units
# of 2^-24, state included; then the networks drift apart (measured: 9 units in 18 batches).
# 9 batches leave rows of 1, where one worker has all samples, and one of 14 samples beside 32.
for n in 2 3 4; do
    local_sgd $n 1
    joined=(--workers "$n" --set strategy.batch=join --set training.accumulate="$n")
    result "first-$n" "${s[@]}" --set training.steps=$n >/dev/null
    result "first-joined-$n" "${joined[@]}" --set training.steps=1 >/dev/null
    near "$n workers, an update" "first-$n" "first-joined-$n" 12
    for with in plain momentum; do
        options=()
        if [ $with = plain ]; then options=("${plain[@]}"); fi
        result "each-$with-$n" "${s[@]}" "${options[@]}" >/dev/null
        result "joined-$with-$n" "${joined[@]}" "${options[@]}" >/dev/null
        near "$n workers, $with" "each-$with-$n" "joined-$with-$n" 50
    done
done

# Alone for a while; the weights are equal when all have met, and a run can be repeated.
for n in 2 3 4; do
    local_sgd $n 2
    first=$(result "alone-$n" "${s[@]}" "${adam[@]}")
    check "$n workers" "$first" "  -"
    same "$n workers again" "$(result "again-$n" "${s[@]}" "${adam[@]}" --set debug.slowdown='[1, 3]' \
        --set training.threads=2 --set dataset.prefetch=0)" "$first"
    same "$n workers: steps" "$(tail -1 "alone-$n/events.jsonl" | grep -o '"step":[0-9]*')" '"step":18'
    for step in $((n + 1)) $((n == 3 ? 6 : 9)); do # amid a row; at a round's or an epoch's end
        result "parts-$n-$step" "${s[@]}" "${adam[@]}" --set training.steps=$step \
            --set checkpoint.everySteps=$step >/dev/null
        whole=$(result "whole-$n-$step" "${s[@]}" "${adam[@]}" --set checkpoint.everySteps=$step)
        same "$n workers, resumed at $step" "$(result "parts-$n-$step" --resume "${s[@]}" "${adam[@]}" \
            --set checkpoint.everySteps=$step)" "$whole"
    done
done
local_sgd 3 2
same "replicas compared" "$(result often "${s[@]}" --set checkpoint.everySteps=3)" \
    "$(result compared "${s[@]}" --set debug.checkReplicas=3)"
# What the clock asks for changes nothing, nor does a stop.
untouched=$(result untouched "${s[@]}")
touch stop
PACELINE_STOP_FILE=$PWD/stop "$PACELINE" run job.yaml --out stopped "${s[@]}" >stopped.log 2>&1
check "a stop at a round's end" "$(tail -1 stopped/events.jsonl)" '"event":"stopped","step":6'
same "and on" "$(result stopped --resume "${s[@]}")" "$untouched"
if [ "$untouched" = "$(result rare "${s[@]}" --set strategy.averageEvery=3)" ]; then
    fail "averageEvery changed nothing"
fi
check "other workers go on" "$(result stopped --resume --workers 2 --set strategy.type=LocalSGD)" "  -"

# Post-local: the first epoch as with averageEvery 1.
result post "${s[@]}" --set strategy.localFrom=1 --set training.epochs=1 >/dev/null
result each "${s[@]}" --set strategy.averageEvery=1 --set training.epochs=1 >/dev/null
near "before localFrom" post each 0
same "and then not" "$(result post --resume "${s[@]}" --set strategy.localFrom=1 --set training.epochs=2)" \
    "$(result post-2 "${s[@]}" --set strategy.localFrom=1)"

layers='[{type: flatten}, {type: dense, units: 9, frozen: true}, {type: dense, units: 4}]'
frozen() { result "$1" --set model.layers="$layers" "${@:2}" >/dev/null && newest "$1"; }
check "a frozen layer" "$("$PACELINE" diff "$(frozen frozen-3 "${s[@]}")" "$(frozen frozen-1)")" \
    "first difference: dense2"

# It learns.
local_sgd 4 2
result learns "${s[@]}" --set training.epochs=6 >/dev/null
losses=$(grep '"event":"epoch"' learns/events.jsonl | grep -o '"loss":[0-9.]*' | cut -d: -f2 | sed -n '1p;$p')
# shellcheck disable=SC2086
if ! awk 'BEGIN { exit !(ARGV[2] < 0.7 * ARGV[1]) }' $losses; then fail "losses: $losses"; fi

check "NaN" "$(result nan "${s[@]}" --set debug.failNan=true)" "the loss is nan"
check "a wait" "$(result waits "${s[@]}" --set debug.slowdown='[1, 1000]' --set debug.gradientSeconds=0.01 \
    --set strategy.waitSeconds=1)" "waited 1 s for a note of rank "
refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
refused "join" "strategy.type: found join, or several batches per update; allowed with LocalSGD" "${s[@]}" \
    --set strategy.batch=join --set training.accumulate=4
refused "never" "strategy.averageEvery: found 0; allowed: an integer from 1" "${s[@]}" \
    --set strategy.averageEvery=0
refused "of AllReduce" "averageEvery: found, but it belongs to spec.strategy.type: LocalSGD|ElasticAveraging" \
    --set strategy.averageEvery=2
refused "servers" "spec.replicas.ps.replicas: found 1; allowed with spec.model: 0" "${s[@]}" \
    --set replicas.ps.replicas=1
verdict
