#!/bin/bash
# Networks that are small learn the synthetic sets, and one, two, three and four workers, which make the samples once
# per host, write the same bytes.
. tests/cli/lib.sh

# learns NAME SIZE LAYERS AT_LEAST: the test accuracy of a few epochs; then the digests of all worlds.
learns() {
    local set=$1 size=$2 layers=$3 at_least=$4 w accuracy first
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: small}
spec:
  model: {layers: [$layers]}
  dataset: {name: $set, made: {samples: 2000, classes: 4, size: $size, noise: 0.03}}
  training: {epochs: 6, batchSize: 50, lanes: 4, threads: 1, optimizer: {name: adam}}
  checkpoint: {best: false}
JOB
    "$PACELINE" run job.yaml --out "$set" --json >events 2>errors || fail "$set: $(cat errors)"
    accuracy=$(sed -n 's/.*"event":"done".*"testAccuracy":\([0-9.]*\).*/\1/p' events)
    echo "$set: test accuracy $accuracy"
    awk "BEGIN { exit !(${accuracy:-0} >= $at_least) }" ||
        fail "$set: test accuracy \"$accuracy\", at least $at_least is easy"
    for w in 1 2 3 4; do
        digest=$(result "$set-$w" --workers $w --set training.epochs=1)
        first=${first:-$digest}
        same "$set on $w workers" "$digest" "$first"
    done
}

dense='{type: flatten}, {type: dense, units: 32}, {type: relu}, {type: dense, units: 4}'
shifts='{type: conv, filters: 16, kernel: 5, padding: same}, {type: relu}'
shifts+=", $shifts, {type: flatten}, {type: dense, units: 4}"
learns patterns 21 "$dense" 0.9
learns spectra 200 "$shifts" 0.9
learns scenes 8 "$dense" 0.9

"$PACELINE" validate job.yaml >output 2>&1 || fail "validate: $(cat output)"
"$PACELINE" validate job.yaml --set dataset.name=mnist >output 2>&1 && fail "samples of MNIST were taken"
check "samples of MNIST" "$(cat output)" "spec.dataset.made"
verdict
