#!/bin/bash
# TIMEOUT: 300
# What run refuses validate refuses, too, with the same sentence and exit code: networks against the data's
# classes, shapes and sizes, and files that are damaged. What it warns of, and that it counts a network's
# parameters with the classes that the data have.
. tests/cli/lib.sh

idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: refused}
spec:
  model: {name: mlp, hidden: [32]}
  dataset: {name: idx, path: data}
  training: {steps: 1, batchSize: 64, lanes: 8, threads: 1}
  checkpoint: {best: false}
JOB
mkdir words arrays numbers
python3 "$repo/tests/cli/make_words.py" words || exit 1
python3 "$repo/tests/cli/make_pictures.py" pictures 30 12 2>/dev/null || fail "pictures"
python3 - <<'PY' || fail "arrays"
import struct

def npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + data)

for name, n in (("train", 60), ("test", 24)):
    labels = [i % 12 for i in range(n)]
    for folder in ("arrays", "numbers"):
        npy(f"{folder}/{name}-x.npy", "<f4", (n, 5), struct.pack(f"<{5 * n}f", *(float(i % 7) for i in range(5 * n))))
    npy(f"arrays/{name}-y.npy", "<i8", (n,), struct.pack(f"<{n}q", *labels))
    npy(f"numbers/{name}-y.npy", "<f4", (n, 2), struct.pack(f"<{2 * n}f", *(i / 9 for i in range(2 * n))))
PY

# damage NAME COMMAND...: a copy of the data, changed by a command in its folder.
damage() {
    cp -a data "$1"
    (cd "$1" && "${@:2}") || fail "could not make $1"
}
poke() { printf '%b' "$2" | dd of="$1" bs=1 seek="$3" conv=notrunc status=none; }
damage missing rm train-labels-idx1-ubyte
damage short truncate -s -100 train-images-idx3-ubyte
damage headless truncate -s 3 t10k-images-idx3-ubyte
damage magic poke train-images-idx3-ubyte '\x08\x01' 0
damage fewer poke train-labels-idx1-ubyte '\x00\x00\x01\x0d' 4
damage flat "python3" "$repo/tests/cli/make_idx.py" . 270 40 5 4

# refused NAME CODE SENTENCE ARGUMENT...: both end with CODE, and say the same, of which SENTENCE is a part.
refused() {
    local what=$1 code=$2 sentence=$3 run valid
    shift 3
    run=$("$PACELINE" run job.yaml --out "run$((n++))" "$@" 2>&1 >/dev/null)
    same "$what, exit code of run" $? "$code"
    valid=$("$PACELINE" validate job.yaml "$@" 2>&1 >/dev/null)
    same "$what, exit code of validate" $? "$code"
    run=$(grep -v 'there is no checkpoint yet' <<<"${run//paceline run: /}")
    same "$what" "${valid//job.yaml: /}" "${run//job.yaml: /}"
    check "$what" "$valid" "$sentence"
}
n=0
layers() { echo "model={layers: [$1]}"; }
DENSE='{type: flatten}, {type: dense, units:'

refused "no folder" 3 nowhere --set dataset.path=nowhere
refused "a missing file" 3 train-labels-idx1-ubyte --set dataset.path=missing
refused "a truncated file" 3 short/train-images-idx3-ubyte --set dataset.path=short
refused "a file of three bytes" 3 t10k-images-idx3-ubyte --set dataset.path=headless
refused "a wrong magic number" 3 magic --set dataset.path=magic
refused "fewer labels than images" 3 269 --set dataset.path=fewer
refused "outputs" 2 "the last layer has 3 outputs, but the data have 4 classes" --set "$(layers "$DENSE 3}")"
refused "no flat output" 2 "the last layer gives a 2x26x26 image" --set "$(layers '{type: conv, filters: 2, kernel: 3}')"
refused "a large kernel" 2 "conv1: its 9x9 kernel does not fit into the 5x4 image" --set dataset.path=flat \
    --set "$(layers "{type: conv, filters: 2, kernel: 9}, $DENSE 4}")"
refused "lastBatch drop" 2 "512 with lastBatch drop; at most the 270 training samples" \
    --set training.batchSize=512 --set training.lastBatch=drop
refused "lastBatch drop of a part" 2 "64 with lastBatch drop; at most the 27 training samples" \
    --set dataset.validationSplit=0.9 --set training.lastBatch=drop
