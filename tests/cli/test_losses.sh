#!/bin/bash
# TIMEOUT: 500
# Labels that are numbers or bits: each loss is learnt, its metrics are those that plain Python computes from the
# checkpoint, and it trains to the same bytes on any number of workers, threads and instruction sets, by every strategy that
# promises so; the others train it, too. Best checkpoints and early stopping go by metrics; what does not fit is refused.
# shellcheck disable=SC2154 # lib.sh sets repo and want
. tests/cli/lib.sh

python3 "$repo/tests/cli/make_values.py" data 800 203 || exit 1
# job LOSS FOLDER OUTPUTS [LAYER]
job() {
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: losses}
spec:
  model:
    loss: $1
    layers:
      - {type: flatten}
      - {type: dense, units: 24, name: dense1}
      - {type: relu, name: middle}
      ${4:-}
      - {type: dense, units: $3, name: dense2, inputs: [middle]}
  dataset: {name: arrays, path: data/$2}
  training: {epochs: 15, batchSize: 32, lanes: 8, threads: 1, optimizer: {name: adam, learningRate: 0.01}}
JOB
}
# last NAME FIELD: of its event done.
last() { tail -1 "$1/events.jsonl" | sed -n "s/.*\"$2\":\([-0-9.e+]*\).*/\1/p"; }
# above NAME FIELD LEAST
above() { awk "BEGIN { exit !(\"$(last "$1" "$2")\" + 0 > $3) }" || fail "$1: $2 is $(last "$1" "$2"), not above $3"; }
newest() { find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1; }

# oracle NAME LOSS FOLDER: what evaluate says is what plain Python computes, but for what floats lose.
oracle() {
    "$PACELINE" evaluate "$(newest "$1")" --json >evaluated 2>&1 || fail "evaluate $1: $(cat evaluated)"
    python3 "$repo/tests/cli/values_oracle.py" "data/$3" "$(newest "$1")" "$2" >want || fail "the oracle of $1"
    python3 - "$1" <<'END' || fail "$1: $(cat evaluated want)"
import json, sys
got, want = json.loads(open("evaluated").read().splitlines()[-1]), json.load(open("want"))
done = json.loads(open(sys.argv[1] + "/events.jsonl").read().splitlines()[-1])
metrics = {k for k in got if k not in ("event", "samples", "time")}
assert metrics == set(want), (metrics, set(want))
for name, value in want.items():
    assert abs(got[name] - value) <= 2e-6 * max(1, abs(value)), (name, got[name], value)
    assert done["test" + name[0].upper() + name[1:]] == got[name], (name, done)
assert got["samples"] == 203
END
}

# A folder for each loss: trained, and evaluated.
for loss in mse mae huber; do
    job $loss numbers 2
    [ $loss = huber ] && sed -i 's/loss: huber/loss: huber\n    huberDelta: 1.5/' job.yaml
    result $loss >/dev/null
    above $loss testR2 0.9
    oracle $loss $loss numbers
done
job sigmoidCrossEntropy bits 5
result bits >/dev/null
above bits testF1 0.8
above bits testBinaryAccuracy 0.9
oracle bits sigmoidCrossEntropy bits

