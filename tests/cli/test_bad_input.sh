#!/bin/bash
# TIMEOUT: 300
# Bad input to the real engine, on one rank and on two: one clear sentence, the documented exit code,
# the checkpoint of before untouched, no rank and no shared memory left behind.
# LANE: waiting
. tests/cli/lib.sh

mkdir shm
idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: bad}
spec:
  model: {name: mlp, hidden: [32]}
  dataset: {name: idx, path: data}
  training: {epochs: 3, batchSize: 64, lanes: 8, threads: 1}
  checkpoint: {everySteps: 1}
JOB

# Each rank writes down its process id, and may be limited in what it writes; shared memory of MPI
# goes where it can be looked for.
engine=$PACELINE_WORKER
cat >worker <<END
#!/bin/bash
echo \$\$ >>"$dir/pids"
ulimit -f "\${FILE_KIB:-unlimited}"
exec "$engine" "\$@"
END
chmod +x worker
export PACELINE_WORKER=$dir/worker
export OMPI_MCA_btl_vader_backing_directory=$dir/shm OMPI_MCA_btl_sm_backing_directory=$dir/shm

# refused NAME CODE SENTENCE ARGUMENT...: a run that must end with this code and say this, once. No
# process of it is left, nor memory named after it.
refused() {
    local what=$1 code=$2 sentence=$3 command status
    shift 3
    : >pids
    "$PACELINE" run "$@" >output 2>errors &
    command=$!
    wait $command
    status=$?
    same "$what, exit code" $status "$code"
    check "$what" "$(cat errors)" "$sentence"
    same "$what, sentences" "$(grep -cvE '^paceline run: (the checkpoint|there is no checkpoint)' errors)" 1
    # shellcheck disable=SC2046
    gone $(cat pids) || fail "$what: a rank is left"
    same "$what, shared memory" \
        "$(find shm /dev/shm -name "*-$(printf %x $command)" -o -path 'shm/*')" ""
}

"$PACELINE" run job.yaml --out good --set training.steps=2 >/dev/null || fail "the good run"
before=$(cd good && sha256sum -- *.safetensors)
same "the good run, checkpoints" "$(wc -l <<<"$before")" 3

# resumed NAME CODE SENTENCE ARGUMENT...: the same, on one rank and on two, over a good checkpoint.
resumed() {
    local what=$1 workers
    shift
    for workers in 1 2; do
        rm -rf again
        cp -a good again
        refused "$what, $workers workers" "$1" "$2" "${@:3}" --out again --resume --workers $workers
        same "$what, $workers workers, checkpoints" "$(cd again && sha256sum -- *.safetensors)" \
            "$before"
    done
}

# damage NAME COMMAND...: a copy of the data, changed by a command in its folder.
damage() {
    cp -a data "$1"
    (cd "$1" && "${@:2}") || fail "could not make $1"
}
# poke FILE BYTES OFFSET
poke() { printf '%b' "$2" | dd of="$1" bs=1 seek="$3" conv=notrunc status=none; }

damage missing rm train-labels-idx1-ubyte
damage short truncate -s -100 train-images-idx3-ubyte
damage headless truncate -s 3 t10k-images-idx3-ubyte
damage magic poke train-images-idx3-ubyte '\x08\x01' 0
damage fewer poke train-labels-idx1-ubyte '\x00\x00\x01\x0d' 4
damage label poke t10k-labels-idx1-ubyte '\xc8' 20
gzip -c data/train-images-idx3-ubyte >whole.gz
damage cut sh -c 'rm train-images-idx3-ubyte; head -c 9000 ../whole.gz >train-images-idx3-ubyte.gz'
damage two mv t10k-images-idx3-ubyte images
damage flat "python3" "$repo/tests/cli/make_idx.py" . 270 40 5 4

resumed "no folder" 3 "nowhere" job.yaml --set dataset.path=nowhere
resumed "a missing file" 3 "train-labels-idx1-ubyte" job.yaml --set dataset.path=missing
resumed "a missing test file" 3 "t10k-images-idx3-ubyte" job.yaml --set dataset.path=two
resumed "a truncated file" 3 "short/train-images-idx3-ubyte" job.yaml --set dataset.path=short
resumed "a file of three bytes" 3 "t10k-images-idx3-ubyte" job.yaml --set dataset.path=headless
resumed "a wrong magic number" 3 "magic" job.yaml --set dataset.path=magic
resumed "fewer labels than images" 3 "269" job.yaml --set dataset.path=fewer
resumed "a label out of range" 3 "label 200 of sample 12" job.yaml --set dataset.path=label
resumed "a truncated gzip file" 3 "train-images-idx3-ubyte.gz" job.yaml --set dataset.path=cut
resumed "a layer that does not fit" 2 "conv1: its 9x9 kernel does not fit into the 5x4 image" \
    job.yaml --set dataset.path=flat \
    --set model='{layers: [{type: conv, filters: 2, kernel: 9}, {type: flatten}, {type: dense, units: 4}]}'
