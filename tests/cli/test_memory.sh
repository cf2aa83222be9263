#!/bin/bash
# TIMEOUT: 300
# `validate` says what memory a worker takes: within 15% of its peak, as the kernel counts it (time's %M, of the
# rank with the most), for jobs of every kind. The baseline, what a process holds without the job's slabs (code,
# libraries, MPI), is the peak of a job of a few kilobytes, alone or among ranks, so that another MPI does not
# decide: 6 and 13 MiB where this was written. Every job takes several times that.
. tests/cli/lib.sh

command -v /usr/bin/time >/dev/null || { echo "/usr/bin/time is needed"; exit 77; }
# grep reads to the end: with -q it would leave, nm would die of SIGPIPE, and pipefail would turn a find into none.
if nm "$PACELINE_WORKER" | grep -E '__[at]san_init' >/dev/null; then
    echo "sanitizers take memory of their own"
    exit 77
fi

words_data
mv data words
idx_data
mkdir labels
# shellcheck disable=SC2154 # lib.sh sets repo
python3 - "$repo" <<'END' || exit 1
import sys
repo = sys.argv[1]
sys.argv = ["", "", "0", "0"]
sys.path.insert(0, repo + "/tests/cli")
from make_arrays import npy
for part, n in (("train", 3000), ("test", 500)):
    open(f"labels/{part}-x.npy", "wb").write(npy("|u1", (n, 10), bytes(i % 256 for i in range(10 * n))))
    open(f"labels/{part}-y.npy", "wb").write(npy("|b1", (n, 800), bytes(i % 7 == 0 for i in range(800 * n))))
END
cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: memory}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data}
  training: {steps: 1, batchSize: 32, threads: 1}
JOB

# measure RANKS FIELD...: sets $said and $peak, in KiB.
measure() {
    local ranks=$1 sets=() field alone=()
    shift
    for field in "replicas.worker.replicas=$ranks" "$@"; do sets+=(--set "$field"); done
    if ! "$PACELINE" validate job.yaml "${sets[@]}" --json >said 2>&1; then fail "$*: $(cat said)"; fi
    said=$(python3 -c 'import json; v = json.load(open("said")); json.dump(v["job"], open("run.json", "w"))
print(int(v["memoryBytes"]["total"] / 1024))')
    if [ "$ranks" -gt 1 ]; then alone=(ranks "$ranks"); fi
    : >peaks
    "${alone[@]}" /usr/bin/time -a -o peaks -f %M "$PACELINE_WORKER" run --spec run.json >log 2>&1
    check "$*: it ran" "$(cat log)" '"event":"done"'
    peak=$(sort -n peaks | tail -1)
}

for ranks in 1 2; do
    measure $ranks
    base[ranks]=$((peak - said))
done

# near NAME RANKS FIELD...
near() {
    local name=$1 ranks=$2
    shift 2
    measure "$ranks" "$@"
    said=$((said + base[ranks]))
    if [ "$peak" -lt $((40 * 1024)) ]; then fail "$name: a peak of $peak KiB only"; fi
    if [ $((said * 100)) -lt $((peak * 85)) ] || [ $((said * 100)) -gt $((peak * 115)) ]; then
        fail "$name: validate says $said KiB, its peak was $peak KiB"
    fi
    echo "$name: said $said KiB, peak $peak KiB"
}

wide='model.hidden=[1800, 1800]'
lstm='model={layers: [{type: embedding, vocabulary: 12, units: 300}, {type: lstm, units: 600}, {type: dense, units: 12}]}'
labels='model={loss: sigmoidCrossEntropy, layers: [{type: flatten}, {type: dense, units: 800}]}'
scenes='dataset={name: scenes, made: {samples: 3000, classes: 4, size: 16, noise: 0.03}}'
near "dense, a large batch" 1 'model.hidden=[300, 300]' training.batchSize=10000 training.threads=2
near "dense, a large batch of as many samples" 1 "$scenes" 'model.hidden=[100]' training.batchSize=2400 \
    dataset.validationSplit=0.1
near "convolutions" 1 'model={name: mnist-cnn}' training.batchSize=1000
near "a residual network" 1 'model={name: resnet20}' training.batchSize=64
near "an LSTM" 1 "$lstm" 'dataset={name: text, path: words, steps: 7}' training.batchSize=32
near "bf16" 1 "$wide" training.precision=bf16 training.batchSize=1000
near "streamed" 1 "$wide" dataset.staging=stream dataset.cache=false
near "accumulated" 1 "$wide" training.accumulate=3 training.optimizer.name=adam
near "a row of labels" 1 "$labels" 'dataset={name: arrays, path: labels}' training.batchSize=3000
near "two workers" 2 "$wide"
near "a sharded optimizer" 2 "$wide" training.optimizer.name=adam training.optimizer.sharded=true
near "a network in two parts" 2 "$wide" strategy.type=ModelParallel strategy.microBatches=2 training.lanes=4
near "asynchronous servers" 2 "$wide" strategy.type=ParameterServer strategy.mode=async
near "elastic averaging" 2 "$wide" strategy.type=ElasticAveraging
verdict
