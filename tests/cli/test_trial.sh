#!/bin/bash
# A study's run that the engine refuses: the earlier run in its folder stays as it was.
. tests/cli/lib.sh
fake

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
- {name: one, seeds: 1}
variants:
- {name: slow, set: {training.optimizer.learningRate: 0.0001}}
- {name: fast, set: {training.optimizer.learningRate: 0.1}}
tables:
- {title: Rates, columns: [{title: accuracy, measure: testAccuracy, format: percent}]}
orderings:
- {text: A small rate learns less, measure: testAccuracy, rising: [slow, fast]}
YAML
runs() { find runs/study-rates-one/*-seed-* -type f -exec sha256sum {} + | sort; }
# refused NAME ARGUMENT...
refused() {
    before=$(runs)
    FAKE=no-reason "$PACELINE" study own.yaml "${@:2}" >out 2>&1
    same "$1, exit code" $? 7
    same "$1" "$(runs)" "$before"
}

FAKE=no-reason "$PACELINE" study own.yaml >out 2>&1
same "the first run is refused, exit code" $? 7
same "the first run is refused" "$(ls -d runs/study-rates-one/*-seed-* 2>/dev/null)" ""
"$PACELINE" study own.yaml >out 2>&1 || fail "a study: $(cat out)"
check "its files" "$(ls runs/study-rates-one/slow-seed-1)" "job.json"
same "nothing new is left" "$(find runs -name '*.new')" ""
refused "another job" --set training.epochs=9
# Without its end the run goes on.
sed -i '/"done"/d' runs/study-rates-one/slow-seed-1/events.jsonl
refused "a run that goes on"
rm runs/study-rates-one/slow-seed-1/*.safetensors
refused "a run that begins again"
"$PACELINE" study own.yaml >out 2>&1 || fail "a study, again: $(cat out)"
check "trained again" "$(tail -1 runs/study-rates-one/slow-seed-1/events.jsonl)" '"event": "done"'
verdict
