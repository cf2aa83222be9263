#!/bin/bash
# TIMEOUT: 600
# ModelParallel: the network is split over the workers, and the checkpoint is that of one rank, optimiser
# state included: any number of workers, any placement, any number of micro-batches, stopped and resumed
# with others.
. tests/cli/lib.sh

conv_job split
# split WORKERS [PATH=VALUE...]: the options, in the array `s`.
split() {
    s=(--workers "$1" --set strategy.type=ModelParallel)
    shift
    for value in "$@"; do s+=(--set "$value"); done
}
# epochs NAME: what its epochs say of losses and hits.
epochs() {
    grep '"event":"epoch"' "$1/events.jsonl" |
        grep -o '"\(loss\|accuracy\|l2\|[a-z]*Loss\|[a-z]*Accuracy\)":[0-9.e+-]*'
}
of() { tail -1 "$1/events.jsonl" | grep -o "\"$2\":\(\[[^]]*\]\|[0-9]*\)" | cut -d: -f2; }
adam="training.optimizer={name: adam}"

want=$(result one)
want_adam=$(result one-adam --set "$adam")
check "one rank" "$want" "  -"
for n in 1 2 3 4; do
    split $n
    same "$n workers" "$(result "plain-$n" "${s[@]}")" "$want"
    split $n strategy.microBatches=8 "$adam"
    same "$n workers, 8 micro-batches, adam" "$(result "micro-$n" "${s[@]}")" "$want_adam"
    same "$n workers: the same epochs" "$(epochs "micro-$n")" "$(epochs one-adam)"
done
same "one worker sends nothing" "$(of plain-1 bytesSent)" 0

# Placements by hand: the first layers on the last worker, back and forth, none for worker 0.
for placement in "[2,2,2,2,1,1,1,0]" "[1,1,1,1,0,0,2,1]" "[1,1,1,1,2,2,1,2]"; do
    split 3 strategy.layerPlacement="$placement" strategy.microBatches=2 "$adam"
    same "placed $placement" "$(result "hand-${placement//[^0-9]/}" "${s[@]}")" "$want_adam"
done
# A map of 20 channels in blocks of 16, there and back, for 2 epochs of 270 and 40 samples to test; for the
# checkpoint the tensors of worker 1 with their momentum.
split 2 strategy.layerPlacement="[0,0,0,0,1,1,1,1]" checkpoint.everyEpochs=0
result bytes "${s[@]}" >/dev/null
dense=$((4 * (3920 * 70 + 70 + 70 * 4 + 4))) map=$((4 * 32 * 14 * 14))
same "bytes sent" "$(of bytes bytesSent)" $((2 * (2 * 270 + 40) * map + 2 * dense))

want_67=$(result one-67 --set training.batchSize=67) # the last batch of an epoch has 2 samples
for n in 2 3; do
    split $n training.batchSize=67 strategy.microBatches=8
    same "$n workers, 2 samples left" "$(result "rest-$n" "${s[@]}")" "$want_67"
done
one_lane=(training.batchSize=2 training.lanes=1 training.steps=5)
options=() && for o in "${one_lane[@]}"; do options+=(--set "$o"); done
split 3 "${one_lane[@]}"
same "more workers than lanes and samples" "$(result few "${s[@]}")" "$(result one-few "${options[@]}")"
split 2 strategy.microBatches=4 training.threads=2
same "2 threads" "$(result threads "${s[@]}")" "$want"

other=(training.l2=0.001 dataset.validationSplit=0.2 "training.optimizer={name: adagrad}" training.lanes=4)
options=() && for o in "${other[@]}"; do options+=(--set "$o"); done
want_other=$(result one-other "${options[@]}")
split 3 strategy.microBatches=4 "${other[@]}"
same "l2, validation, adagrad" "$(result other "${s[@]}")" "$want_other"
same "the same epochs of it" "$(epochs other)" "$(epochs one-other)"

mlp=(--set "model={name: mlp, hidden: [40, 30, 20]}")
want_mlp=$(result one-mlp "${mlp[@]}")
for n in 2 4; do
    split $n strategy.microBatches=2
    same "an mlp on $n workers" "$(result "mlp-$n" "${mlp[@]}" "${s[@]}")" "$want_mlp"
done
cp job.yaml whole.yaml
sed -i 's/filters: 20,/filters: 20, frozen: true,/' job.yaml
want_frozen=$(result one-frozen)
split 2 strategy.layerPlacement="[0,0,0,0,1,1,1,1]" strategy.microBatches=2
same "a frozen layer" "$(result frozen "${s[@]}")" "$want_frozen"
split 3 strategy.layerPlacement="[1,1,1,1,0,0,2,2]"
same "a frozen layer in the middle" "$(result frozen-3 "${s[@]}")" "$want_frozen"
cp whole.yaml job.yaml

# Stopped amid an epoch, and resumed: with other workers, by one, and from all-reduce.
split 2 "$adam" strategy.microBatches=4
result parts "${s[@]}" --set training.steps=4 >/dev/null
cp -r parts parts-1
same "resumed by one" "$(result parts-1 --resume --set "$adam")" "$want_adam"
split 3 "$adam"
same "resumed by 3" "$(result parts --resume "${s[@]}")" "$want_adam"
result reduced --workers 2 --set "$adam" --set training.steps=11 >/dev/null
same "resumed from all-reduce" "$(result reduced --resume "${s[@]}")" "$want_adam"
touch stop
PACELINE_STOP_FILE=$PWD/stop "$PACELINE" run job.yaml --out stopped "${s[@]}" >stopped.log 2>&1
check "a stop" "$(tail -1 stopped/events.jsonl)" '"event":"stopped","step":1'
same "and on" "$(result stopped --resume "${s[@]}")" "$want_adam"
check "evaluated by one" "$("$PACELINE" evaluate parts/best.safetensors 2>&1 ||
    "$PACELINE" evaluate parts/checkpoint-00000018.safetensors 2>&1)" "accuracy"