resumed "too few outputs" 2 "the last layer has 3 outputs, but the data have 4 classes" job.yaml \
    --set model='{layers: [{type: flatten}, {type: dense, units: 3}]}'
resumed "no flat output" 2 "the last layer gives a 2x26x26 image" job.yaml \
    --set model='{layers: [{type: conv, filters: 2, kernel: 3}]}'
resumed "an unknown field" 2 "batchsize" job.yaml --set training.batchsize=3
resumed "a value out of range" 2 "spec.training.batchSize" job.yaml --set training.batchSize=0
resumed "another network" 2 "written with spec.model.hidden [32], but the job has [33]" job.yaml \
    --set 'model.hidden=[33]'
resumed "another network's tensors" 2 "written with spec.model." job.yaml \
    --set model='{layers: [{type: flatten}, {type: dense, name: top, units: 4}]}'
resumed "another batch size" 2 "written with spec.training.batchSize 64, but the job has 32" job.yaml \
    --set training.batchSize=32
resumed "another seed" 2 "written with spec.training.seed 1, but the job has 2" job.yaml --set training.seed=2
resumed "other lanes" 2 "written with lanes 8, but the job has 16" job.yaml --set training.lanes=16
resumed "fewer samples" 2 "written with spec.dataset.limit 0, but the job has 66" job.yaml \
    --set dataset.limit=66
resumed "another last batch" 2 "written with spec.training.lastBatch keep, but the job has drop" job.yaml \
    --set training.lastBatch=drop
resumed "another optimizer" 2 "written with spec.training.optimizer.name sgd, but the job has adam" job.yaml \
    --set training.optimizer='{name: adam}'
resumed "drop without a whole batch" 2 "lastBatch" job.yaml --set training.batchSize=512 \
    --set training.lastBatch=drop
# The last update breaks the weights, after its loss was still finite.
cat >broken.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: broken}
spec:
  model: {layers: [{type: flatten}, {type: dense, units: 4}]}
  dataset: {name: idx, path: data}
  training: {steps: 4, batchSize: 8, l2: 1e6, optimizer: {name: sgd, learningRate: 1e6, momentum: 0}}
JOB
for workers in 1 2; do
    refused "weights that the last update broke, $workers" 4 "step 4: the update made a weight NaN" \
        broken.yaml --workers $workers --out "broken$workers"
    same "weights that the last update broke, files" "$(find "broken$workers" -name '*.safetensors')" ""
done
resumed "NaN in the loss" 4 "step 3: the loss is" job.yaml --set debug.failNan=true
resumed "a diverging job" 4 "the first layer with NaN or infinity is dense" job.yaml \
    --set training.optimizer.learningRate=1e6 --set training.l2=1e6 --set checkpoint.everySteps=0

# Fresh runs: what they refuse is not there to be resumed either.
refused "initial weights that are not there" 3 "absent.safetensors" job.yaml --out fresh \
    --set model.initialWeights=absent.safetensors
refused "initial weights of another network" 2 \
    "dense1.weight is F32 [32, 784], but the job's model has F32 [9, 784] there; it is a checkpoint of another model" job.yaml \
    --out fresh --workers 2 --set model.initialWeights=good/best.safetensors --set 'model.hidden=[9]'
same "fresh runs" "$(ls fresh/*.safetensors 2>/dev/null)" ""
refused "a batch smaller than the workers" 2 "a batch of 1 for 2 workers" job.yaml --workers 2 \
    --set training.batchSize=1 --set training.lanes=8 --out small
refused "fewer lanes than workers" 2 "3 workers for 2 lanes" job.yaml --workers 3 \
    --set training.lanes=2 --out small

