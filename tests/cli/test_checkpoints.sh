#!/bin/bash
# TIMEOUT: 300
# Which checkpoints a run leaves, and that what continues, evaluates and predicts from them gives
# what the run itself would have: checkpoint.*, training.steps, fine-tuning, ends of epochs.
. tests/cli/lib.sh

idx_job checkpoints 3 "everyEpochs: 0, best: false, keep: 100"

# run OUT ARGUMENT...
run() { "$PACELINE" run job.yaml --json --out "$@" >"$1.json" || fail "$* ended with $?"; }
# files OUT: the steps that have a checkpoint, and best.
files() { find "$1" -name '*.safetensors' -printf '%f\n' | sed 's/checkpoint-0*//; s/.safetensors//' | sort -n | xargs; }
last() { sha256sum <"$1/checkpoint-$(printf %08d "$(files "$1" | sed 's/.* //')").safetensors"; }

# 270 samples: five batches in an epoch.
run plain
same "the last only" "$(files plain)" 15
run epochs --set checkpoint.everyEpochs=2
same "every other epoch" "$(files epochs)" "10 15"
run steps --set checkpoint.everySteps=5
same "every fifth step, the end of an epoch" "$(files steps)" "5 10 15"
run odd --set checkpoint.everySteps=4
same "every fourth step" "$(files odd)" "4 8 12 15"
run kept --set checkpoint.everySteps=1 --set checkpoint.keep=2
same "two besides the last" "$(files kept)" "13 14 15"
run none --set checkpoint.everySteps=1 --set checkpoint.keep=0
same "none besides the last" "$(files none)" 15
run best --set checkpoint.best=true --set checkpoint.keep=0 --set dataset.validationSplit=0.2
case $(files best) in "best "[0-9]*) ;; *) fail "the best: $(files best)" ;; esac
for out in epochs steps odd kept none; do same "$out, bytes" "$(last $out)" "$(last plain)"; done

# Continued: from the end of an epoch, from its middle, after its end, with steps that end there.
for from in 5 10 4 8; do
    mkdir "from$from"
    cp "$(ls steps/checkpoint-*0"$from".safetensors odd/checkpoint-*0"$from".safetensors 2>/dev/null)" "from$from"
    run "from$from" --resume --workers 2
    same "resumed at step $from" "$(last "from$from")" "$(last plain)"
    check "resumed at step $from" "$(cat "from$from.json")" "\"resumedStep\":$from"
done
# One that is damaged is said to be, with what there is without it, and nobody is sent to it again.
cp -a steps damaged
truncate -s -1 damaged/checkpoint-00000015.safetensors
for n in 1 2; do
    says=$("$PACELINE" run job.yaml --out damaged --resume --workers $n 2>&1)
    same "damaged, $n ranks, exit code" $? 3
    check "damaged, $n ranks" "$says" "damaged/checkpoint-00000015.safetensors: "
    check "damaged, $n ranks" "$says" "; the checkpoint before it is of step 10"
    case $says in *"continue with"*) fail "damaged, $n ranks: $says" ;; esac
done
rm damaged/checkpoint-00000015.safetensors
run damaged --resume --workers 2
check "without it" "$(cat damaged.json)" '"resumedStep":10'
same "without it" "$(last damaged)" "$(last plain)"
cp -a plain ended
run ended --resume
same "resumed after its end" "$(last ended)" "$(last plain)"
accuracy() { sed -n '/"event":"done"/s/.*"testAccuracy":\([0-9.]*\).*/\1/p' "$1"; }
same "resumed after its end, accuracy" "$(accuracy ended.json)" "$(accuracy plain.json)"
run seven --set training.steps=7
same "seven steps" "$(files seven)" 7
run seven --resume --set training.steps=10
run seven --resume
same "seven, ten, all" "$(last seven)" "$(last plain)"

# A batch larger than the set, of one, and more lanes than samples.
run large --set training.batchSize=1000 --set training.lanes=64
run large2 --set training.batchSize=1000 --workers 3 --set training.lanes=64 --set training.threads=2
same "one batch of all" "$(last large2)" "$(last large)"
run one --set training.batchSize=1 --set training.steps=20
same "batches of one" "$(files one)" 20
run wide --set training.lanes=1024
run wide4 --set training.lanes=1024 --workers 4
same "1024 lanes for 64 samples" "$(last wide4)" "$(last wide)"

# Of a last batch of 10 the fourth of eight ranks has more samples than of one of 11.
few=(--set training.batchSize=11 --set dataset.limit=21)
run few "${few[@]}"
run few8 "${few[@]}" --workers 8
same "a smaller batch with more samples" "$(last few8)" "$(last few)"

