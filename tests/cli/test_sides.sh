#!/bin/bash
# TIMEOUT: 400
# Side outputs, with local response normalisation: the same bytes on any number of workers, threads and
# servers; a run that is resumed; what they add to the training loss, and that evaluation knows nothing of
# them; every other strategy trains them, and ModelParallel to the same bytes; what cannot be is refused.
. tests/cli/lib.sh

idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: sides}
spec:
  model:
    layers:
      - {type: conv, filters: 18, kernel: 3, stride: 2, padding: same}
      - {type: relu}
      - {type: lrn, name: trunk, alpha: 0.01, k: 1}
      - {type: avgpool, kernel: 5, stride: 3}
      - {type: flatten}
      - {type: dropout, rate: 0.7}
      - {type: dense, units: 4, name: side, lossWeight: 0.3}
      - {type: conv, filters: 20, kernel: 3, stride: 2, padding: same, inputs: [trunk]}
      - {type: relu, name: high}
      - {type: globalavgpool}
      - {type: dense, units: 4, name: other, lossWeight: 0.1}
      - {type: flatten, inputs: [high]}
      - {type: dense, units: 4}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 48, lanes: 8, threads: 1}
  checkpoint: {best: false}
JOB
servers=(--set strategy.type=ParameterServer)

want=$(result base)
check "the first run" "$want" "  -"
for n in 2 3 4; do same "$n ranks" "$(result "ranks$n" --workers $n)" "$want"; done
same "3 threads" "$(result threads --set training.threads=3)" "$want"
same "2 workers, 2 servers" "$(result servers2 --workers 2 "${servers[@]}" --set replicas.ps.replicas=2)" "$want"
same "sharded" "$(result sharded --workers 3 --set training.optimizer.sharded=true)" "$want"
for isa in c avx2 avx512 neon; do
    got=$(result "isa-$isa" "PACELINE_ISA=$isa")
    case $got in *"PACELINE_ISA=$isa"*) echo "this CPU has no $isa" ;; *) same "$isa" "$got" "$want" ;; esac
done
joined=$(result joined1 --set training.accumulate=2)
same "join" "$(result joined2 --workers 2 --set strategy.batch=join --set training.accumulate=2)" "$joined"
"$PACELINE" run job.yaml --out resumed --set training.epochs=1 >resumed.log 2>&1 || fail "$(cat resumed.log)"
same "resumed" "$(result resumed --resume --workers 2)" "$want"
result learns --set training.epochs=12 >/dev/null
check "it learns" "$(cat learns.log)" "test accuracy  100.00%"

for s in "type: ParameterServer, mode: async" "type: LocalSGD" "type: ElasticAveraging"; do
    got=$(result "free-${s//[^A-Za-z]/}" --workers 2 --set "strategy={$s}" --set "replicas.ps.replicas=$([[ $s = *async* ]] && echo 1 || echo 0)")
    check "$s" "$got" "  -"
done

# epochs FILE: training loss and test loss of each epoch.
epochs() {
    python3 - "$1" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e.get("event") == "epoch":
        print(e["loss"], e["testLoss"])
PY
}

# A side output that is zero and stays so has a loss of ln 4, whatever is below, and gives no gradient: with it
# the training loss is its weight times that larger, the test loss the same, and so are all other weights.
frozen() { sed "s/units: 4, name: $1, lossWeight: [0-9.]*/units: 4, name: $1, initializer: zero, bias: false, frozen: true, lossWeight: $2/"; }
cp job.yaml sides.yaml
frozen side 0.5 <sides.yaml | frozen other 0.25 >job.yaml
result zero >/dev/null
frozen side 2 <sides.yaml | frozen other 1 >job.yaml
result heavy --workers 2 >/dev/null
paste <(epochs zero/events.jsonl) <(epochs heavy/events.jsonl) >losses
if ! python3 - losses <<'PY'; then fail "the losses with weights 0.75 and 3: $(cat losses)"; fi
import math, sys
rows = [[float(v) for v in line.split()] for line in open(sys.argv[1])]
assert len(rows) == 2, rows
for light, test, heavy, same in rows:
    assert abs(heavy - light - (3 - 0.75) * math.log(4)) < 1e-5, (light, heavy)
    assert test == same, (test, same)
PY
weights() { grep -o '"digest":"[^"]*"' "$1/events.jsonl"; }
check "a digest" "$(weights zero)" '"digest":"'
same "weights" "$(weights heavy)" "$(weights zero)"
cp sides.yaml job.yaml

