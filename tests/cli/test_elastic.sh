#!/bin/bash
# TIMEOUT: 900
# ElasticAveraging: the centre is what the paper's equations give over runs of plain SGD, to the byte; runs
# repeat whatever is saved meanwhile; the workers' momentum is kept apart; the centre learns.
. tests/cli/lib.sh

newest() { find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1; }
# elastic WORKERS EVERY: the options, in the array `s`.
elastic() { s=(--workers "$1" --set strategy.type=ElasticAveraging --set strategy.averageEvery="$2"); }

# Without momentum and dropout, in the order of the files: rows of whole batches, a meeting at their end.
mkdir plain && cd plain && idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: plain}
spec:
  model: {layers: [{type: flatten}, {type: dense, units: 9}, {type: relu}, {type: dense, units: 4}]}
  dataset: {name: idx, path: data, shuffle: false}
  training: {epochs: 3, batchSize: 32, lanes: 8, threads: 1, optimizer: {momentum: 0}}
  checkpoint: {best: false}
JOB
# oracle WORKERS ROWS FORCE
oracle() {
    elastic "$1" "$2"
    result "run-$1-$2" "${s[@]}" --set strategy.elasticForce="$3" --set dataset.limit=$(($1 * $2 * 32)) \
        >/dev/null
    python3 "$repo/tests/cli/elastic_oracle.py" job.yaml data 32 "$1" "$2" 3 "$3" centre.safetensors ||
        fail "the oracle of $*"
    same "$1 workers, $2 updates, force $3" "$(python3 "$repo/tests/cli/difference.py" \
        centre.safetensors "$(newest "run-$1-$2")")" "0.0"
}
oracle 1 1 0.5
oracle 2 2 0.25
oracle 3 2 0.3
oracle 4 1 0.1
elastic 3 2
limit=(--set dataset.limit=192)
same "0.9 / workers" "$(result given "${s[@]}" "${limit[@]}" --set strategy.elasticForce=0.3)" \
    "$(result absent "${s[@]}" "${limit[@]}")"
cd .. || exit

conv_job elastic
nesterov=(--set training.optimizer.nesterov=true)
for n in 1 2 3 4; do
    # What is saved or compared at a meeting that is there anyway has no influence: workers stay out.
    elastic $n 1
    once=(--set training.epochs=1)
    first=$(result "once-$n" "${s[@]}" "${nesterov[@]}" "${once[@]}")
    check "$n workers, an epoch" "$first" "  -"
    same "$n workers, saved" "$(result "saved-$n" "${s[@]}" "${nesterov[@]}" "${once[@]}" \
        --set checkpoint.everySteps=$n)" "$first"
    same "$n workers, compared" "$(result "compared-$n" "${s[@]}" "${nesterov[@]}" "${once[@]}" \
        --set debug.checkReplicas=$((2 * n)))" "$first"
    elastic $n 2
    first=$(result "first-$n" "${s[@]}" "${nesterov[@]}")
    check "$n workers" "$first" "  -"
    same "$n workers again" "$(result "again-$n" "${s[@]}" "${nesterov[@]}" --set training.threads=2 \
        --set debug.slowdown='[1, 3]')" "$first"
done
adam=(--set "training.optimizer={name: adam}" --set training.clipNorm=0.5 --set training.epochs=1)
same "adam, clipped" "$(result adam "${s[@]}" "${adam[@]}")" "$(result adam-2 "${s[@]}" "${adam[@]}" \
    --set checkpoint.everySteps=8)"
if [ "$first" = "$(result other "${s[@]}" "${nesterov[@]}" --set strategy.elasticForce=0.01)" ]; then
    fail "elasticForce changed nothing"
fi

# A resumed run begins at the centre, on any number of workers, and always in the same way.
result parts "${s[@]}" --set training.epochs=1 >/dev/null
cp -r parts parts-2
cp -r parts parts-3
resumed=$(result parts --resume "${s[@]}")
check "resumed" "$resumed" "  -"
same "resumed again" "$(result parts-2 --resume "${s[@]}")" "$resumed"
elastic 2 3
check "on other workers" "$(result parts-3 --resume "${s[@]}")" "  -"
same "nothing left to do" "$(result parts-3 --resume --workers 3 --set strategy.type=ElasticAveraging)" \
    "$(sha256sum <"$(newest parts-3)")"

elastic 4 2
result learns "${s[@]}" --set training.epochs=8 >/dev/null
losses=$(grep '"event":"epoch"' learns/events.jsonl | grep -o '"testLoss":[0-9.]*' | cut -d: -f2 |
    sed -n '1p;$p')
# shellcheck disable=SC2086
if ! awk 'BEGIN { exit !(ARGV[2] < 0.7 * ARGV[1]) }' $losses; then fail "losses: $losses"; fi

refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
refused "a strong pull" "strategy.elasticForce: found more than its share for 4 workers; allowed: at most" \
    "${s[@]}" --set strategy.elasticForce=0.26
refused "a push" "strategy.elasticForce: found -0.1; allowed: a number from 0 to 1" "${s[@]}" \
    --set strategy.elasticForce=-0.1
refused "of LocalSGD" "elasticForce: found, but it belongs to spec.strategy.type: ElasticAveraging only" \
    --set strategy.type=LocalSGD --set strategy.elasticForce=0.1
"$PACELINE" run job.yaml --out strong --workers 2 --set strategy.type=ElasticAveraging \
    --set strategy.elasticForce=0.5 >/dev/null
check "a strong pull in a larger world" "$(ranks 3 "$PACELINE_WORKER" run --spec strong/job.json \
    --out nothing 2>&1)" "spec.strategy.elasticForce: 0.5 for 3 workers; allowed: at most 1 / workers"
verdict
