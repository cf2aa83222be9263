#!/bin/bash
# TIMEOUT: 300
# CIFAR's binary files and folders of pictures in the real engine: learnt from, the same bytes on one rank,
# two and three, one sentence for what is damaged, and how many files were left out.
. tests/cli/lib.sh

field() { python3 -c 'import json, sys
print([e for e in map(json.loads, open(sys.argv[1])) if e["event"] == sys.argv[2]][-1][sys.argv[3]])' "$@"; }
above() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))' "$@"; }

mkdir data
python3 "$repo/tests/cli/make_pictures.py" data 40 10 || exit 1
export PACELINE_DATA=$dir/data

# job NAME DATASET
job() {
    cat >"$1.yaml" <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {$2}
  training: {epochs: 6, batchSize: 20, lanes: 4, threads: 1, optimizer: {name: adam, learningRate: 0.01}}
JOB
}
job cifar "name: cifar10"
job folder "name: images, path: data/images, imageSize: 12, maxDamaged: 0.02, normalize: {mean: 0.3, std: 0.2}"

# Of 150 pictures three may be damaged.
echo damaged >data/images/train/dog/7.png
truncate -s 300 data/images/test/eel/3.png
for data in cifar folder; do
    for workers in 1 2 3; do
        "$PACELINE" run $data.yaml --out $data$workers --workers $workers >/dev/null 2>$data$workers.errors ||
            fail "$data, $workers workers: $(cat $data$workers.errors)"
    done
    for workers in 2 3; do
        cmp "$(field ${data}1/events.jsonl "done" checkpoint)" \
            "$(field $data$workers/events.jsonl "done" checkpoint)" || fail "$data: $workers workers differ"
    done
    accuracy=$(field ${data}1/events.jsonl "done" testAccuracy)
    above "$accuracy" 0.6 || fail "$data: accuracy $accuracy"
done
# A packed copy: made once by three ranks, then read by one, which does not look at the pictures again.
mkdir cache
"$PACELINE" run folder.yaml --out packed3 --workers 3 --set dataset.cachePath=cache >/dev/null 2>&1 || fail "packing"
echo damaged >data/images/train/eel/9.png
"$PACELINE" run folder.yaml --out packed1 --set dataset.cachePath=cache >/dev/null 2>packed1.errors || fail "packed"
same "packed, said" "$(cat packed1.errors)" ""
same "packed copies" "$(find cache -type f | wc -l)" 1
for out in packed3 packed1; do
    cmp "$(field folder1/events.jsonl "done" checkpoint)" "$(field $out/events.jsonl "done" checkpoint)" ||
        fail "$out differs"
done
check "the shape" "$("$PACELINE" validate cifar.yaml)" "61,670 parameters" # of 3072 inputs
same "training samples" "$(field folder1/events.jsonl start trainSamples)" 119
for workers in 1 3; do
    errors=$(cat folder$workers.errors)
    check "a damaged file" "$errors" "train/dog/7.png: neither a JPEG nor a PNG file, of 8 bytes: left out"
    check "a cut file" "$errors" "test/eel/3.png: a damaged PNG file: cut short: left out"
    check "how many" "$errors" "dataset images: 2 of 150 images are damaged and left out"
    same "said once, $workers workers" "$(grep -c 'are damaged and left out' folder$workers.errors)" 1
done

errors=$("$PACELINE" run folder.yaml --out bad --workers 2 --set dataset.maxDamaged=0 2>&1 >/dev/null)
same "damaged, exit code" $? 3
check "damaged" "$errors" "dataset images: an image is damaged (dataset.maxDamaged leaves some out): $dir/data/images/"
truncate -s -5 data/cifar10/data_batch_2.bin
errors=$("$PACELINE" run cifar.yaml --out bad 2>&1 >/dev/null)
same "a cut file of records, exit code" $? 3
check "a cut file of records" "$errors" "data_batch_2.bin: 122915 bytes; a whole number of records of 3073 bytes is needed"

verdict
