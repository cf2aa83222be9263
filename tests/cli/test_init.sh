#!/bin/bash
# TIMEOUT: 300
# From data to a job: what init writes for folders of images, arrays and IDX files validates, trains and learns; what
# it cannot write a job for it says in one sentence; and it overwrites nothing.
# LANE: waiting
. tests/cli/lib.sh

above() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))' "$@"; }
figure() { sed -n "s/.*\"event\":\"done\".*\"$2\":\([0-9.]*\).*/\1/p" "$1/events.jsonl"; }

mkdir data data/arrays data/idx
python3 "${repo:?}/tests/cli/make_pictures.py" data 40 10 || exit 1
python3 "$repo/tests/cli/make_arrays.py" data/arrays 300 100 || exit 1
python3 "$repo/tests/cli/make_values.py" data 400 100 || exit 1
python3 "$repo/tests/cli/make_idx.py" data/idx 270 40 16 12 || exit 1
mkdir "data/My Photos" && cp -r data/images/train/* "data/My Photos"
mv "data/My Photos/eel" "data/My Photos/#eel: \"x\""

# learns DATA NAME PART [METRIC]: the file for DATA is called NAME, has PART in it, validates, and trains from another folder.
learns() {
    local data=$1 name=$2 part=$3 metric=${4:-testAccuracy} said
    "$PACELINE" init "$data" -o "$name.yaml" 2>said || { fail "$data: $(cat said)"; return; }
    check "$data, said" "$(cat said)" "$name.yaml: written; "
    check "$data, the file" "$(cat "$name.yaml")" "$part"
    check "$data, its name" "$(cat "$name.yaml")" "metadata: {name: $name}"
    same "$data, printed" "$("$PACELINE" init "$data")" "$(cat "$name.yaml")"
    mkdir "elsewhere-$name"
    (cd "elsewhere-$name" && "$PACELINE" validate "../$name.yaml" >ok 2>&1) || fail "$data: $(cat "elsewhere-$name/ok")"
    (cd "elsewhere-$name" && "$PACELINE" run "../$name.yaml" --out run --workers 2 --set training.threads=1 >ok 2>&1) ||
        fail "$data: $(cat "elsewhere-$name/ok")"
    above "$(figure "elsewhere-$name/run" "$metric")" 0.7 || fail "$data: $metric $(figure "elsewhere-$name/run" "$metric")"
}
learns data/images images "# 120 samples to train with, 30 to test with; 3 classes: cat, dog, eel"
learns "data/My Photos" my-photos "testSplit: 0.2"
learns data/arrays arrays "{type: concat, inputs: [of_image, of_spectrum]}"
learns data/idx idx "# for samples of 1 x 16 x 12: channels, height, width"
learns data/numbers numbers "loss: mse # labels are numbers" testR2
learns data/bits bits "loss: sigmoidCrossEntropy # labels are rows of 0 and 1" testF1
check "of numbers" "$(cat numbers.yaml)" "# 400 samples to train with, 100 to test with; 2 numbers in a label"
check "of images" "$(cat images.yaml)" "imageSize: 12"
# A file of a set is its folder.
same "a file" "$("$PACELINE" init data/arrays/train-image.npy)" "$(cat arrays.yaml)"

# Nothing is overwritten unless that is asked for.
echo mine >images.yaml
said=$("$PACELINE" init data/images -o images.yaml 2>&1)
same "a file that exists, exit code" $? 2
same "a file that exists" "$said" "paceline init: images.yaml: it exists; --force writes it anew"
same "it is as it was" "$(cat images.yaml)" mine
"$PACELINE" init data/images --out images.yaml --force 2>/dev/null || fail "--force"
check "written anew" "$(cat images.yaml)" "kind: TrainingJob"

# refused CODE DATA SENTENCE: and nothing on standard output.
refused() {
    local want=$1 data=$2 sentence=$3 said
    said=$("$PACELINE" init "$data" 2>&1 >out)
    same "$data, exit code" $? "$want"
    check "$data" "$said" "$sentence"
    same "$data, one sentence" "$(wc -l <<<"$said")" 1
    same "$data, standard output" "$(cat out)" ""
}
printf 'length,width,kind\n1,2,a\n3,4,b\n5,6,a\n' >flowers.csv
mkdir empty flat labels floats last
cp data/images/train/cat/1.png flat
cp data/arrays/*-y.npy labels
REPO=$repo python3 - <<'PY' || exit 1
import os, struct, sys
sys.argv = ["make_arrays.py", ".", "1", "1"]
exec(open(os.environ["REPO"] + "/tests/cli/make_arrays.py").read().split("if __name__")[0])
for part in ("train", "test"):
    open(f"floats/{part}-x.npy", "wb").write(npy("<f4", (2, 3), struct.pack("<6f", *range(6))))
    open(f"floats/{part}-y.npy", "wb").write(npy("<f4", (2,), struct.pack("<2f", 0.5, 1)))
    open(f"last/{part}-x.npy", "wb").write(npy("|u1", (1, 8, 8, 3), bytes(192)))
    open(f"last/{part}-y.npy", "wb").write(npy("|u1", (1,), bytes(1)))
# Gray images of different sizes, all larger than what a CPU trains in minutes.
exec(open(os.environ["REPO"] + "/tests/cli/make_pictures.py").read().split("for part, n")[0])
def gray(path, height, width):
    rows = b"".join(b"\0" + bytes(draw.randrange(256) for _ in range(width)) for _ in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)) +
                           chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
# Arrays whose names are no names of layers, are words of YAML, or are names that init gives; labels beyond the classes.
def named(folder, *names):
    os.makedirs(folder)
    for part in ("train", "test"):
        for name in names:
            open(f"{folder}/{part}-{name}.npy", "wb").write(npy("<f4", (4, 3), struct.pack("<12f", *range(12))))
        open(f"{folder}/{part}-y.npy", "wb").write(npy("|u1", (4,), bytes([0, 1, 2, 1])))
named("null", "null")
named("names", "dense1", "x", "of_x", "relu2", "branch_1")
named("digit", "1")
named("space", "a b\x1b\nc")
named("beyond", "x")
open("beyond/test-y.npy", "wb").write(npy("|u1", (4,), bytes([0, 1, 3, 1])))
for name in "ab":
    os.makedirs("big/" + name)
    for i in range(5):
        gray(f"big/{name}/{i}.png", 70 + i, 120)
PY
big=$("$PACELINE" init big)
check "large images" "$big" "imageSize: 64 # every image becomes 64 x 64; the shorter sides have 70 to 73 pixels"
check "large images" "$big" "# for samples of 1 x 64 x 64: channels, height, width"
check "large images" "$big" "color: gray"
for data in null names; do
    "$PACELINE" init "$data" -o "$data.yaml" 2>said || fail "arrays called $data: $(cat said)"
    "$PACELINE" run "$data.yaml" --out "run-$data" --set training.steps=2 >said 2>&1 || fail "arrays called $data: $(cat said)"
done
refused 2 digit "digit/train-1.npy: found 1 as the name of an input; allowed: 1 to 50 letters, digits, '_' and '-', from a letter"
refused 2 space "/train-a b\\x1b\\x0ac.npy: found a b\\x1b\\x0ac as the name of an input; allowed: 1 to 50 letters"
refused 3 beyond "test-y.npy: label 3 of sample 2; 0 to 2 are allowed"
refused 3 absent "paceline init: absent: No such file or directory"
refused 2 flowers.csv "flowers.csv: a table of 3 rows, with 2 columns of numbers and 1 of words (length, width, kind); init writes no jobs for tables: dataset.name csv trains on train.csv and test.csv"
refused 2 job.yaml "job.yaml: a file; needed: a folder of folders of images, one per class, a folder of arrays (.npy), or a table (.csv)"
refused 3 empty "empty: 0 folders; 1 to 65535 are allowed, one per class"
refused 3 flat "flat: 0 folders; 1 to 65535 are allowed, one per class"
refused 2 labels "labels: labels, train-y.npy, but no inputs; needed: train-x.npy and test-x.npy"
check "one float each" "$("$PACELINE" init floats)" "{type: dense, units: 1} # the numbers of a label"
refused 2 last "last/train-x.npy: found samples of 8 x 8 x 3, as of images whose channels come last"
mv data/arrays/test-image.npy moved
refused 3 data/arrays "test-image.npy: No such file or directory"
said=$("$PACELINE" init 2>&1)
same "no data, exit code" $? 2
check "no data" "$said" "DATA is missing"

verdict
