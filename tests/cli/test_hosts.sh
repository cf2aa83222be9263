#!/bin/bash
# TIMEOUT: 300
# Two hosts whose files differ do not train together: two samples that changed places, another pixel to test with,
# another label, whatever the kind of files and the way they are read; one sentence says who differs in what. Hosts
# that hold the same do.
. tests/cli/lib.sh

mkdir files && cd files || exit 1
mkdir words arrays cache
python3 "$repo/tests/cli/make_idx.py" . 270 40 && python3 "$repo/tests/cli/make_words.py" words &&
    python3 "$repo/tests/cli/make_pictures.py" . 12 6 && python3 "$repo/tests/cli/make_arrays.py" arrays 60 20 || exit 1
mkdir idx packed
mv ./*ubyte idx
for file in idx/*; do gzip -9 <"$file" >"packed/${file#idx/}.gz" || exit 1; done
cd .. || exit 1

# change.py FILE HOW...: swap BYTES A B FROM, two samples of so many bytes, the first of which begins at FROM; poke AT,
# another value there; with OTHER, two files; words A B, two words of a text; longer: a byte after the end; named, another name.
cat >change.py <<'PY'
import gzip, os, re, sys

path, how, *at = sys.argv[1:]
if how == "with":
    assert open(path, "rb").read() != open(at[0], "rb").read()
    os.rename(path, path + ".old")
    os.rename(at[0], path)
    os.rename(path + ".old", at[0])
    sys.exit()
if how == "longer":
    open(path, "ab").write(b"\0")
    sys.exit()
if how == "named":
    os.rename(path, at[0])
    sys.exit()
if how == "words":
    words = re.split(r"(\s+)", open(path).read())
    a, b = (2 * int(i) for i in at)
    assert words[a] != words[b]
    words[a], words[b] = words[b], words[a]
    open(path, "w").write("".join(words))
    sys.exit()
opened = gzip.open if path.endswith(".gz") else open
data = bytearray(opened(path, "rb").read())
before = bytes(data)
at = [int(v) for v in at]
if how == "swap":
    n, a, b, start = at
    a, b = (slice(start + n * i, start + n * (i + 1)) for i in (a, b))
    data[a], data[b] = data[b], data[a]
else:
    data[at[0]] ^= 1
assert data != before
opened(path, "wb").write(data)
PY

# The last rank is a host: it has a name and files of its own, and is the first of its host, which is so where a launcher
# does not say who else is on it. Those before it share one.
export others=1
cat >host <<END
#!/bin/bash
export PACELINE_HOST=apple OMPI_COMM_WORLD_LOCAL_SIZE=\$others
if [ "\$OMPI_COMM_WORLD_RANK" = "\$others" ]; then
    PACELINE_HOST=pear
    unset OMPI_COMM_WORLD_LOCAL_SIZE
fi
cd "$dir/\$PACELINE_HOST" && exec "$PACELINE_WORKER" run --spec job.yaml
END
chmod +x host
# hosts DATASET: what they say; the model is $model.
model='name: mlp, hidden: [8]'
hosts() {
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: hosts}
spec:
  model: {$model}
  dataset: {$1}
  training: {epochs: 1, batchSize: 10, lanes: 4, threads: 1, optimizer: {learningRate: 0.001}}
JOB
    tee apple/job.yaml pear/job.yaml <job.yaml >/dev/null
    ranks $((others + 1)) ./host 2>&1
}
# alike DATASET: equal files are trained on. other PART DATASET, FILE HOW...: of which one host has another file.
fresh() { rm -rf apple pear && cp -a files apple && cp -a files pear; }
alike() {
    fresh
    check "alike: $1" "$(hosts "$1")" '"event":"done"'
}
other() {
    local part=$1 dataset=$2 file=$3 output
    shift 3
    fresh
    (cd pear && python3 ../change.py "$file" "$@") || fail "no change of $file"
    output=$(hosts "$dataset")
    check "$dataset, $file $*" "$output" "give all hosts the same files: rank $others on pear and rank 0 on apple differ in the $part set; all ranks must agree"
    same "$dataset, $file $*, sentences" "$(grep -c '"event":"error"' <<<"$output")" 1
}

train="samples of the training" test="samples of the test"
given='normalize: {mean: 0.3, std: 0.2}'
swap=(idx/train-images-idx3-ubyte swap 784 3 7 16)
poke=(idx/t10k-images-idx3-ubyte poke $((16 + 784 * 40 - 1)))
other "$train" "name: idx, path: idx" "${swap[@]}"
other "$test" "name: idx, path: idx" "${poke[@]}"
others=2
other "$train" "name: idx, path: idx" "${swap[@]}"
alike "name: idx, path: idx"
others=1
other "labels of the training" "name: idx, path: idx" idx/train-labels-idx1-ubyte poke 9
other "labels of the test" "name: idx, path: idx" idx/t10k-labels-idx1-ubyte poke 9
other "$train" "name: idx, path: idx, $given, validationSplit: 0.1" "${swap[@]}"
other "$train" "name: idx, path: idx, normalizeBy: channel" "${swap[@]}"
other "$test" "name: idx, path: idx, rowConvert: false, $given" "${poke[@]}"

# One host's files are compressed, the other's are not.
mixed() {
    fresh
    gzip pear/idx/* || fail "gzip"
    check "mixed: $1" "$(hosts "$1")" '"event":"done"'
}
mixed "name: idx, path: idx"
mixed "name: idx, path: idx, staging: stream"
mixed "name: idx, path: idx, staging: stream, rowConvert: false, $given"

# Streams: from their files; what is compressed was read at the start.
other "$train" "name: idx, path: idx, staging: stream, cache: false" "${swap[@]}"
other "$test" "name: idx, path: idx, staging: stream, rowConvert: false" "${poke[@]}"
other "$train" "name: idx, path: packed, staging: stream" packed/train-images-idx3-ubyte.gz swap 784 3 7 16
other "$train" "name: cifar10, path: cifar10, staging: stream" cifar10/data_batch_5.bin poke 3072

# Pictures: decoded, or their files' names and sizes; from a packed copy that each host makes of its own.
images="name: images, path: images, imageSize: 12"
for more in "" ", staging: stream" ", cachePath: cache"; do
    other "$train" "$images$more" images/train/dog/7.png with images/train/dog/8.png
done
other "$test" "$images, staging: stream" images/test/eel/4.png longer

other "$train" "$images, staging: stream" images/train/dog/7.png named images/train/dog/7a.png

# Arrays, as they are and as they are scaled.
arrays="name: arrays, path: arrays"
swap=(arrays/train-spectrum.npy swap 160 3 7 128)
model='layers: [{type: input, name: spectrum, shape: [1, 1, 40]}, {type: flatten}, {type: dense, units: 4}]'
other "$train" "$arrays, normalizeBy: given" "${swap[@]}"
other "$train" "$arrays, normalizeBy: channel" "${swap[@]}"
other "$test" "$arrays" arrays/test-spectrum.npy poke 140
other "labels of the test" "$arrays" arrays/test-y.npy poke 128
alike "$arrays, normalizeBy: channel"

# Texts, whose vocabulary is that of the training text.
model='layers: [{type: embedding, vocabulary: 12, units: 6}, {type: dense, units: 12}]'
words="name: text, path: words, steps: 7"
for part in train:training valid:validation test:test; do
    other "samples of the ${part#*:}" "$words" "words/${part%:*}.txt" words 3 5
done
alike "$words"
model='name: mlp, hidden: [8]'
for dataset in "name: idx, path: idx, normalizeBy: pixel" "name: idx, path: packed, staging: stream" \
    "$images, staging: stream" "$images, cachePath: cache" "name: scenes"; do alike "$dataset"; done
verdict