# One order of sums, also of the scores: the events' figures of the set do not depend on who computes them. A side
# output has its own loss of the same labels.
figures() { tail -1 "$1/events.jsonl" | grep -o '"test[A-Z][A-Za-z0-9]*":[-0-9.e+]*\|"best[A-Z][A-Za-z]*":[-0-9.e+]*'; }
# alike NAME WORKERS OPTION...: trains to the bytes and figures of the first run.
alike() {
    local name=$1 workers=$2 set=()
    shift 2
    for option; do set+=(--set "$option"); done
    same "$loss: $name" "$(result "$name" --workers "$workers" "${set[@]}")" "$want"
    same "$loss: figures of $name" "$(figures "$name")" "$(figures base)"
}
for kind in "huber numbers 2" "sigmoidCrossEntropy bits 5"; do
    read -r loss folder outputs <<<"$kind"
    rm -rf base ranks* threads isa-* servers* sharded split* parts joined* free-*
    job "$loss" "$folder" "$outputs" "- {type: dense, units: $outputs, name: side, lossWeight: 0.3}"
    sed -i 's/epochs: 15/epochs: 3/' job.yaml
    # Numbers that are learnt badly: R2 is far below 0, and its last digits are those of the sum of squares.
    [ "$loss" = huber ] && sed -i 's/learningRate: 0.01/learningRate: 0.00001/' job.yaml
    one_order
    alike servers 2 strategy.type=ParameterServer replicas.ps.replicas=2
    alike sharded 3 training.optimizer.sharded=true
    alike split2 2 'strategy={type: ModelParallel}'
    alike split3 3 'strategy={type: ModelParallel, microBatches: 4, layerPlacement: [0, 0, 0, 1, 2]}'
    for n in 2 3 4; do same "$loss: figures of $n ranks" "$(figures "ranks$n")" "$(figures base)"; done
    [ "$(figures base | wc -l)" -ge 6 ] || fail "$loss: few figures: $(figures base)"
    result parts --set training.steps=30 >/dev/null
    same "$loss: resumed within an epoch" "$(result parts --resume --workers 2)" "$want"
    same "$loss: its figures" "$(figures parts)" "$(figures base)"
    same "$loss: its epoch" "$(grep '"event":"epoch"' parts/events.jsonl | grep '"epoch":2' | grep -o '"loss":.*"l2"')" \
        "$(grep '"event":"epoch"' base/events.jsonl | grep '"epoch":2' | grep -o '"loss":.*"l2"')"
    joined=$(result joined1 --set training.accumulate=2)
    same "$loss: join" "$(result joined2 --workers 2 --set strategy.batch=join --set training.accumulate=2)" "$joined"
    free_strategies
    check "$loss: shares of workers" "$(result shares --workers 2 --set dataset.distribution.kind=iid \
        --set strategy.type=LocalSGD)" "  -"
    rm -r shares
done

# The best checkpoint is the one with the least loss; a rule that watches r2 stops where the events say.
job mse numbers 2
sed -i 's/optimizer: {/earlyStopping: {monitor: r2, patience: 2, minDelta: 0.01}, &/; s/epochs: 15/epochs: 40/
    s/path: data.numbers/&, validationSplit: 0.25/' job.yaml
early=$(result early)
same "3 workers stop early alike" "$(result early3 --workers 3)" "$early"
same "they are told alike" "$(tail -1 early3/events.jsonl | grep -o '"stoppedEarly":{[^}]*}')" \
    "$(tail -1 early/events.jsonl | grep -o '"stoppedEarly":{[^}]*}')"
python3 - early <<'END' || fail "early stopping by r2, or the best: $(tail -1 early/events.jsonl)"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
epochs, done = [e for e in events if e["event"] == "epoch"], events[-1]
best, at = None, 0
for e in epochs:
    if best is None or e["validationR2"] - 0.01 > best:
        best, at = e["validationR2"], e["epoch"]
    if e["epoch"] - at >= 2:
        break
stopped = done["stoppedEarly"]
assert e is epochs[-1] and e["epoch"] < 40, (e["epoch"], len(epochs))
assert (stopped["monitor"], stopped["bestEpoch"], stopped["epoch"]) == ("r2", at, e["epoch"]), stopped
least = min(epochs, key=lambda e: e["validationLoss"])
assert (done["bestLoss"], done["bestStep"]) == (least["validationLoss"], least["step"]), (done, least)
assert {"mae", "rmse"} < set(epochs[0]) and "accuracy" not in epochs[0] and "r2" not in epochs[0]
END

# By f1, which follows from counts: workers that saw others would stop at other epochs, and wait for ever.
job sigmoidCrossEntropy bits 5
sed -i 's/optimizer: {/earlyStopping: {monitor: f1, patience: 2, minDelta: 0.01}, &/; s/epochs: 15/epochs: 40/
    s/path: data.bits/&, validationSplit: 0.25/' job.yaml