refused "a small validation split" 2 "0.001 of 270 samples is 0; 1 to 269 are allowed" --set dataset.validationSplit=0.001
refused "a wide border" 2 "28 for images of 28x28; allowed: less than either" --set dataset.augment.pad=28
refused "outputs for arrays" 2 "the last layer has 10 outputs, but the data have 12 classes" \
    --set dataset='{name: arrays, path: arrays}' --set "$(layers "$DENSE 10}")"
refused "outputs for rows of numbers" 2 "the last layer has 1 outputs, but each label has a row of 2 values" \
    --set dataset='{name: arrays, path: numbers}' \
    --set 'model={loss: mse, layers: [{type: flatten}, {type: dense, units: 1}]}'
refused "outputs for pictures" 2 "the last layer has 2 outputs, but the data have 3 classes" \
    --set dataset='{name: images, path: pictures/images, imageSize: 8}' --set "$(layers "$DENSE 2}")"
refused "outputs for words" 2 "the last layer has 9 outputs, but the data have 10 different words" \
    --set dataset='{name: text, path: words, steps: 7}' --set training.batchSize=12 --set training.lanes=4 \
    --set "$(layers '{type: embedding, vocabulary: 10, units: 5}, {type: dense, units: 9}')"
refused "a small vocabulary" 2 "has a vocabulary of 9, but the data have 10" \
    --set dataset='{name: text, path: words, steps: 7}' --set training.batchSize=12 --set training.lanes=4 \
    --set "$(layers '{type: embedding, vocabulary: 9, units: 5}, {type: dense, units: 10}')"
refused "made classes" 2 "the last layer has 3 outputs, but the data have 6 classes" \
    --set 'dataset={name: patterns, made: {samples: 100, classes: 6, size: 12}}' --set "$(layers "$DENSE 3}")"
refused "an unknown field" 2 batchSize --set training.batchsize=3

# A set that is not here has the classes that were published.
"$PACELINE" validate job.yaml --set 'dataset={name: cifar100}' --set "$(layers "$DENSE 99}")" >out 2>errors
code=$?
if [ ! -e "${PACELINE_DATA:-$HOME/.local/share/paceline}/cifar100" ]; then
    same "outputs for a set that is not here, exit code" $code 2
fi
check "outputs for a set that is not here" "$(cat errors)" \
    "the last layer has 99 outputs, but the data have 100 classes"

# taken NAME ARGUMENT...: both take it, and agree on the parameters.
taken() {
    local what=$1
    shift
    "$PACELINE" run job.yaml --out "taken$((n++))" --json "$@" >events 2>errors || fail "$what: $(cat errors)"
    "$PACELINE" validate job.yaml --json "$@" >valid 2>errors || fail "$what: $(cat errors)"
    same "$what, parameters" "$(python3 -c 'import json; print(json.load(open("valid"))["parameters"])')" \
        "$(sed -n 's/.*"event":"start".*"params":\([0-9]*\).*/\1/p' events)"
}
taken "four classes"
taken "twelve classes" --set dataset='{name: arrays, path: arrays}'
taken "three classes" --set dataset='{name: images, path: pictures/images, imageSize: 8}' \
    --set "$(layers "$DENSE 3}")"

# warned SENTENCE ARGUMENT...
warned() {
    local sentence=$1
    shift
    "$PACELINE" validate job.yaml "$@" >out 2>errors || fail "$sentence: $(cat errors)"
    check "$sentence" "$(cat errors)" "warning: $sentence"
}
silent() { same "no warning of $*" "$("$PACELINE" validate job.yaml "$@" 2>&1 >/dev/null)" ""; }
silent --set training.batchSize=270
warned "spec.training.batchSize: found 271 for 270 training samples; each epoch is one update of all of them" \
    --set training.batchSize=271
warned "spec.training.batchSize: found 64 for 30 training samples" --set dataset.limit=30
echo text >pictures/images/train/"$(ls pictures/images/train | head -1)"/notes.txt
warned "spec.dataset.path: found 1 file that end" --set dataset='{name: images, path: pictures/images, imageSize: 8}' \
    --set training.batchSize=8 --set "$(layers "$DENSE 3}")"
check "the file that is skipped" "$(cat errors)" "/notes.txt"
warned "spec.replicas: found 4 ranks of 64 threads for the" --workers 4 --set training.threads=64
warned "spec.checkpoint.best: found true without a validation set; the test set chooses the best checkpoint, so the test result is too good; dataset.validationSplit" --set checkpoint.best=true
silent --set checkpoint.best=true --set dataset.validationSplit=0.1

verdict
