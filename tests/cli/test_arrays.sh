#!/bin/bash
# TIMEOUT: 400
# Arrays of numbers as samples of several inputs: learnt from, though no one input is enough; the same bytes on any
# number of workers; scaled by the training set; and a sentence for each file that is not what it should be.
. tests/cli/lib.sh

mkdir data
python3 "$repo/tests/cli/make_arrays.py" data 600 200 || exit 1
# job INPUTS LAYERS: the layers after the inputs.
job() {
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: arrays}
spec:
  model:
    layers:
$1
  dataset: {name: arrays, path: data, normalizeBy: channel}
  training: {epochs: 6, batchSize: 24, lanes: 4, threads: 1, optimizer: {name: adam, learningRate: 0.003}}
  checkpoint: {best: false}
JOB
}
spectrum='    - {type: input, name: spectrum, shape: [1, 1, 40]}
    - {type: conv, filters: 8, kernel: [1, 3]}
    - {type: relu}
    - {type: flatten}
    - {type: dense, units: 16, name: line}'
image='    - {type: input, name: image, shape: [2, 6, 6]}
    - {type: conv, filters: 8, kernel: 3}
    - {type: relu}
    - {type: flatten}
    - {type: dense, units: 16, name: edge}'
class='    - {type: relu}
    - {type: dense, units: 4}'
both='    - {type: concat, inputs: [line, edge]}'
accuracy() { sed -n 's/.*"event":"done".*"testAccuracy":\([0-9.]*\).*/\1/p' "$1/events.jsonl"; }
within() { awk "BEGIN { a = \"$(accuracy "$1")\" + 0; exit !(a > $2 && a < $3) }"; }

# One input shows one of two things.
for one in spectrum image; do
    job "${!one}"$'\n'"$class"
    result "$one" >/dev/null
    echo "$one alone: test accuracy $(accuracy "$one")"
    within "$one" 0.4 0.65 || fail "$one alone shows half: $(accuracy "$one")"
done
job "$spectrum"$'\n'"$image"$'\n'"$both"$'\n'"$class"
want=$(result both)
echo "both: test accuracy $(accuracy both)"
check "both" "$want" "  -"
within both 0.9 1.01 || fail "both inputs: $(accuracy both)"
for n in 2 3; do same "$n ranks" "$(result "ranks$n" --workers $n)" "$want"; done
same "2 threads" "$(result threads --set training.threads=2)" "$want"
for n in 2 3; do
    same "its layers on $n" "$(result "split$n" --workers $n --set 'strategy={type: ModelParallel, microBatches: 4}')" "$want"
done
same "another order of the inputs learns, too" \
    "$(job "$image"$'\n'"$spectrum"$'\n'"$both"$'\n'"$class"; result turned >/dev/null; within turned 0.9 1.01 && echo yes)" yes
job "$spectrum"$'\n'"$image"$'\n'"$both"$'\n'"$class"

# What is learnt from the training set is in the checkpoint: each input has channels of its own.
check "evaluate" "$("$PACELINE" evaluate "$(find both -name 'checkpoint-*.safetensors' | sort | tail -1)" 2>&1)" \
    "200 samples: accuracy $(awk "BEGIN { printf \"%.2f\", 100 * $(accuracy both) }")%"