split 3 debug.failNan=true
check "NaN" "$(result nan "${s[@]}")" "the loss is"
split 3 strategy.waitSeconds=3 training.epochs=1000000 checkpoint.everyEpochs=0
"$PACELINE" run job.yaml --out waits "${s[@]}" >waits.log 2>&1 &
run=$!
until_true grep -q '"event":"epoch"' waits/events.jsonl
worker=$(pgrep -P "$(pgrep -P $run)" | tail -1)
kill -STOP "$worker"
wait $run
kill -KILL "$worker" 2>/dev/null
check "a wait" "$(cat waits.log)" "waited 3 s for "

refused() { check "$1" "$("$PACELINE" validate job.yaml "${s[@]}" "${@:3}" 2>&1)" "$2"; }
split 2
refused "a power of two" "microBatches: found 3; allowed: a power of two" \
    --set strategy.microBatches=3
refused "lanes" "microBatches: found 16; allowed: a power of two" --set strategy.microBatches=16
refused "too short" "layerPlacement: found 2 entries; needed: one for each layer" \
    --set strategy.layerPlacement="[0,1]"
refused "not there" "layerPlacement: found a worker that is not there; allowed: 0 to replicas" \
    --set strategy.layerPlacement="[0,0,0,0,1,1,1,2]"
refused "torn" "layer relu1 is on worker 1; needed: 0, the worker of conv1, for they are computed" \
    --set strategy.layerPlacement="[0,1,1,1,1,1,1,1]"
refused "join" "found join, or several batches per update; allowed with ModelParallel" \
    --set training.accumulate=2
refused "clipping" "clipNorm: found a norm; allowed with ModelParallel: 0" --set training.clipNorm=1
refused "servers" "found 1; allowed with spec.model: 0" --set replicas.ps.replicas=1
refused "another strategy" "belongs to spec.strategy.type: ModelParallel" \
    --set strategy.type=AllReduce --set strategy.microBatches=2
split 5
refused "parts" "found 5 workers for a network of 4 parts; allowed with ModelParallel"
split 9
refused "layers" "found 9; allowed with ModelParallel: at most as many workers as layers"
check "a world of five" "$(ranks 5 "$PACELINE_WORKER" run --spec plain-4/job.json --out nothing 2>&1)" \
    "found 5 workers for a network of 4 parts"
verdict
