#!/bin/bash
# TIMEOUT: 300
# Every strategy, once: stopped on the way, resumed, evaluated, saved. What each promises is its own test's;
# this one walks all their code in little time, so that the sanitizers can.
. tests/cli/lib.sh

conv_job every
# walk NAME WORKERS OPTION...
walk() {
    local what=$1 s=(--workers "$2" --set checkpoint.everySteps=4)
    shift 2
    for option; do s+=(--set "$option"); done
    check "$what" "$(result "$what" "${s[@]}" --set training.steps=5)" "  -"
    check "$what, resumed" "$(result "$what" --resume "${s[@]}")" "  -"
    check "$what, to its end" "$(tail -1 "$what/events.jsonl")" '"event":"done"'
}
for algorithm in tree recursiveDoubling naive ring mpi; do
    walk $algorithm 3 strategy.algorithm=$algorithm
    walk $algorithm-bf16 2 strategy.algorithm=$algorithm strategy.wire=bf16 strategy.communicationThread=true
done
walk join 2 strategy.batch=join training.accumulate=3
ps=strategy.type=ParameterServer
walk distributed 3 $ps strategy.placement=greedy
walk servers 2 $ps replicas.ps.replicas=2
walk backup 3 $ps replicas.ps.replicas=1 strategy.backupWorkers=1 strategy.batch=join training.accumulate=2
walk scheduled 3 $ps replicas.ps.replicas=1 strategy.schedule=oneAtATime strategy.batch=join training.accumulate=3
walk async 2 $ps replicas.ps.replicas=2 strategy.mode=async
walk bounded 2 $ps replicas.ps.replicas=1 strategy.mode=bounded
walk groups 4 $ps replicas.ps.replicas=1 strategy.mode=async strategy.groups=2
walk local 3 strategy.type=LocalSGD strategy.averageEvery=2
walk elastic 3 strategy.type=ElasticAveraging strategy.averageEvery=2
walk switch 2 strategy.type=StrategySwitch replicas.ps.replicas=1 'strategy.switch={when: epoch, epoch: 1}'
walk split 3 strategy.type=ModelParallel strategy.microBatches=2
network="debug.bandwidth=20000000 debug.latencySeconds=0.0001"
# shellcheck disable=SC2086
walk network 3 $network
# shellcheck disable=SC2086
walk network-servers 2 $network $ps replicas.ps.replicas=2 strategy.mode=async strategy.transferSemaphore=true
verdict