# A damaged checkpoint is named, not continued and not replaced.
damaged() {
    local what=$1 sentence=$2 sum
    shift 2
    rm -rf again
    cp -a good again
    rm again/best.safetensors
    "$@" again/checkpoint-00000002.safetensors
    sum=$(sha256sum <again/checkpoint-00000002.safetensors)
    refused "$what" 3 "$sentence" job.yaml --out again --resume --workers 2
    same "$what, checkpoint" "$(sha256sum <again/checkpoint-00000002.safetensors)" "$sum"
}
damaged "a truncated checkpoint" "checkpoint-00000002.safetensors" truncate -s -40
damaged "an empty checkpoint" "0 bytes" truncate -s 0
damaged "an impossible position" "step 2 cannot be batch 3 of epoch 0" \
    sed -i '1s/"batch":"2"/"batch":"3"/'
damaged "a position between batches" "step 2 cannot be batch 1 of epoch 0" \
    sed -i '1s/"batch":"2"/"batch":"1"/'
damaged "a position past the epoch" "step 2 cannot be batch 7 of epoch 0" \
    sed -i '1s/"batch":"2"/"batch":"7"/'

# Nothing to resume: the command begins anew and says so, the engine alone refuses.
errors=$("$PACELINE" run job.yaml --out empty --resume --set training.steps=1 2>&1 >/dev/null)
same "an empty folder, exit code" $? 0
check "an empty folder" "$errors" "empty holds no checkpoint: starting from the beginning"
mkdir nothing
output=$("$engine" run --spec good/job.json --out nothing --resume 2>/dev/null)
same "nothing to resume, exit code" $? 3
check "nothing to resume" "$output" "nothing: no checkpoint to resume from"

# A full disk, where a small file system may be mounted; a limit on the size of files.
if mkdir small && mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    # shellcheck disable=SC2064
    trap "umount '$dir/small'; rm -rf '$dir'" EXIT
    for workers in 1 2; do
        rm -rf small/*
        cp -a good small/run
        head -c 2m /dev/zero >small/filler 2>/dev/null
        truncate -s -64k small/filler # enough for all but a checkpoint
        refused "a full disk, $workers workers" 5 "No space left on device" job.yaml \
            --out small/run --resume --workers $workers
        same "a full disk, $workers workers, checkpoints" \
            "$(cd small/run && sha256sum -- *.safetensors)" "$before"
        same "a full disk, $workers workers, files" \
            "$(find small/run -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')" \
            "best.safetensors checkpoint-00000001.safetensors checkpoint-00000002.safetensors events.jsonl job.json report.html "
    done
    rm -f small/filler
    "$PACELINE" run job.yaml --out small/run --resume >/dev/null || fail "after a full disk"
else
    echo "no file system may be mounted here: no disk was full"
fi
# One rank: several need larger files for their shared memory.
rm -rf again
cp -a good again
FILE_KIB=160 refused "a limit on files" 5 "File too large" job.yaml --out again --resume --workers 1
same "a limit on files, checkpoints" "$(cd again && sha256sum -- *.safetensors)" "$before"

# Ranks that see different data, each in a folder of its own, as on hosts of their own: no rank waits
# for what will not come.
cat >apart <<END
#!/bin/sh
folder=\$1
[ "\$OMPI_COMM_WORLD_RANK" = 0 ] && folder=host0
unset OMPI_COMM_WORLD_LOCAL_SIZE
cd "$dir/\$folder" && exec "$dir/worker" run --spec job.json --out out
END
chmod +x apart
apart() {
    local what=$1 code=$2 sentence=$3
    : >pids
    ranks 2 ./apart "$4" >output 2>errors
    same "$what, exit code" $? "$code"
    check "$what" "$(cat output)" "$sentence"
    same "$what, errors" "$(grep -c '"event":"error"' output)" 1
    # shellcheck disable=SC2046
    gone $(cat pids) || fail "$what: a rank is left"
}
for host in host0 host-missing host-fewer host-labels; do
    mkdir -p "$host/out"
    cp -a data "$host"
    sed 's|"path": "[^"]*"|"path": "data"|' good/job.json >"$host/job.json" # each host's own
done
rm host-missing/data/train-images-idx3-ubyte
python3 "$repo/tests/cli/make_idx.py" host-fewer/data 200 40
poke host-labels/data/train-labels-idx1-ubyte '\x00\x01\x02\x03\x03\x02\x01' 30
apart "data missing on one host" 3 "train-images-idx3-ubyte" host-missing
apart "fewer data on one host" 2 "differ in the sizes of the data set" host-fewer
apart "other labels on one host" 2 "differ in the labels of the training set" host-labels
verdict