python3 - both <<'END' || fail "the statistics in the checkpoint"
import glob, json, struct, sys
path = sorted(glob.glob(sys.argv[1] + "/**/checkpoint-*.safetensors", recursive=True))[-1]
raw = open(path, "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
def tensor(name):
    a, b = head[name]["data_offsets"]
    return struct.unpack(f"<{(b - a) // 4}f", raw[8 + n + a:8 + n + b])
def array(name, code):
    raw = open(f"data/train-{name}.npy", "rb").read()
    return [v[0] for v in struct.iter_unpack("<" + code, raw[raw.index(b"\n") + 1:])]
spectra, images = array("spectrum", "f"), array("image", "d")
channels = [spectra, *([v for i, v in enumerate(images) if i // 36 % 2 == c] for c in range(2))]
for i, values in enumerate(channels):
    mean = sum(values) / len(values)
    std = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    found = tensor("normalize.mean")[i], tensor("normalize.std")[i]
    assert abs(found[0] - mean) < 1e-5 * std and abs(found[1] / std - 1) < 1e-5, (i, found, mean, std)
assert head["normalize.mean"]["shape"] == [3]
END
check "by pixel" "$(result pixel --set dataset.normalizeBy=pixel --set training.epochs=1)" "  -"
check "shares by label" "$(result shares --workers 2 --set 'strategy={type: LocalSGD}' --set training.epochs=1 \
    --set 'dataset.distribution={kind: byLabel}' --set dataset.normalizeBy=channel)" "  -"

# NumPy's own files are read as these; PYTHON may name a Python that has one.
numpy=${PYTHON:-python3}
if "$numpy" -c 'import numpy' 2>/dev/null; then
    cp -r data saved
    "$numpy" - <<'END' || fail "numpy.save"
import glob, numpy
for path in glob.glob("saved/*.npy"):
    numpy.save(path, numpy.load(path))
    assert numpy.load(path).shape[0] in (200, 600)
END
    same "written by NumPy" "$(result own --set dataset.path=saved)" "$want"
else
    echo "no NumPy here: its own files are not read"
fi

# One input without a layer is x, and its header says the shape.
mkdir plain
for set in train test; do
    cp data/$set-image.npy plain/$set-x.npy
    cp data/$set-y.npy plain
done
check "x" "$("$PACELINE" validate job.yaml --set 'model={name: mlp}' --set dataset.path=plain 2>&1)" "52,100 parameters"
check "x trains" "$(result x --set 'model={name: mlp, hidden: [8]}' --set dataset.path=plain --set training.epochs=1)" "  -"

# refused NAME SENTENCE [ARGUMENTS...]: before anything runs; ends: what only a run reads.
refused() {
    local name=$1 sentence=$2
    shift 2
    check "$name" "$("$PACELINE" validate job.yaml "$@" 2>&1 && echo "it is allowed")" "$sentence"
}
ends() {
    local name=$1 sentence=$2
    shift 2
    check "$name" "$("$PACELINE" run job.yaml --out "bad-${name// /-}" "$@" 2>&1 && echo "it ran")" "$sentence"
}
# write FILE DESCR SHAPE HEX [ORDER]: a .npy file in bad, a copy of data.
write() {
    rm -rf bad && cp -r data bad
    python3 - "$repo" "$@" <<'END'
import sys
repo, path, descr, shape, data, *order = sys.argv[1:]
sys.argv = ["", "", "0", "0"]
sys.path.insert(0, repo + "/tests/cli")
import make_arrays
open(path, "wb").write(make_arrays.npy(descr, shape, bytes.fromhex(data), *order))
END
}
at_bad=(--set dataset.path=bad)
refused "no folder" "needed: train-NAME.npy and test-NAME.npy for each input layer" --set dataset.path=nowhere
write bad/train-y.npy '<f4' '(1,)' 00000000
refused "labels of floats" "bad/train-y.npy: found 1 floats per sample; needed: one integer" "${at_bad[@]}"
write bad/test-spectrum.npy '<i4' '(1, 40)' "$(printf '%0320d' 0)"
refused "integers" "bad/test-spectrum.npy: found integers of 4 bytes; allowed of an input: <f4, <f8 and |u1" "${at_bad[@]}"
write bad/test-spectrum.npy '|u1' '(1, 40)' "$(printf '%080d' 0)"
refused "too few" "bad/test-spectrum.npy: found 1 samples; $dir/bad/test-y.npy has 200 labels" "${at_bad[@]}"
write bad/test-image.npy '|u1' '(1, 6, 6, 2)' "$(printf '%0144d' 0)"
refused "channels last" "bad/test-image.npy: found samples of 6 x 6 x 2; needed: 2 x 6 x 6" "${at_bad[@]}"
write bad/test-image.npy '>f4' '(1,)' 00000000
refused "big end first" "bad/test-image.npy: found values of type '>f4'; allowed: little-endian" "${at_bad[@]}"
write bad/test-image.npy '<f4' '(1, 1)' 00000000 True
refused "Fortran" "bad/test-image.npy: found values in Fortran order; needed: C order" "${at_bad[@]}"
write bad/test-y.npy '|u1' '(200,)' "04$(printf '%0398d' 0)"
ends "a label" "bad/test-y.npy: label 4 of sample 0; 0 to 3 are allowed" "${at_bad[@]}"
write bad/train-y.npy '|i1' '(600,)' "00ff$(printf '%01196d' 0)"
ends "a negative label" "bad/train-y.npy: label -1 of sample 1; 0 to 65535 are allowed" "${at_bad[@]}"
rm -rf bad && cp -r data bad && truncate -s -1 bad/train-spectrum.npy
refused "cut short" "bad/train-spectrum.npy: cut short: 95999 bytes after the header, whose shape needs 96000" "${at_bad[@]}"
rm -rf bad && cp -r data bad && printf '\0\0\300\177' | dd of=bad/train-spectrum.npy bs=1 seek=$((128 + 4 * 40 * 7)) conv=notrunc status=none
for n in 1 2; do
    ends "not a number on $n" "bad/train-spectrum.npy: sample 7 (counted from 0) has a value that is not finite" \
        --workers $n "${at_bad[@]}" --set dataset.normalizeBy=given
done
# The file of one host alone: all end with its sentence, whichever rank reads it. Other values are no error of
# a file, but of the two.
mkdir whole && cp -r data whole && mkdir damaged && mv bad damaged/data && mkdir other && cp -r data other
printf '\0\0\0\100' | dd of=other/data/train-spectrum.npy bs=1 seek=$((128 + 4 * 40 * 7)) conv=notrunc status=none
tee whole/job.yaml damaged/job.yaml other/job.yaml <job.yaml >/dev/null
while read -r first second sentence; do
    check "$first and $second" "$(timeout 60 mpirun --oversubscribe --bind-to none -np 1 -wdir "$PWD/$first" "$PACELINE_WORKER" run \
        --spec job.yaml : -np 1 -wdir "$PWD/$second" "$PACELINE_WORKER" run --spec job.yaml 2>&1 </dev/null)" "$sentence"
done <<'HOSTS'
whole damaged data/train-spectrum.npy: sample 7 (counted from 0) has a value that is not finite
damaged whole data/train-spectrum.npy: sample 7 (counted from 0) has a value that is not finite
whole other differ in the values of the training set; all ranks must agree
HOSTS
refused "a shape" "data/train-image.npy: found samples of 2 x 6 x 6; needed: 2 x 5 x 6" \
    --set 'model.layers[5].shape=[2, 5, 6]'
refused "flips" "found what is done to pixels, with name arrays or csv; allowed there: none of it" --set dataset.augment.flip=true
refused "other samples" "layers of type input: found 112 values in all; samples of 1x28x28 have 784" \
    --set 'dataset={name: patterns}'
verdict
