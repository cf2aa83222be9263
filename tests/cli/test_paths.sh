#!/bin/bash
# A relative path in a job counts from the folder of its file, one of an override from where one stands;
# job.json has it absolute, so a run may be resumed, evaluated and looked at from anywhere.
. tests/cli/lib.sh

idx_job paths 2 "keep: 100"
mkdir -p jobs/deep here elsewhere
mv job.yaml data jobs/deep
last=checkpoint-00000010.safetensors
whole=$dir/whole/$last

"$PACELINE" run jobs/deep/job.yaml --json --out whole >/dev/null || fail "from above"
check "job.json" "$(cat whole/job.json)" "\"path\": \"$dir/jobs/deep/data\""
"$PACELINE" validate jobs/deep/job.yaml >/dev/null || fail "validate"
# from FOLDER NAME COMMAND...
from() { (cd "$1" && "${@:3}" >"$dir/out" 2>&1) || fail "$2: $(cat "$dir/out")"; }
from jobs/deep "from beside it" "$PACELINE" run job.yaml --json --out "$dir/beside"
cmp beside/$last "$whole" || fail "beside: other bytes"
from elsewhere "resumed from elsewhere" "$PACELINE" run ../whole/job.json --json --out ../whole --resume --set training.epochs=3
from elsewhere "evaluated from elsewhere" "$PACELINE" evaluate ../whole/$last
from elsewhere "by two ranks" "$PACELINE" run ../jobs/deep/job.yaml --workers 2 --json --out "$dir/two"
cmp two/$last "$whole" || fail "two: other bytes"
from elsewhere "the engine alone" ranks 2 "$PACELINE_WORKER" run --spec ../jobs/deep/job.yaml --out "$dir/alone"
cmp alone/$last "$whole" || fail "alone: other bytes"
from elsewhere "what the durable folder says" "$PACELINE_WORKER" run --spec ../jobs/deep/job.yaml --out "$dir/local" --durable "$dir/durable"
check "what the durable folder says" "$(cat durable/job.json)" "\"path\": \"$dir/elsewhere/../jobs/deep/data\""

# An override: from where one stands, and not from the file.
cp -r jobs/deep/data here/other
from here "an override" "$PACELINE" run ../jobs/deep/job.yaml --json --set dataset.path=other --out "$dir/set"
check "an override" "$(cat set/job.json)" "\"path\": \"$dir/here/other\""
from here "an override of the section" "$PACELINE" run ../jobs/deep/job.yaml --json \
    --set 'dataset={name: idx, path: other}' --out "$dir/section"
check "an override of the section" "$(cat section/job.json)" "\"path\": \"$dir/here/other\""
from here "evaluated with an override" "$PACELINE" evaluate "$whole" --set dataset.path=other
"$PACELINE" run jobs/deep/job.yaml --set dataset.path=data --out wrong >out 2>&1
same "an override that is not there, exit code" $? 3

# From the root folder: one slash.
from / "from the root" "$PACELINE" run "${dir#/}/jobs/deep/job.yaml" --json --set dataset.path="${dir#/}/here/other" --out "$dir/root"
check "from the root" "$(cat root/job.json)" "\"path\": \"$dir/here/other\""
check "from the root, a message" "$(cd / && "$PACELINE" run "$dir/jobs/deep/job.yaml" --set dataset.path=no-such-folder --out "$dir/none" 2>&1)" \
    'dataset idx: /no-such-folder/'

# A slash at the end of a folder's name is not doubled: in a message about a file of each kind of data.
# slash NAME SENTENCE OVERRIDE...
slash() {
    local said
    said=$("$PACELINE" run jobs/deep/job.yaml --out "$dir/none" --set dataset.path=half/ "${@:3}" 2>&1)
    same "$1, exit code" $? 3
    check "$1" "$said" "$2"
    case $said in *//*) fail "$1: two slashes: $said" ;; esac
}
mkdir -p half/train/class
slash "idx" "$dir/half/train-images-idx3-ubyte"
slash "cifar10" "$dir/half/data_batch_1.bin" --set 'dataset={name: cifar10, path: half/}'
slash "arrays" "$dir/half/train-y.npy" --set 'dataset={name: arrays, path: half/}'
slash "images" "$dir/half/train/class: a class without images" --set 'dataset={name: images, path: half/}'
slash "images of one folder" "$dir/half/train/class: a class without images" \
    --set 'dataset={name: images, path: half/train/}'
echo "a b c" >half/train.txt
slash "text" "$dir/half/test.txt" --set 'model={layers: [{type: embedding, vocabulary: 9, units: 4}, {type: lstm, units: 4}, {type: dense, units: 3}]}' \
    --set 'dataset={name: text, path: half/}'

# Weights to start from.
cp whole/$last jobs/deep/start.safetensors
sed 's/hidden: \[20\]/hidden: [20], initialWeights: start.safetensors/' jobs/deep/job.yaml >jobs/deep/tuned.yaml
from elsewhere "weights beside the job" "$PACELINE" run ../jobs/deep/tuned.yaml --json --out "$dir/tuned"

# A study's file is a job's file.
cat >jobs/deep/study.yaml <<'STUDY'
apiVersion: paceline.dev/v1
kind: Study
metadata: {name: own}
title: Paths
source: none
about: none
job:
  model: {name: mlp, hidden: [4]}
  dataset: {name: idx, path: data}
  training: {epochs: 1, batchSize: 64}
scales:
  - name: small
    seeds: 1
tables:
  - {title: All, variants: [plain, other], columns: [{title: loss, measure: testLoss, format: loss}]}
variants:
  - name: plain
  - name: other
    set: {dataset.path: ../deep/data}
STUDY
from elsewhere "a study" "$PACELINE" study ../jobs/deep/study.yaml --out "$dir/study"
check "a study" "$(cat study/plain-seed-1/job.json)" "jobs/deep/data\""
check "a variant of a study" "$(cat study/other-seed-1/job.json)" "jobs/deep/../deep/data\""
verdict
