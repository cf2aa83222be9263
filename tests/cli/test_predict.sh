#!/bin/bash
# TIMEOUT: 600
# What a checkpoint says of files: of the test set, in any of its forms, the very classes that evaluation counts;
# from the checkpoint alone, moved, without data and job; and one that cannot be read costs only its own answer.
# LANE: waiting
. tests/cli/lib.sh
export PYTHONDONTWRITEBYTECODE=1

predictions() { python3 "${repo:?}/tests/cli/predictions.py" "$@" >wrong 2>&1 || fail "$*: $(tail -1 wrong)"; }
# asks FILE ARGUMENTS...: the events of predict are in FILE.
asks() { "$PACELINE" predict "${@:2}" --json >"$1" 2>errors || fail "predict ${*:2}: $(cat errors)"; }
# job NAME MODEL DATASET [TRAINING]
job() {
    cat >"$1.yaml" <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model: {$2}
  dataset: {$3}
  training: {epochs: 2, batchSize: 20, lanes: 4, threads: 1, optimizer: {name: adam, learningRate: 0.003}${4:-}}
JOB
    "$PACELINE" run "$1.yaml" >log 2>&1 || fail "$1: $(cat log)"
    "$PACELINE" evaluate "runs/$1" --json >"$1.evaluation" || fail "evaluate $1"
    mkdir -p moved
    mv "runs/$1/best.safetensors" "moved/$1.safetensors"
}

mkdir data data/arrays data/one
python3 "$repo/tests/cli/make_pictures.py" data 40 10 || exit 1
python3 "$repo/tests/cli/make_arrays.py" data/arrays 300 100 || exit 1
for part in train test; do
    cp data/arrays/$part-spectrum.npy data/one/$part-x.npy
    cp data/arrays/$part-y.npy data/one
done
export PACELINE_DATA=$dir/data

job images "name: mlp, hidden: [20]" "name: images, path: data/images, imageSize: 12, normalizeBy: channel"
job cifar "name: mlp, hidden: [20]" "name: cifar10, limit: 100, normalizeBy: pixel"
job arrays "layers: [{type: input, name: spectrum, shape: [40]}, {type: dense, units: 8, name: a},
    {type: input, name: image, shape: [2, 6, 6]}, {type: flatten, name: b}, {type: concat, inputs: [a, b]},
    {type: relu}, {type: dense, units: 4}]" "name: arrays, path: data/arrays, normalizeBy: channel"
job one "name: mlp, hidden: [8]" "name: arrays, path: data/one, normalize: {mean: 900, std: 100}"

PYTHONPATH=$repo/tests/cli python3 "$repo/tests/cli/make_values.py" data 300 100 || exit 1
job numbers "loss: mse, layers: [{type: flatten}, {type: dense, units: 2}]" "name: arrays, path: data/numbers"
job bits "loss: sigmoidCrossEntropy, layers: [{type: flatten}, {type: dense, units: 5}]" "name: arrays, path: data/bits"
mv data data.others && words_data && mv data data.others/text && mv data.others data
job text "layers: [{type: embedding, vocabulary: 12, units: 18}, {type: lstm, units: 16}, {type: lstm, units: 17},
    {type: dense, units: 12}]" "name: text, path: data/text, steps: 7" ", clipNorm: 5"
# Evaluation of a text as one stream: its length is a whole number of rows, and the word after them.
python3 - data/text/test.txt <<'PY' || exit 1
import re, sys
words = re.findall(r"\S+|\n", open(sys.argv[1]).read())[:71]
open(sys.argv[1], "w").write(" ".join(words).replace(" \n", "\n"))
PY
"$PACELINE" evaluate moved/text.safetensors --set training.batchSize=1 --set dataset.path=data/text --json \
    >text.evaluation || fail "evaluate the text"

# Nothing is left but the checkpoints.
mv data away
rm -r runs ./*.yaml
unset PACELINE_DATA
asks images.predictions moved/images.safetensors away/images/test
predictions confusion images.evaluation images.predictions folders
asks files moved/images.safetensors away/images/test/*/*.png
predictions same files images.predictions
predictions convert away/cifar10/test_batch.bin 1
asks cifar.predictions moved/cifar.safetensors away/cifar10/test_batch.bin
predictions confusion cifar.evaluation cifar.predictions labels
gzip -k images.idx
for form in idx idx.gz npy csv; do
    asks form moved/cifar.safetensors images.$form
    predictions same form cifar.predictions
