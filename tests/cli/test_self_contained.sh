#!/bin/bash
# TIMEOUT: 300
# A checkpoint alone, moved to another folder, is enough: evaluate, predict and --resume need nothing
# that lay beside it. What it says of its job does not depend on how the work was shared or cut, and a
# job that would compute another model is refused by the name of the field.
. tests/cli/lib.sh
idx_job alone 3 "keep: 100"

# run OUT ARGUMENT...
run() { "$PACELINE" run job.yaml --json --out "$@" >"$1.json" 2>"$1.log" || fail "$* ended with $?: $(cat "$1.log")"; }
# meta FILE KEY: an item of its metadata.
meta() {
    python3 - "$1" "$2" <<'PY'
import json, sys
data = open(sys.argv[1], "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
print(json.loads(data[8:n])["__metadata__"].get(sys.argv[2], "none"))
PY
}
evaluate() { "$PACELINE" evaluate "$@" --json | timeless; }
# move FILE FOLDER: only the checkpoint.
move() { mkdir "$2" && cp "$1" "$2"; }
middle=checkpoint-00000005.safetensors
last=checkpoint-00000015.safetensors

run whole --set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5
run shared --set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5 --workers 3 --threads 2 \
    --set dataset.staging=stream --set checkpoint.everySteps=1
for file in $middle $last; do
    cmp whole/$file shared/$file || fail "$file depends on how the work is shared"
done
same "version" "$(meta whole/$last version)" "$("$PACELINE" --version | cut -d' ' -f2)"
same "classes" "$(meta whole/$last classes)" 4
same "shape" "$(meta whole/$last shape)" "[1,28,28]"
check "what it was normalised by" "$(meta whole/$last spec)" '"normalize":{"mean":0.25,"std":0.5}'
case $(meta whole/$last spec) in
*path* | *replicas* | *threads* | *epochs*) fail "the spec has what may change: $(meta whole/$last spec)" ;;
esac

# Beside its job, and alone; only where the data are has to be said.
beside=$(evaluate whole/$last)
move whole/$last moved
same "evaluated alone" "$(evaluate moved/$last --set dataset.path=data)" "$beside"
says=$("$PACELINE" evaluate moved/$last 2>&1)
same "evaluated without its data, exit code" $? 2
check "evaluated without its data" "$says" "a checkpoint does not say where its data are; --set dataset.path=DIR"
same "predicted alone" \
    "$("$PACELINE" predict moved/$last --json --set dataset.path=data --input data/t10k-images-idx3-ubyte | timeless)" \
    "$("$PACELINE" predict whole/$last --json --input data/t10k-images-idx3-ubyte | timeless)"
