#!/bin/bash
# paceline split: the splits side by side, and what they are refused for.
. tests/cli/lib.sh

conv_job split
split() { "$PACELINE" split job.yaml "$@" 2>errors; }

# Loads: conv1 2*20*22760 taps of a 28x28 image with a border of 2... times 2 (no gradient below it);
# dense1 2*3920*70*3, dense2 2*70*4*3.
out=$(split --workers 2)
check "parts" "$out" "conv1 relu1 maxpool1 flatten1"
check "a part" "$out" "dense1 relu2                   1.646     274,470     320 B          1      0"
check "automatic" "$out" "automatic: 50176 bytes sent per sample, at most 0.94 times"
check "its first worker" "$out" "worker 0: 46.57% of the load, "
check "naive" "$out" "naive: 640 bytes sent per sample, at most 0.50 times"
check "its second worker" "$out" "worker 1: 0.05% of the load, "
if grep -q "by hand" <<<"$out"; then fail "by hand: there is none"; fi
check "micro-batches fill the pipeline" "$(split --workers 2 --set strategy.type=ModelParallel \
    --set strategy.microBatches=8)" "at most 1.66 times"

hand=(--set strategy.type=ModelParallel --set strategy.layerPlacement="[0,0,0,0,1,1,1,0]")
out=$(split --workers 2 "${hand[@]}")
check "by hand" "$out" "by hand: 50816 bytes sent per sample"
check "a column of its own" "$out" "automatic  naive  by hand"
same "one worker sends nothing" "$(split --workers 1 | grep -c " 0 bytes sent")" 2

split --workers 5 >out
same "exit code" $? 2
check "too many" "$(cat errors)" "found 5 workers for a network of 4 parts"
split --workers 2 "${hand[@]:0:3}" strategy.layerPlacement="[0,0,1,0,1,1,1,0]" >out
same "exit code of a torn part" $? 2
check "torn" "$(cat errors)" "layer maxpool1 is on worker 1; needed: 0, the worker of conv1"
same "no job" "$("$PACELINE" split nothing.yaml >out 2>&1; echo $?)" 3
verdict
