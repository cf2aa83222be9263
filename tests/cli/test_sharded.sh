#!/bin/bash
# TIMEOUT: 400
# A sharded optimiser: the checkpoint of one rank on 2, 3 and 4, whatever the optimiser keeps; written whole,
# so resumed on any number of ranks, sharded or not; and of its state each rank has its share.
. tests/cli/lib.sh

idx_job sharded 1 'best: false'
sed -i 's/checkpoint/debug: {checkReplicas: 3}\n  checkpoint/' job.yaml
sharded() { echo "--workers $1 --set training.optimizer.sharded=$2"; }

# shellcheck disable=SC2046 # the options are words
{
    want=$(result one)
    check "one rank" "$want" "  -"
    for n in 2 3 4; do same "$n ranks" "$(result "ranks-$n" $(sharded $n true))" "$want"; done
    same "3 ranks, not sharded" "$(result whole $(sharded 3 false))" "$want"
    same "by itself" "$(result itself --workers 2)" "$want"
    for optimizer in "sgd, momentum: 0" "rmsprop, momentum: 0.5, centered: true" "adagrad, initialAccumulator: 0.1"; do
        set="training.optimizer={name: $optimizer}"
        same "$optimizer" "$(result "3-$optimizer" --workers 3 --set "$set")" "$(result "1-$optimizer" --set "$set")"
    done
    joined=$(result joined --set training.accumulate=3)
    same "join" "$(result join $(sharded 2 true) --set training.accumulate=3 --set strategy.batch=join)" "$joined"
    same "2 threads, small messages, at the end" "$(result threads $(sharded 2 true) --set training.threads=2 \
        --set strategy.fusionBytes=4096 --set strategy.schedule=end)" "$want"

    # Amid an epoch.
    result parts $(sharded 3 true) --set training.steps=3 >/dev/null
    cp -r parts parts-1
    cp -r parts parts-2
    same "resumed on 2" "$(result parts --resume $(sharded 2 true))" "$want"
    same "resumed on 2, not sharded" "$(result parts-1 --resume $(sharded 2 false))" "$want"
    same "resumed by one" "$(result parts-2 --resume)" "$want"
    result parts-3 $(sharded 2 false) --set training.steps=3 >/dev/null
    same "resumed on 4, not sharded before" "$(result parts-3 --resume $(sharded 4 true))" "$want"

    # 3.4 million parameters, of which Adam keeps two numbers each: as it says before it starts, and as the
    # kernel counts. Tensors are padded, by less than 2%; the peak of a rank is not always at the same point.
    large=(--set 'model.hidden=[1500, 1500]' --set training.steps=2 --set checkpoint.everyEpochs=0)
    state=$((8 * (784 * 1500 + 1500 * 1500 + 1500 * 10 + 1500 + 1500 + 10)))
    result whole-state $(sharded 4 false) "${large[@]}" >/dev/null
    result a-share $(sharded 4 true) "${large[@]}" >/dev/null
    said() { grep -o '"memoryBytes":[0-9]*' "$1/events.jsonl" | cut -d: -f2; }
    peak() {
        local ranks
        ranks=$(grep -o '"peakBytes":[^]]*' "$1/events.jsonl" | tail -1 | cut -d'[' -f2)
        echo $((${ranks//,/+}))
    }
    near() { if [ "$2" -lt $(($3 - $4)) ] || [ "$2" -gt $(($3 + $4)) ]; then fail "$1: $2 bytes, want $3"; fi; }
    near "rank 0 says" $(($(said whole-state) - $(said a-share))) $((state * 3 / 4)) $((state / 50))
    near "the ranks had" $(($(peak whole-state) - $(peak a-share))) $((state * 3)) $((state / 3))
    servers=(--workers 2 --set strategy.type=ParameterServer --set replicas.ps.replicas=1)
    result state-there "${servers[@]}" "${large[@]}" >/dev/null
    result no-state "${servers[@]}" "${large[@]}" --set "training.optimizer={name: sgd, momentum: 0}" >/dev/null
    same "a worker with a server says" "$(said state-there)" "$(said no-state)"
    validated() { "$PACELINE" validate job.yaml "${large[@]}" "$@"; }
    check "of 4 ranks" "$(validated $(sharded 4 true))" "parameters, gradient and a share of the optimizer"
    check "of servers" "$(validated "${servers[@]}")" "parameters, gradient and no optimizer"
    check "of all" "$(validated $(sharded 4 false))" "parameters, gradient and optimizer"
}

refused() {
    check "$1" "$("$PACELINE" validate job.yaml --set training.optimizer.sharded="$2" --set "$3" 2>&1)" \
        "spec.training.optimizer.sharded: found what the strategy cannot do; allowed: true with ParameterServer"
}
refused clipping true training.clipNorm=1
refused bf16 true strategy.wire=bf16
for algorithm in ring mpi recursiveDoubling naive; do refused "$algorithm" true strategy.algorithm=$algorithm; done
for type in LocalSGD ElasticAveraging ModelParallel; do refused "$type" true strategy.type=$type; done
refused "servers without it" false strategy.type=ParameterServer
verdict