# One that an earlier release wrote does not name its job.
# age FROM TO
age() {
    python3 - "$1" "$2" <<'PY'
import json, sys
data = open(sys.argv[1], "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
header = json.loads(data[8:n])
for key in ["version", "spec", "shape", "classes", "classNames"]:
    header["__metadata__"].pop(key, None)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(len(text).to_bytes(8, "little") + text + data[n:])
PY
}
mkdir older
age whole/$last older/$last
says=$("$PACELINE" evaluate older/$last 2>&1)
same "an older one alone, exit code" $? 3
check "an older one alone" "$says" "older/$last: written before checkpoints named their job, and no job.json is beside it; --spec JOB names it"
# The job of another run beside it is not its job.
sed "s|path: data|path: $dir/data|" job.yaml >moved/job.json
same "evaluated beside another job" "$(evaluate moved/$last)" "$beside"

# Resumed alone, rescaled and with what may change, to the same bytes; then trained longer.
move whole/$middle resumed
run resumed --resume --workers 2 --set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5 \
    --set dataset.staging=stream --set checkpoint.keep=3 --set training.threads=2
cmp whole/$last resumed/$last || fail "resumed alone to other bytes"
run longer --set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5 --set training.epochs=1
run longer --resume --set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5
cmp whole/$last longer/$last || fail "trained longer to other bytes"

# refused NAME SAYS ARGUMENT...: a resume that would spoil the model. The folder stays as it was, job.json
# and events included, so what the command advises works.
refused() {
    rm -rf spoiled
    cp -r whole spoiled
    "$PACELINE" run job.yaml --out spoiled --resume "${@:3}" >out 2>&1
    same "$1, exit code" $? 2
    check "$1" "$(cat out)" "$2; a run is resumed with the same value"
    diff -r whole spoiled || fail "$1: the folder has changed"
}
refused "without its normalisation" "written with spec.dataset.normalize.mean 0.25, but the job has 0"
given=(--set dataset.normalize.mean=0.25 --set dataset.normalize.std=0.5)
refused "another loss" "spec.model.loss softmaxCrossEntropy, but the job has squaredError" \
    "${given[@]}" --set model.loss=squaredError
refused "another optimiser" "spec.training.optimizer.name adam, but the job has sgd" \
    "${given[@]}" --set 'training.optimizer={name: sgd}'

# An earlier release's checkpoint is compared with the job.json beside it. Without one nothing can be
# compared, which is said.
mkdir aged
age whole/$middle aged/$middle
cp whole/job.json whole/events.jsonl aged
cp -r aged unaged
"$PACELINE" run job.yaml --out aged --resume >out 2>&1
same "an older one with other data, exit code" $? 2
check "an older one with other data" "$(<out)" "aged/$middle: written with \
spec.dataset.normalize.mean 0.25, but the job has 0; a run is resumed with the same value"
diff -r aged unaged || fail "an older one with other data: the folder has changed"
run aged --resume "${given[@]}"
cmp aged/$last whole/$last || fail "an older one resumed to other bytes"
case $(<aged.log) in *"not record"*) fail "compared, and a warning all the same" ;; esac
rm unaged/job.json
run unaged --resume "${given[@]}" --workers 2
check "an older one without its job" "$(<unaged.log)" "unaged/$middle: it does not record its job, \
and no readable job.json is beside it; whether spec.dataset and spec.training are the same could not be checked"

# Learnt statistics are tensors, names of folders and words are items.
run learnt --set dataset.normalizeBy=channel --set training.epochs=1
beside=$(evaluate learnt/$middle)
move learnt/$middle unlearnt
same "evaluated by what was learnt" \
    "$(evaluate unlearnt/$middle --set dataset.path=data)" "$beside"
mkdir made
python3 "$repo/tests/cli/make_pictures.py" made 10 5 || fail "no pictures"
sed 's/name: idx, path: data/name: images, path: made\/images, imageSize: 12/' job.yaml >pictures.yaml
# One rank reads the folders, the other one writes what it was given.
for workers in 1 2; do
    "$PACELINE" run pictures.yaml --set training.steps=1 --workers $workers --json \
        --out pictures$workers >/dev/null || fail "pictures"
done
cmp pictures1/checkpoint-00000001.safetensors pictures2/checkpoint-00000001.safetensors
same "names of folders" "$(meta pictures1/checkpoint-00000001.safetensors classNames)" \
    "[$(find made/images/train -mindepth 1 -type d -printf '"%f"\n' | sort | paste -sd,)]"

mkdir words
python3 "$repo/tests/cli/make_words.py" words || fail "no words"
cat >words.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: words}
spec:
  model: {layers: [{type: embedding, vocabulary: 64, units: 8}, {type: lstm, units: 8}, {type: dense, units: 64}]}
  dataset: {name: text, path: words, steps: 5}
  training: {steps: 1, batchSize: 8}
JOB
for workers in 1 2; do
    "$PACELINE" run words.yaml --workers $workers --json --out words$workers >/dev/null || fail "words"
done
cmp words1/checkpoint-00000001.safetensors words2/checkpoint-00000001.safetensors
# The most frequent first: those of the training text, line ends and the unknown one.
python3 - "$(meta words1/checkpoint-00000001.safetensors classNames)" \
    "$(meta words1/checkpoint-00000001.safetensors classes)" <<'PY' || fail "words"
import collections, json, sys
got = json.loads(sys.argv[1])
count = collections.Counter()
for line in open("words/train.txt"):
    count.update(line.split() + ["<eos>"])
count["<unk>"] += 0
want = sorted(count, key=lambda w: (-count[w], w))
sys.exit(got != want or len(got) != int(sys.argv[2]))
PY
verdict
