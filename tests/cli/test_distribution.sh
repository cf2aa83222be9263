#!/bin/bash
# TIMEOUT: 300
# Shares of the samples for workers that train alone: every kind runs, differs from the others and repeats to
# the byte, stopped or not; unequal shares; asynchronous servers; and what makes no sense is refused.
. tests/cli/lib.sh

idx_job shares 2 'best: false'
sed -i 's/batchSize: 64/batchSize: 32/' job.yaml
kind() { printf 'dataset.distribution={kind: %s%s}' "$1" "${2:+, $2}"; }
events() { tail -1 "$1/events.jsonl"; }

local=(--set strategy.type=LocalSGD --set strategy.averageEvery=2)
declare -A seen
for spec in dealt iid contiguous byLabel dirichlet replicated 'iid, reshuffleEveryEpochs: 1' 'dirichlet, alpha: 0.01' \
    'contiguous, sizes: [1, 4, 2]'; do
    n=3
    if [ "$spec" = iid ]; then n=2; fi
    out=${spec//[^a-zA-Z0-9]/}
    with=("${local[@]}" --workers "$n" --set "dataset.distribution={kind: $spec}")
    got=$(result "$out" "${with[@]}")
    check "$spec" "$got" "  -"
    same "$spec: as ${seen[$got]:-no other}" "${seen[$got]:-}" ""
    seen[$got]=$spec
    result "$out-parts" "${with[@]}" --set training.steps=$((2 * n)) >/dev/null
    same "$spec, resumed" "$(result "$out-parts" "${with[@]}" --resume)" "$got"
done

# 270 samples in batches of 32: shares of 39, 154 and 77 are 2, 5 and 3 batches, in 5 rows; replicated: 3 times 9.
same "rows" "$(events contiguoussizes142 | grep -o '"step":[0-9]*')" '"step":30'
same "replicated" "$(events replicated | grep -o '"step":[0-9]*')" '"step":54'

elastic=(--workers 2 --set strategy.type=ElasticAveraging --set "$(kind byLabel 'sizes: [1, 2]')")
one=$(result elastic "${elastic[@]}")
check "elastic" "$one" "  -"
same "elastic again" "$(result elastic-again "${elastic[@]}" --set training.threads=2)" "$one"

# Servers: the clock deals each worker its own; idle turns count, and meetings are amid an epoch.
for mode in async bounded; do
    servers=(--workers 3 --set replicas.ps.replicas=2 --set strategy.type=ParameterServer --set strategy.mode="$mode" --set strategy.waitSeconds=100
        --set "$(kind contiguous 'sizes: [1, 4, 2]')")
    result $mode "${servers[@]}" --set checkpoint.everySteps=7 >/dev/null
    check "$mode" "$(events $mode)" '"step":30'
    check "$mode" "$(events $mode)" '"pushed":20,"applied":20'
    result $mode-parts "${servers[@]}" --set training.steps=13 >/dev/null
    result $mode-parts "${servers[@]}" --resume >/dev/null
    check "$mode, resumed" "$(events $mode-parts)" '"step":30'
done
script=(--set 'debug.pushOrder=[0, 2, 1]' --workers 3 --set replicas.ps.replicas=2 --set strategy.type=ParameterServer
    --set strategy.mode=async --set "$(kind dirichlet)")
one=$(result script "${script[@]}")
check "scripted" "$one" "  -"
same "scripted again" "$(result script-again "${script[@]}")" "$one"
same "in groups" "$(result groups --workers 4 --set replicas.ps.replicas=1 --set strategy.type=ParameterServer \
    --set strategy.mode=async --set strategy.groups=2 --set "$(kind iid)" | grep -c '  -')" 1

refused() {
    local part=$1 errors
    shift
    errors=$("$PACELINE" run job.yaml --out refused "$@" 2>&1 >/dev/null)
    check "refused $*" "$errors" "$part"
}
refused "needed but for dealt: LocalSGD, ElasticAveraging, or ParameterServer with mode async or bounded" \
    --set "$(kind iid)"
refused "alpha: found, but it belongs to spec.dataset.distribution.kind: dirichlet only" \
    "${local[@]}" --set "$(kind iid 'alpha: 1')"
refused "worker 0; needed: at least 1" "${local[@]}" --workers 2 --set "$(kind iid 'sizes: [1, 1000000]')"
refused "worker 0; needed: at least 32" "${local[@]}" --workers 2 --set training.lastBatch=drop \
    --set "$(kind iid 'sizes: [1, 20]')"
checkpoint=$(find dirichlet -name 'checkpoint-*' | sort | tail -1)
"$PACELINE" evaluate "$checkpoint" >/dev/null || fail "evaluate: $?"

verdict