stops=$(result stops)
same "2 workers stop early by f1" "$(result stops2 --workers 2)" "$stops"
check "by f1" "$(tail -1 stops2/events.jsonl)" '"monitor":"f1"'

# refused NAME TEXT OPTION...
refused() {
    local name=$1 text=$2 set=()
    shift 2
    for option; do set+=(--set "$option"); done
    "$PACELINE" run job.yaml --out refused "${set[@]}" >refused.log 2>&1 && fail "$name: it ran"
    check "$name" "$(cat refused.log)" "$text"
    rm -rf refused
}
job mse numbers 2
# put PATH TYPE SHAPE HEX
put() {
    rm -rf bad && cp -r data/numbers bad
    python3 - "$repo" "$@" <<'END'
import sys
repo, path, descr, shape, data = sys.argv[1:]
sys.argv = ["", "", "0", "0"]
sys.path.insert(0, repo + "/tests/cli")
import make_arrays
open(path, "wb").write(make_arrays.npy(descr, shape, bytes.fromhex(data)))
END
}
bad=dataset.path=bad
refused "another width" "the last layer has 2 outputs, but each label has a row of 5 values" dataset.path=data/bits
refused "floats as classes" "train-y.npy: found 2 floats per sample; needed: one integer, the class; numbers need spec.model.loss" \
    model.loss=softmaxCrossEntropy
refused "numbers as bits" "train-y.npy: label " model.loss=sigmoidCrossEntropy
check "the reason" "$(cat refused.log)" "allowed with sigmoidCrossEntropy: 0 and 1"
refused "images" "a loss that takes numbers as labels, but the labels of this data are classes" dataset.name=mnist
refused "shares by label" "shares by label, but the labels are not classes" dataset.distribution.kind=byLabel \
    replicas.worker.replicas=2
refused "accuracy of numbers" "a metric that does not fit the loss" \
    'training.earlyStopping={monitor: accuracy, patience: 1}' dataset.validationSplit=0.2
refused "r2 of a training" "no validation samples, which the metric needs" \
    'training.earlyStopping={monitor: r2, patience: 1}'
refused "a delta of mse" "huberDelta: found, but it belongs to spec.model.loss: huber only" model.huberDelta=2
put bad/train-y.npy '<f8' '(800, 2)' "000000000000f87f$(printf '%025584d' 0)"
refused "NaN" "bad/train-y.npy: the label of sample 0 has a value that is not finite" $bad
put bad/test-y.npy '<f4' '(203, 1)' "$(printf '%01624d' 0)"
refused "another row" "bad/test-y.npy: found labels of 1 values; $dir/bad/train-y.npy has 2" $bad
put bad/train-y.npy '<f4' '(800, 1, 2)' "$(printf '%012800d' 0)"
refused "a matrix" "bad/train-y.npy: found labels of 2 dimensions" $bad
put bad/train-y.npy '<f4' '(799, 2)' "$(printf '%012784d' 0)"
refused "too few" "bad/train-x.npy: found 800 samples; $dir/bad/train-y.npy has 799 labels" $bad
check "validate" "$("$PACELINE" validate job.yaml --set $bad 2>&1)" "has 799 labels"

# Numbers in one column, without a second dimension, and as integers.
put bad/test-y.npy '<i4' '(203,)' "$(printf '%01624d' 0)"
python3 - bad "$repo" <<'END'
import struct, sys
folder, repo = sys.argv[1:]
sys.argv = ["", "", "0", "0"]
sys.path.insert(0, repo + "/tests/cli")
import make_arrays
open(folder + "/train-y.npy", "wb").write(make_arrays.npy("<i4", (800,), struct.pack("<800i", *(i % 7 for i in range(800)))))
END
sed -i 's/units: 2, name: dense2/units: 1, name: dense2/' job.yaml
check "one column of integers" "$(result column --set $bad)" "  -"
same "a test set of one label: r2 is 0" "$(last column testR2)" 0
verdict