# Split over workers: who has a side output computes its loss, in parts of the batch too, and tells the worker of
# the last layer, wherever they are.
split=(--set strategy.type=ModelParallel)
for n in 2 3 4; do
    same "split over $n" "$(result "split$n" --workers $n "${split[@]}")" "$want"
    same "split over $n, micro-batches" \
        "$(result "micro$n" --workers $n "${split[@]}" --set strategy.microBatches=8)" "$want"
    same "split over $n: the same epochs" "$(epochs "micro$n/events.jsonl")" "$(epochs base/events.jsonl)"
done
same "split, 2 threads" "$(result split-threads --workers 2 "${split[@]}" --set training.threads=2)" "$want"
for placement in 0,0,0,1,1,1,2,1,1,2,1,0,0 2,2,2,0,0,1,2,1,1,0,1,2,2 1,1,2,0,0,0,1,2,2,2,0,1,0 0,0,0,0,0,0,2,1,1,1,1,1,1; do
    by_hand=placed-${placement//,/}
    same "placed $placement" "$(result "$by_hand" --workers 3 "${split[@]}" \
        --set strategy.layerPlacement="[$placement]" --set strategy.microBatches=2)" "$want"
    same "placed $placement: the same epochs" "$(epochs "$by_hand/events.jsonl")" "$(epochs base/events.jsonl)"
done

# Stopped amid an epoch, and resumed: by one, and from one.
micro=("${split[@]}" --workers 3 --set strategy.microBatches=4)
result parts "${micro[@]}" --set training.steps=8 >/dev/null
result whole --set training.steps=8 >/dev/null
same "the same file amid an epoch" "$(cat parts/*-00000008.safetensors | sha256sum)" \
    "$(cat whole/*-00000008.safetensors | sha256sum)"
same "resumed by one" "$(result parts --resume)" "$want"
same "resumed by three" "$(result whole --resume "${micro[@]}")" "$want"
# The training loss that earlyStopping watches has the side outputs in it.
early=(--set training.epochs=8 --set checkpoint.best=true --set "training.earlyStopping={patience: 1, minDelta: 0.4}")
end() { # NAME: where it stopped, and its best epoch's checkpoint.
    grep -o '"stoppedEarly":{[^}]*}' "$1/events.jsonl"
    sha256sum <"$1/best.safetensors"
}
want_early=$(result early1 "${early[@]}")
check "it stops early" "$(end early1)" stoppedEarly
same "stopped early, split" "$(result early3 "${early[@]}" "${micro[@]}")" "$want_early"
same "the same end" "$(end early3)" "$(end early1)"

# What is sent is what `paceline split` says, and nothing of side outputs for evaluation. The first placement has
# the 512 floats that avgpool1 gives on the other worker, and there a dense layer with its momentum; the second
# the flatten2 that takes another worker's map.
sent() { tail -1 "$1/events.jsonl" | grep -o '"bytesSent":[0-9]*' | cut -d: -f2; }
# planned PLACEMENT: the bytes of a sample.
planned() {
    "$PACELINE" split job.yaml --workers 3 "${split[@]}" --set strategy.layerPlacement="[$1]" |
        sed -n 's/^by hand: \([0-9]*\) bytes.*/\1/p'
}
# steps N PLACEMENT: what N steps send.
steps() {
    result "sent-$1-${2//,/}" --workers 3 "${split[@]}" --set strategy.layerPlacement="[$2]" \
        --set training.steps="$1" --set checkpoint.everyEpochs=0 >/dev/null
    sent "sent-$1-${2//,/}"
}
aside=0,0,0,0,0,1,1,0,0,0,0,0,0
same "planned" "$(planned $aside)" $((4 * 2 * 512))
same "sent, and not for evaluation" "$(steps 1 $aside)" $((48 * 4 * 2 * 512 + 2 * 4 * (18 * 16 * 4 + 4)))
for placement in 0,0,0,1,1,1,1,0,0,0,0,2,2 0,0,0,1,1,1,1,0,0,2,2,2,1; do
    same "sent $placement" $(($(steps 3 $placement) - $(steps 1 $placement))) $((2 * 48 * $(planned $placement)))
done

sed 's/lossWeight: 0.1/lossWeight: 0/' job.yaml >other.yaml
check "nothing" "$("$PACELINE" validate other.yaml 2>&1)" "layer other: no layer takes its output"
sed 's/units: 4, name: other/units: 5, name: other/' job.yaml >other.yaml
check "other classes" "$("$PACELINE" validate other.yaml 2>&1)" "layer other: its output with a lossWeight is 5x1x1; needed: 4x1x1"
sed 's/name: high/name: high, lossWeight: 1/' job.yaml >other.yaml
check "taken" "$("$PACELINE" validate other.yaml 2>&1)" "layer high: found lossWeight 1, but a layer takes its output"

verdict
