#!/bin/bash
# TIMEOUT: 400
# Synchronous parameter servers: the checkpoint of one rank, from 1 to 4 workers with no server of their
# own, one, two or three, split or joined, whole tensors or stripes; optimiser state included.
. tests/cli/lib.sh

conv_job servers 'debug: {checkReplicas: 3}'
# servers WORKERS SERVERS: the options.
servers() { echo "--workers $1 --set strategy.type=ParameterServer --set replicas.ps.replicas=$2"; }
adam=(--set "training.optimizer={name: adam}")

want=$(result one)
want_adam=$(result one-adam "${adam[@]}")
check "one rank" "$want" "  -"
# shellcheck disable=SC2046 # the options are words
for n in 1 2 3 4; do
    for s in 0 1 2; do
        same "$n workers, $s servers" "$(result "split-$n-$s" $(servers $n $s))" "$want"
    done
    same "$n workers, 2 servers, adam" "$(result "adam-$n" $(servers $n 2) "${adam[@]}")" "$want_adam"
done
# shellcheck disable=SC2046
{
    for s in 0 2 3; do
        same "whole tensors on $s servers" "$(result "greedy-$s" $(servers 3 $s) \
            --set strategy.placement=greedy "${adam[@]}")" "$want_adam"
    done
    same "small messages" "$(result small $(servers 2 2) --set strategy.fusionBytes=4096)" "$want"
    same "one message" "$(result end $(servers 3 2) --set strategy.schedule=end)" "$want"
    same "a communication thread" \
        "$(result thread $(servers 2 1) --set strategy.communicationThread=true)" "$want"
    same "2 threads" "$(result threads $(servers 2 2) --set training.threads=2 \
        --set strategy.fusionBytes=4096)" "$want"

    # An update of 3 batches; 200 = 6 * 32 + 8 leaves one of 1, in which two of the workers have none.
    joined=$(result one-3 --set training.accumulate=3)
    for n in 1 2 3; do
        same "join, $n workers" "$(result "join-$n" $(servers $n 2) --set training.accumulate=3 \
            --set strategy.batch=join)" "$joined"
    done
    same "join, no servers" "$(result join-0 $(servers 3 0) --set training.accumulate=3 \
        --set strategy.batch=join)" "$joined"

    # A server's state is in the checkpoint: stopped amid an epoch, resumed with other servers, or none.
    result parts $(servers 2 2) "${adam[@]}" --set training.steps=4 >/dev/null
    cp -r parts parts-1
    cp -r parts parts-2
    same "resumed on 3 servers" "$(result parts --resume $(servers 3 3) "${adam[@]}")" "$want_adam"
    same "resumed by all-reduce" "$(result parts-1 --resume --workers 2 "${adam[@]}")" "$want_adam"
    same "resumed by one" "$(result parts-2 --resume "${adam[@]}")" "$want_adam"
}

refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
refused "servers with AllReduce" "allowed with spec.model: 0, or strategy.type ParameterServer" \
    --set replicas.ps.replicas=1
refused "clipping" "spec.training.clipNorm: found a norm; allowed with ParameterServer and StrategySwitch: 0" \
    --set strategy.type=ParameterServer --set training.clipNorm=1
refused "bf16" "spec.strategy.wire: found, but it belongs to spec.strategy.type: AllReduce|StrategySwitch only" \
    --set strategy.type=ParameterServer --set strategy.wire=bf16
check "only servers" "$(mpirun --oversubscribe --bind-to none -np 2 "$PACELINE_WORKER" run \
    --spec split-1-2/job.json --out nothing 2>&1)" "2 servers in a world of 2 ranks; needed: a worker"
verdict
