#!/bin/bash
# TIMEOUT: 300
# Bounded staleness: with a slow worker the bound holds; under a scripted order leads are what the
# algorithm gives, never beyond the range, and a range of one is the bound alone, to the byte.
# shellcheck disable=SC2154 # lib.sh has repo
. tests/cli/lib.sh
# shellcheck source=tests/cli/async.sh
. "$repo/tests/cli/async.sh"

mode=bounded # of servers
# One worker is slow: the others wait for it, as far as the bound lets them go, and not a batch further.
# bounded_by BOUND SERVERS
bounded_by() {
    local bound=$1 name=bound-$1-$2 leads
    servers 3 "$2"
    result "$name" "${s[@]}" --set strategy.staleness="$bound" --set debug.slowdown='[1, 30]' >/dev/null
    same "$name: applied" "$(of "$name" applied)" 18
    leads=$(of "$name" lead | tr , '\n' | wc -l)
    if [ "$leads" -gt $((bound + 1)) ]; then fail "$name: lead $((leads - 1))"; fi
}
for bound in 0 2; do
    bounded_by $bound 2
    bounded_by $bound 0 # who waits is a server of the one that it waits for
done

# A scripted order scripts the time, and with it who is let go on beyond the bound and how far.
# bounded NAME LOW HIGH ORDER...: the digest.
bounded() {
    result "$1" "${s[@]}" --set strategy.staleness="$2" --set strategy.maxStaleness="$3" \
        --set debug.pushOrder="[$(IFS=,; echo "${*:4}")]"
}
# ranged WORKERS LOW HIGH ORDER...: the leads, and that credit was of use, or none where LOW is HIGH.
ranged() {
    local name=range-$* n=$1 first last
    name=${name// /-}
    shift
    servers "$n" 1
    first=$(bounded "$name" "$@")
    check "$name" "$first" "  -"
    last=$(tail -1 "$name/events.jsonl")
    check "histograms of $name" "$last" \
        "$(python3 "$repo/tests/cli/async_histograms.py" "$n" 9 2 "$1:$2" "${@:3}")"
    same "farthest of $name" "$(of "$name" lead | tr , '\n' | wc -l)" $(($2 + 1))
    same "$name again" "$(bounded "$name-again" "$@")" "$first"
}
ranged 2 1 1 0 0 0 1
ranged 2 1 3 0 0 0 1
ranged 2 0 2 0 0 0 0 1
ranged 3 0 3 2 2 1 2 0
# Without credit it is SSP, to the byte, however that is said.
same "no more than the bound" "$(bounded range-none 1 0 0 0 0 1)" "$(bounded range-ssp 1 1 0 0 0 1)"
if [ "$(bounded range-none-2 1 0 0 0 0 1)" = "$(bounded range-dssp 1 3 0 0 0 1)" ]; then
    fail "credit changed nothing"
fi

refused "a bound below zero" "strategy.staleness: found -1; allowed: an integer from 0" \
    "${s[@]}" --set strategy.staleness=-1
refused "a bound of async" "strategy.staleness: found, but it belongs to spec.strategy.mode: bounded" \
    "${s[@]}" --set strategy.mode=async --set strategy.staleness=1
refused "a range that is none" "strategy.maxStaleness: found less than staleness; allowed: 0, or at" \
    "${s[@]}" --set strategy.maxStaleness=2
refused "an order of two servers" "debug.pushOrder: found another mode" "${s[@]}" \
    --set replicas.ps.replicas=2 --set debug.pushOrder='[0]'
verdict
