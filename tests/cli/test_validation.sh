#!/bin/bash
# TIMEOUT: 200
# The validation figures of an epoch are those that its checkpoint has of the same samples: `paceline evaluate`
# gets them as the test set. Of images a share of the training samples is drawn; they are two images here, many
# times each, so that how many of each were drawn is one number, and has to be the same in every epoch.
. tests/cli/lib.sh

# field EVENTS EPOCH NAME: of an epoch.
field() { grep "\"event\":\"epoch\",\"epoch\":$2," "$1" | sed -n "s/.*\"$3\":\([^,}]*\).*/\1/p"; }
# evaluated CHECKPOINT FOLDER JOB: loss and accuracy.
evaluated() {
    "$PACELINE" evaluate "$1" --spec "$3" --set dataset.path="$2" --json |
        sed -n 's/.*"samples":\([0-9]*\),"loss":\([^,]*\),.*"accuracy":\([^,]*\),.*/\1 \2 \3/p'
}
# near A B: to the rounding of a sum in another order.
near() { python3 -c "import sys; a, b = map(float, sys.argv[1:]); sys.exit(not abs(a - b) <= 1e-9 * abs(b) + 1e-15)" "$1" "$2"; }

mkdir data first second mixed
cat >two.py <<'PY'
import random, struct, sys
folder, part, n_first, n_second = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(5)
images = [bytes(draw.randrange(256) for _ in range(64)) for _ in range(2)]
which = [0] * n_first + [1] * n_second
draw.shuffle(which)
with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as f:
    f.write(struct.pack(">IIII", 0x803, len(which), 8, 8) + b"".join(images[i] for i in which))
with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as f:
    f.write(struct.pack(">II", 0x801, len(which)) + bytes(which))
PY
for folder in data first second mixed; do python3 two.py $folder train 140 60; done
python3 two.py data t10k 8 5 # no share that 50 samples could have
python3 two.py first t10k 8 0
python3 two.py second t10k 0 8
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: validation}
spec:
  model: {name: mlp, hidden: [12]}
  dataset: {name: idx, path: data, validationSplit: 0.25}
  training: {epochs: 4, batchSize: 32, lanes: 4, threads: 1, optimizer: {learningRate: 0.001}}
  checkpoint: {keep: 100, best: false}
JOB
"$PACELINE" run job.yaml --json --out images >images.events 2>images.log || fail "$(cat images.log)"
drawn=
for epoch in 1 2 3 4; do
    checkpoint=images/checkpoint-$(printf %08d "$(field images.events $epoch step)").safetensors
    validation=$(field images.events $epoch validationLoss)
    read -r _ one _ <<<"$(evaluated "$checkpoint" first job.yaml)"
    read -r _ two _ <<<"$(evaluated "$checkpoint" second job.yaml)"
    # 50 of 200 samples; n of the first kind: validation = (n * one + (50 - n) * two) / 50
    n=$(python3 -c "print(round(50 * ($validation - $two) / ($one - $two)))")
    drawn=${drawn:-$n}
    same "epoch $epoch: drawn of the first kind" "$n" "$drawn"
    python3 two.py mixed t10k "$drawn" $((50 - drawn))
    read -r samples loss accuracy <<<"$(evaluated "$checkpoint" mixed job.yaml)"
    same "epoch $epoch: samples" "$samples" 50
    near "$loss" "$validation" || fail "epoch $epoch: validation loss $validation, evaluated $loss"
    near "$accuracy" "$(field images.events $epoch validationAccuracy)" ||
        fail "epoch $epoch: validation accuracy $(field images.events $epoch validationAccuracy), evaluated $accuracy"
done
if [ "$drawn" -lt 10 ] || [ "$drawn" -gt 49 ]; then fail "of the first kind $drawn of 50 were drawn"; fi
for epoch in 2 3 4; do
    if near "$(field images.events $epoch validationLoss)" "$(field images.events 1 validationLoss)"; then
        fail "the loss of epoch $epoch is that of the first"
    fi
done

# A text's validation file, as the test file of another folder: the same streams, so the same bytes.
rm -r data
words_job words "keep: 100, best: false"
mkdir other
cp data/train.txt other
cp data/valid.txt other/test.txt
"$PACELINE" run job.yaml --json --out text >text.events 2>text.log || fail "$(cat text.log)"
for epoch in 1 2 3; do
    checkpoint=text/checkpoint-$(printf %08d "$(field text.events $epoch step)").safetensors
    read -r _ loss accuracy <<<"$(evaluated "$checkpoint" other job.yaml)"
    same "text, epoch $epoch" "$loss $accuracy" \
        "$(field text.events $epoch validationLoss) $(field text.events $epoch validationAccuracy)"
done
verdict