done
check "class names" "$(head -1 cifar.predictions)" '"label":'
python3 - <<'PY' >labels || exit 1
import struct
data = open("away/arrays/test-y.npy", "rb").read()
for i in range(100): print(struct.unpack("<q", data[len(data) - 800 + 8 * i:][:8])[0])
PY
asks arrays.predictions moved/arrays.safetensors image=away/arrays/test-image.npy spectrum=away/arrays/test-spectrum.npy
predictions confusion arrays.evaluation arrays.predictions labels
asks folder moved/arrays.safetensors away/arrays
predictions same folder arrays.predictions
asks one.predictions moved/one.safetensors away/one/test-x.npy
predictions confusion one.evaluation one.predictions labels
predictions table away/one/test-x.npy
asks folder moved/one.safetensors away/one table.csv --limit 150
asks table moved/one.safetensors table.csv
head -100 folder >first
predictions same first one.predictions
predictions same table one.predictions
same "the limit" "$(wc -l <folder)" 150
python3 - <<'PY' >spec.json || exit 1
import json
f = open("moved/images.safetensors", "rb")
job = json.loads(json.loads(f.read(int.from_bytes(f.read(8), "little")))["__metadata__"]["spec"])
job["spec"]["dataset"]["path"] = "/"
print(json.dumps(job))
PY
ranks 2 "$PACELINE_WORKER" predict --spec spec.json --checkpoint moved/images.safetensors away/images/test >two 2>log ||
    fail "two ranks: $(cat log)"
predictions same two images.predictions

asks numbers.predictions moved/numbers.safetensors away/numbers
predictions numbers numbers.evaluation numbers.predictions away/numbers/test-y.npy
asks bits.predictions moved/bits.safetensors away/bits/test-x.npy
predictions bits bits.evaluation bits.predictions away/bits/test-y.npy
asks text.predictions moved/text.safetensors away/text/test.txt
predictions text text.evaluation text.predictions 71

# What people read.
out=$("$PACELINE" predict moved/images.safetensors away/images/test/eel/3.png)
check "a line" "$out" "away/images/test/eel/3.png: "
check "three classes" "$out" "%, "
same "one class" "$("$PACELINE" predict moved/images.safetensors away/images/test/eel/3.png --top 1 | tr -d '0-9.')" \
    "$(sed 's/,.*//' <<<"$out" | tr -d '0-9.')"
check "the number of a sample" "$("$PACELINE" predict moved/cifar.safetensors images.npy | tail -1)" "images.npy[9]: "
check "with --input" "$("$PACELINE" predict moved/cifar.safetensors --input images.npy --limit 1)" "images.npy[0]: "

# Of a text: what follows its last word, whether its line has an end or not; words that it does not know; its
# perplexity.
text=moved/text.safetensors
printf 'red fox\nruns over' >open.txt
printf 'red fox\nruns over\n' >ended.txt
printf 'red zebra' >zebra.txt
printf 'red\0' >binary.txt
: >empty.txt
for words in open ended; do
    "$PACELINE" predict $text $words.txt --json | grep -o '"class".*"top":.*]' >$words
done
same "a line's end is not taken for a word" "$(cat open)" "$(cat ended)"
check "five words" "$("$PACELINE" predict $text open.txt)" "(5 words, perplexity "
check "an unknown word" "$("$PACELINE" predict $text zebra.txt)" "(2 words, 1 unknown, perplexity "
check "the next word has a name" "$("$PACELINE" predict $text open.txt --top 12 --json)" '"label":"fox"'
same "two texts" "$("$PACELINE" predict $text open.txt zebra.txt | sed 's/:.*//' | xargs)" "open.txt zebra.txt"

# A folder of a run: the best checkpoint, else the last one.
mkdir run
cp moved/images.safetensors run/checkpoint-00000004.safetensors
cp moved/cifar.safetensors run/checkpoint-00000002.safetensors
"$PACELINE" predict run away/images/test/eel/3.png >got 2>&1
same "the last one" "$(cat got)" "$out"
mv run/checkpoint-00000002.safetensors run/best.safetensors
mv run/checkpoint-00000004.safetensors run/checkpoint-00000009.safetensors
check "the best one" "$("$PACELINE" predict run/ images.idx --limit 1)" "images.idx[0]: "