# L2, clipping and frozen layers, alone and together, from the weights of another run.
layers='{layers: [{type: flatten}, {type: dense, units: 20FROZEN}, {type: relu}, {type: dense, units: 4}]}'
run start --set model="${layers/FROZEN/}"
tune() {
    run "$1" --set model="${layers/FROZEN/, frozen: true}" \
        --set model.initialWeights=start/checkpoint-00000015.safetensors "${@:2}"
}
tune tuned
tune tuned2 --workers 2
same "frozen" "$(last tuned2)" "$(last tuned)"
tune clipped --set training.clipNorm=0.1 --set training.l2=0.01
tune clipped2 --set training.clipNorm=0.1 --set training.l2=0.01 --workers 3 --set training.threads=2
same "frozen, clipped, with L2" "$(last clipped2)" "$(last clipped)"
if [ "$(last clipped)" = "$(last tuned)" ]; then fail "clipping and L2 changed nothing"; fi
# tensor FILE NAME: the digest of a tensor's bytes.
tensor() {
    python3 - "$1" "$2" <<'PY'
import hashlib, json, sys
data = open(sys.argv[1], "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
begin, end = json.loads(data[8:n])[sys.argv[2]]["data_offsets"]
print(hashlib.sha256(data[n + begin:n + end]).hexdigest())
PY
}
for out in tuned clipped clipped2; do
    for part in weight bias; do
        of() { tensor "$1/checkpoint-00000015.safetensors" "dense$2.$part"; }
        same "$out, frozen $part" "$(of $out 1)" "$(of start 1)"
        if [ "$(of $out 2)" = "$(of start 2)" ]; then fail "$out: $part was not tuned"; fi
    done
done

# The L2 loss is half of l2 times the squared weights, biases apart; frozen ones do not count.
run l2 --set training.l2=0.01
cat >check_l2.py <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
want = 0
for name in sys.argv[3:]:
    begin, end = json.loads(data[8:n])[name]["data_offsets"]
    want += 0.005 * sum(v[0] ** 2 for v in struct.iter_unpack("<f", data[n + begin:n + end]))
got = [json.loads(line) for line in open(sys.argv[2])]
got = [e["l2"] for e in got if e["event"] == "epoch"][-1]
print("same" if abs(got - want) < 1e-6 * want else f"{got}, not {want}")
PY
same "L2" "$(python3 check_l2.py l2/checkpoint-00000015.safetensors l2.json dense1.weight dense2.weight)" same
same "L2, frozen" \
    "$(python3 check_l2.py clipped/checkpoint-00000015.safetensors clipped.json dense2.weight)" same

# Evaluation on any number of ranks gives what the run gave, and what follows from the predictions.
cat >check_predictions.py <<'PY'
import json, math, sys
labels = open("data/t10k-labels-idx1-ubyte", "rb").read()[8:]
evaluation = [json.loads(line) for line in open(sys.argv[1])][-1]
rows = [json.loads(line) for line in open(sys.argv[2])]
rows = [e for e in rows if e["event"] == "prediction"]
n = len(labels)
p = [row["probabilities"] for row in rows]
want = {"samples": n,
        "loss": sum(-math.log(p[i][labels[i]]) for i in range(n)) / n,
        "accuracy": sum(rows[i]["class"] == labels[i] for i in range(n)) / n,
        "top5": sum(sum(q > p[i][labels[i]] for q in p[i]) < 5 for i in range(n)) / n}
if len(p[0]) <= 5:  # every label would be among them
    assert "top5" not in evaluation
    del want["top5"]
# Macro averages as scikit-learn has them: over classes that a sample has or was named.
named = [row["class"] for row in rows]
classes = sorted(set(labels) | set(named))
right = [sum(a == b == k for a, b in zip(labels, named)) for k in classes]
mean = lambda part, all_: sum(a / b if b else 0 for a, b in zip(part, all_)) / len(classes)
of_label, of_name = [labels.count(k) for k in classes], [named.count(k) for k in classes]
want["precision"], want["recall"] = mean(right, of_name), mean(right, of_label)
want["f1"] = mean([2 * r for r in right], [a + b for a, b in zip(of_label, of_name)])
for key in want:
    if abs(evaluation[key] - want[key]) > 1e-6:
        print(key, evaluation[key], "is not", want[key])
PY
run little --set model='{layers: [{type: flatten}, {type: dense, units: 20}]}' --set training.steps=1
for step in plain/checkpoint-00000015 little/checkpoint-00000001; do
    spec=$(dirname $step)/job.json
    for workers in 1 3; do
        sed "s/\"replicas\": *1/\"replicas\": $workers/" "$spec" >evaluate.json
        ranks $workers "$PACELINE_WORKER" evaluate --spec evaluate.json \
            --checkpoint $step.safetensors >evaluation.$workers
    done
    same "evaluation on three ranks" "$(timeless <evaluation.3)" "$(timeless <evaluation.1)"
    check "evaluation" "$(cat evaluation.1)" "\"accuracy\":$(accuracy "$(dirname $step).json")"
    "$PACELINE" predict $step.safetensors --input data/t10k-images-idx3-ubyte --json >predictions ||
        fail "predict"
    check "evaluate says so" "$("$PACELINE" evaluate $step.safetensors)" "mean of the classes: precision "
    same "evaluation and predictions" "$(python3 check_predictions.py evaluation.1 predictions)" ""
done

# Many classes: the run ends well, without a matrix longer than a line of events.
run many --set model='{layers: [{type: flatten}, {type: dense, units: 1000}]}' --set training.steps=2
check "many classes" "$(cat many.json)" '"top5":'
case $(cat many.json) in *confusion* | *'"f1"'*) fail "a matrix of 1000 classes" ;; esac
check "few classes" "$(cat plain.json)" '"confusion":[['
verdict
