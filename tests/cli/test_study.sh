#!/bin/bash
# paceline study: the slice of each built-in study on small data, a study of one's own, going on where it was
# left, and its messages.
. tests/cli/lib.sh

idx_data
small=(--set "dataset={name: idx, path: data}" --set "model={name: mlp, hidden: [20]}")
study() { "$PACELINE" study "$@" 2>errors; }

for built in $("$PACELINE" study | awk 'NR > 1 { print $1 }'); do
    data=("${small[@]}")
    if [ "$built" = 001 ]; then data=(); fi # makes its own
    study "$built" --scale slice "${data[@]}" --out "slice-$built" >output ||
        fail "$built: $(cat errors output)"
    check "$built" "$(cat output)" "report: slice-$built/report.html"
    check "$built: the page" "$(cat "slice-$built/report.html")" "</html>"
done
check "a table" "$(study 002 --scale slice "${small[@]}" --out slice-002)" "servers       100.00%"
check "published" "$(cat slice-002/report.html)" "<td>92.71%</td>"

cat >own.yaml <<'YAML'
apiVersion: paceline.dev/v1
kind: Study
metadata: {name: rates}
title: Two learning rates
job:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 32, optimizer: {name: sgd}}
scales:
- {name: one, seeds: 4}
variants:
- {name: slow, set: {training.optimizer.learningRate: 0.0001}}
- {name: fast, set: {training.optimizer.learningRate: 0.1}}
tables:
- {title: Rates, columns: [{title: accuracy, measure: testAccuracy, format: percent}]}
orderings:
- {text: A small rate learns less, measure: testAccuracy, rising: [slow, fast]}
- {text: and the other way round, measure: testAccuracy, rising: [fast, slow]}
YAML
study own.yaml >output || fail "a study of one's own: $(cat errors)"
check "held" "$(cat output)" "held       A small rate learns less"
check "not held" "$(cat output)" "NOT held   and the other way round"
check "its folder" "$(ls runs/study-rates-one)" "fast-seed-4"
check "JSON" "$(study own.yaml --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(len(r["runs"]), r["orderings"][1]["verdict"])')" "8 NOT held"

# What has ended stays; what has not is trained, and what is another job now is moved aside.
at() { stat -c %Y.%i "runs/study-rates-one/$1/events.jsonl"; }
one=$(at slow-seed-1)
sed -i '/"event":"done"/d' runs/study-rates-one/fast-seed-4/events.jsonl
study own.yaml >again || fail "again: $(cat errors)"
same "what has ended" "$(at slow-seed-1)" "$one"
check "what has not" "$(tail -1 runs/study-rates-one/fast-seed-4/events.jsonl)" '"event":"done"'
same "the same tables" "$(cat again)" "$(cat output)"
study own.yaml --seeds 1 --set training.epochs=1 >output || fail "one epoch: $(cat errors)"
check "an earlier run" "$(ls runs/study-rates-one)" "slow-seed-1.1"
check "undecided" "$(cat output)" "undecided  A small rate"

refused() {
    local code=0
    study "${@:3}" >output || code=$?
    same "$1: exit code" "$code" 2
    check "$1" "$(cat errors)" "$2"
}
refused "no such study" 'there is no study "099"' 099
refused "no such scale" '--scale is "huge"; study rates has one' own.yaml --scale huge
refused "seeds" "--seeds is 101" own.yaml --seeds 101
sed -i 's/0.0001/-1/' own.yaml
refused "a job that is none" "variant slow is no job that runs" own.yaml
sed -i 's/measure: testAccuracy, rising/mesure: testAccuracy, rising/' own.yaml
refused "a key" 'own.yaml:17: found the key "mesure"; allowed: text rising' own.yaml
verdict