# refused CODE PART ARGUMENTS...: one sentence, and nothing else.
refused() {
    local want=$1 part=$2 said
    shift 2
    said=$("$PACELINE" "$@" 2>&1 >out)
    same "$*, exit code" $? "$want"
    check "$*" "$said" "$part"
    same "$*, one sentence" "$(wc -l <<<"$said")" 1
    same "$*, standard output" "$(cat out)" ""
}
images=moved/images.safetensors arrays=moved/arrays.safetensors
echo nothing >bad.jpg
echo '{}' >job.json
mkdir empty
head -c 20000 away/cifar10/test_batch.bin >cut.bin
refused 2 "INPUT is missing" predict $images
refused 3 "absent: No such file or directory" predict absent bad.jpg
refused 3 "absent.safetensors: No such file or directory" evaluate absent.safetensors
refused 2 "job.json: not a checkpoint; needed: a .safetensors file, or the folder of a run" evaluate job.json
refused 3 "empty: no checkpoint in this folder" evaluate empty
refused 3 "bad.jpg: neither a JPEG nor a PNG file, of 8 bytes" predict $images bad.jpg
refused 3 "empty: no images in this folder" predict $images empty
refused 3 "cut.bin: 20000 bytes; a whole number of records of 3073 bytes is needed" predict moved/cifar.safetensors cut.bin
refused 2 "images.idx: images of 3 x 32 x 32 (channels, height, width); the model takes 3 x 12 x 12" predict $images images.idx
refused 2 "1.png: a file of images, but the model was trained on arrays of numbers; allowed: .npy files and tables (.csv)" \
    predict $arrays away/images/test/cat/1.png
refused 2 "one array, but the model has 2 inputs; needed: an array of each, as spectrum=FILE ..., or a folder of them" \
    predict $arrays away/arrays/test-image.npy
refused 2 "no file for the input image; needed: image=FILE" predict $arrays spectrum=away/arrays/test-spectrum.npy
refused 3 "binary.txt: found a byte 0 at 3; allowed: text" predict moved/text.safetensors binary.txt
refused 3 "empty.txt: no word in it; one is needed" predict moved/text.safetensors empty.txt
refused 2 "--top is \"0\"" predict $images bad.jpg --top 0

# Some of many: each has its sentence, all others their answer, and the exit code says so.
cp away/images/test/cat/1.png good.png
"$PACELINE" predict $images good.png bad.jpg absent.png good.png >got 2>said
same "some are bad, exit code" $? 3
same "some are bad, answers" "$(wc -l <got)" 2
same "some are bad, sentences" "$(cat said)" "paceline predict: bad.jpg: neither a JPEG nor a PNG file, of 8 bytes
paceline predict: absent.png: No such file or directory
paceline predict: 2 of the inputs could not be read; 2 samples are answered"
mkdir many && cp good.png bad.jpg many && cp good.png many/a.png
"$PACELINE" predict $images many --json >got 2>/dev/null
same "in a folder, exit code" $? 3
same "in a folder" "$(sed 's/.*"event":"\([a-z]*\)".*"input":"\([a-z./]*\)".*/\1 \2/; s/.*"event":"error".*/error/' got | xargs)" \
    "prediction many/a.png skipped many/bad.jpg prediction many/good.png error"
mkfifo pipe.png
said=$(timeout 60 "$PACELINE" predict $images pipe.png 2>&1)
same "a pipe, exit code" $? 2
check "a pipe" "$said" "pipe.png: found no regular file"
sed -i '3s/;[^;]*$/;x/' table.csv
"$PACELINE" predict moved/one.safetensors table.csv --limit 3 >got 2>said
same "a bad row, exit code" $? 3
same "a bad row, answers" "$(sed 's/:.*//' got | xargs)" "table.csv[0] table.csv[2]"
check "a bad row" "$(head -1 said)" 'paceline predict: table.csv:3: column v39: found "x"; needed: a number'

# As many files as a shell's glob may give.
mapfile -t lots < <(for _ in $(seq 400); do echo good.png; done)
same "400 files" "$("$PACELINE" predict $images "${lots[@]}" | sort -u | wc -l)" 1

verdict
