#!/bin/bash
# TIMEOUT: 300
# Asynchronous parameter servers: one worker is sequential SGD to the byte, every gradient pushed is
# applied, staleness and lead are what a scripted order gives.
# shellcheck disable=SC2154 # lib.sh has repo
. tests/cli/lib.sh
# shellcheck source=tests/cli/async.sh
. "$repo/tests/cli/async.sh"

adam=(--set "training.optimizer={name: adam}")

want=$(result one)
want_adam=$(result one-adam "${adam[@]}")
check "sequential" "$want" "  -"
for n in 0 1 2; do # 0: the workers are the servers
    servers 1 $n
    same "one worker, $n servers" "$(result "one-$n" "${s[@]}")" "$want"
    same "one worker, $n servers, adam" "$(result "adam-$n" "${s[@]}" "${adam[@]}")" "$want_adam"
    if [ $n -gt 0 ]; then same "always fresh" "$(of "one-$n" staleness)" "[18]"; fi
done
servers 1 2
result parts "${s[@]}" "${adam[@]}" --set training.steps=5 >/dev/null
same "resumed" "$(result parts --resume "${s[@]}" "${adam[@]}")" "$want_adam"
same "often together" "$(result meets "${s[@]}" --set checkpoint.everySteps=2 \
    --set debug.checkReplicas=3)" "$want"

# free WORKERS SERVERS [ARGUMENTS...]: nothing is lost, whoever is fast.
free() {
    local name=free-$1-$2-$#
    servers "$1" "$2"
    check "$name" "$(result "$name" "${s[@]}" "${@:3}" --set debug.slowdown='[1, 3]')" "  -"
    same "$name: pushed" "$(of "$name" pushed) $(of "$name" applied)" "18 18"
    same "$name: counted" "$(total "$name" staleness) $(total "$name" lead)" "18 18"
}
for n in 2 3 4; do
    free $n 2
    free $n 0 --set training.threads=$((n % 2 + 1)) --set debug.gradientSeconds=0.02
    free $n 0 --set strategy.placement=greedy --set debug.checkReplicas=2 --set strategy.mode=bounded
done

# scripted WORKERS ORDER...: the histograms of that order, and the same bytes again.
scripted() {
    local n=$1 name=order-$* list first
    name=${name// /-}
    shift
    list=$(IFS=,; echo "[$*]")
    servers "$n" 2
    first=$(result "$name" "${s[@]}" --set debug.pushOrder="$list")
    check "order $list" "$first" "  -"
    check "histograms of $list" "$(tail -1 "$name/events.jsonl")" \
        "$(python3 "$repo/tests/cli/async_histograms.py" "$n" 9 2 "$@")"
    same "order $list again" "$(result "$name-again" "${s[@]}" --set debug.pushOrder="$list" \
        --set debug.slowdown='[2, 1, 3]')" "$first"
    servers "$n" 0
    same "order $list, servers on the workers" \
        "$(result "$name-on" "${s[@]}" --set debug.pushOrder="$list")" "$first"
    same "histograms of $list, servers on the workers" "$(of "$name-on" staleness) $(of "$name-on" lead)" \
        "$(of "$name" staleness) $(of "$name" lead)"
}
scripted 2 0 1
scripted 2 0 0 0 1
scripted 3 2 1 1 0 2
scripted 4 3 0 0 1 0 2 0

servers 2 1 # worker 1, which is not in the list, has the batch that it began with
check "order [0]" "$(result order-zero "${s[@]}" --set debug.pushOrder='[0, 7]')" "  -"
same "order [0]" "$(of order-zero staleness)" "[16,0,0,0,0,0,0,0,2]"

# Servers on the workers: whole tensors on each, some without any, state that comes together in a checkpoint.
servers 3 0
order=("${s[@]}" "${adam[@]}" --set strategy.placement=greedy --set debug.pushOrder='[2, 0, 1, 1]')
on=$(result on "${order[@]}")
check "whole tensors" "$on" "  -"
servers 3 2
same "whole tensors on servers" "$(result on-servers "${s[@]}" "${order[@]:${#s[@]}}")" "$on"
servers 3 0
result on-meets "${order[@]}" --set training.epochs=1 >/dev/null
same "the next epoch" "$(result on-meets --resume "${order[@]}")" "$on"

# The learning rate divided by the number of workers gives the weights of the quotient. Weights are compared,
# since a checkpoint records which rate was given.
weights() { result "$@" >"$1.digest" && grep -o '"digest":"[^"]*"' "$1/events.jsonl"; }
servers 2 1
order=(--set debug.pushOrder='[0, 1, 1]')
half=$(weights rate-given "${s[@]}" "${order[@]}" --set training.optimizer.learningRate=0.03125)
check "weights" "$half" '"digest":"'
same "a divided learning rate" "$(weights rate-divided "${s[@]}" "${order[@]}" \
    --set training.optimizer.learningRate=0.0625 --set strategy.divideLearningRate=true)" "$half"
if [ "$half" = "$(weights rate-whole "${s[@]}" "${order[@]}" \
    --set training.optimizer.learningRate=0.0625)" ]; then fail "the rate changed nothing"; fi

# What ends it early ends it for all.
servers 2 2
touch stop
PACELINE_STOP_FILE=$PWD/stop "$PACELINE" run job.yaml --out stopped "${s[@]}" >stopped.log 2>&1
check "a stop" "$(tail -1 stopped/events.jsonl)" '"event":"stopped"'
check "and on" "$(result stopped --resume "${s[@]}")" "  -"
same "all of them" "$(tail -1 stopped/events.jsonl | grep -o '"step":[0-9]*')" '"step":18'
check "NaN" "$(result nan "${s[@]}" --set debug.failNan=true)" "the loss is"
# The server waits from the start for worker 1, which takes 10 s; worker 0 comes half a second later.
check "a wait" "$(result waits "${s[@]}" --set debug.pushOrder='[1, 0]' --set debug.gradientSeconds=0.01 \
    --set debug.slowdown='[50, 1000]' --set strategy.waitSeconds=1)" "waited 1 s for a note of rank 1 rank="

servers 2 0
refused "groups on servers" "found no servers; needed for StrategySwitch and for groups: replicas.ps.replicas" \
    "${s[@]}" --set strategy.groups=2
check "NaN on servers" "$(result nan-on "${s[@]}" --set debug.failNan=true)" "the loss is"
servers 2 1
refused "join" "found join, or several batches per update; allowed for async" "${s[@]}" \
    --set strategy.batch=join --set training.accumulate=2
refused "an order of sync" "debug.pushOrder: found another mode" --set debug.pushOrder='[0]'
verdict
