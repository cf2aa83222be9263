#!/bin/bash
# TIMEOUT: 600
# Groups of workers, synchronous inside, asynchronous outside: one group is one worker to the byte, groups
# of one are plain asynchronous servers, and groups of any size give what as many workers give.
# shellcheck disable=SC2154 # lib.sh has repo
. tests/cli/lib.sh
# shellcheck source=tests/cli/async.sh
. "$repo/tests/cli/async.sh"

# grouped GROUPS WORKERS SERVERS: the options, in the array `s`.
grouped() {
    servers "$2" "$3"
    s+=(--set strategy.groups="$1")
}
adam=(--set "training.optimizer={name: adam}")

want=$(result one)
want_adam=$(result one-adam "${adam[@]}")
check "sequential" "$want" "  -"
for n in 1 2 3 4; do
    grouped 1 $n 1
    same "a group of $n" "$(result "one-$n" "${s[@]}")" "$want"
    same "a group of $n, always fresh" "$(of "one-$n" staleness)" "[18]"
done
grouped 1 3 2
same "two servers" "$(result two "${s[@]}" "${adam[@]}" --set strategy.placement=greedy)" "$want_adam"
result parts "${s[@]}" "${adam[@]}" --set training.steps=5 >/dev/null
same "resumed" "$(result parts --resume "${s[@]}" "${adam[@]}")" "$want_adam"
same "small messages" "$(result small "${s[@]}" --set strategy.fusionBytes=4096)" "$want"

# In a scripted order: two workers, and two groups of one and of two.
half=(--set strategy.divideLearningRate=true)
servers 2 1
plain=$(result plain "${s[@]}" "${half[@]}" --set debug.pushOrder='[0, 0, 1]')
check "two workers" "$plain" "  -"
for size in 1 2; do
    grouped 2 $((2 * size)) 1
    same "two groups of $size" "$(result "groups-$size" "${s[@]}" "${half[@]}" \
        --set debug.pushOrder="[0, 0, $size]")" "$plain"
    same "staleness of groups of $size" "$(of "groups-$size" staleness)" "$(of plain staleness)"
    same "leads of groups of $size" "$(of "groups-$size" lead)" "$(of plain lead)"
done

# As they come, one group slower, bounded and not.
for bounded in "" "--set strategy.mode=bounded --set strategy.staleness=1"; do
    grouped 2 4 2
    # shellcheck disable=SC2086 # words
    check "free $bounded" "$(result free "${s[@]}" --set debug.slowdown='[1, 1, 1, 9]' $bounded)" "  -"
    same "free $bounded: pushed" "$(of free pushed) $(of free applied)" "18 18"
    same "free $bounded: counted" "$(total free staleness) $(total free lead)" "18 18"
    rm -rf free
done

grouped 2 4 1
check "NaN" "$(result nan "${s[@]}" --set debug.failNan=true)" "the loss is"
check "a world that they do not divide" "$(ranks 4 "$PACELINE_WORKER" run --spec groups-2/job.json --out none 2>&1)" \
    "spec.strategy.groups: 2 groups of 3 workers; allowed: 0, or what divides the workers"
for groups in 3 8; do
    grouped $groups 4 1
    refused "$groups groups of 4" "spec.strategy.groups: found $groups for 4 workers, which 1, 2, 4 divide; allowed: 0, or what divides replicas." \
        "${s[@]}"
done
grouped -1 4 1
refused "fewer than none" "spec.strategy.groups: found -1; allowed: an integer from 0" "${s[@]}"
grouped 2 4 1
refused "groups of sync" "spec.strategy.groups: found, but it belongs to spec.strategy.mode: async|bounded only" \
    "${s[@]}" --set strategy.mode=sync
refused "a simulated network" "found mpi, ModelParallel or groups; allowed with debug.bandwidth" "${s[@]}" \
    --set debug.bandwidth=1Gi
verdict
