#!/bin/bash
# TIMEOUT: 600
# `validate` says what memory a worker and a parameter server take: within 15% of the peak, as the kernel counts it
# (time's %M, of the worker and of the server with the most), for jobs of every kind. The baseline, what a process
# holds without the job's slabs (code, libraries, MPI), is the peak of a job of a few kilobytes, alone or among ranks,
# so that another MPI does not decide: 6 and 13 MiB where this was written. Every job takes several times that.
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

# measure WORKERS SERVERS FIELD...: sets said and peak, in KiB, of [worker] and, where there are servers, [server].
declare -A said peak
measure() {
    local workers=$1 servers=$2 sets=() field alone=()
    shift 2
    for field in "replicas.worker.replicas=$workers" "replicas.ps.replicas=$servers" "$@"; do sets+=(--set "$field"); done
    if ! "$PACELINE" validate job.yaml "${sets[@]}" --json >said 2>&1; then fail "$*: $(cat said)"; fi
    read -r 'said[worker]' 'said[server]' < <(python3 -c 'import json; v = json.load(open("said"))
json.dump(v["job"], open("run.json", "w"))
print(*(int(v.get(name, {"total": 0})["total"] / 1024) for name in ("memoryBytes", "serverMemoryBytes")))')
    if [ $((workers + servers)) -gt 1 ]; then alone=(ranks $((workers + servers))); fi
    rm -f peak.*
    # shellcheck disable=SC2016 # the rank's own shell
    "${alone[@]}" sh -c 'exec /usr/bin/time -o "peak.${OMPI_COMM_WORLD_RANK:-0}" -f %M "$@"' rank \
        "$PACELINE_WORKER" run --spec run.json >log 2>&1
    check "$*: it ran" "$(cat log)" '"event":"done"'
    peak[worker]=$(for ((i = 0; i < workers; i++)); do cat "peak.$i"; done | sort -n | tail -1)
    peak[server]=$(for ((i = workers; i < workers + servers; i++)); do cat "peak.$i"; done | sort -n | tail -1)
}

for workers in 1 2; do
    measure $workers 0
    base[workers]=$((peak[worker] - said[worker]))
done

# near NAME WORKERS[+SERVERS] FIELD...
near() {
    local name=$1 workers=${2%+*} servers=0 of
    case $2 in *+*) servers=${2#*+} ;; esac
    shift 2
    measure "$workers" "$servers" "$@"
    for of in worker server; do
        if [ $of = server ] && [ "$servers" = 0 ]; then continue; fi
        said[$of]=$((said[$of] + base[workers + servers > 1 ? 2 : 1]))
        if [ "${peak[$of]}" -lt $((40 * 1024)) ]; then fail "$name: a peak of ${peak[$of]} KiB only"; fi
        if [ $((said[$of] * 100)) -lt $((peak[$of] * 85)) ] || [ $((said[$of] * 100)) -gt $((peak[$of] * 115)) ]; then
            fail "$name: validate says ${said[$of]} KiB for a $of, its peak was ${peak[$of]} KiB"
        fi
        echo "$name: said ${said[$of]} KiB, peak ${peak[$of]} KiB of a $of"
    done
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
near "elastic averaging" 2 "$wide" strategy.type=ElasticAveraging

async=("$wide" strategy.type=ParameterServer strategy.mode=async)
sync=("$wide" strategy.type=ParameterServer)
joined=("${sync[@]}" strategy.batch=join)
near "asynchronous workers that serve" 2 "${async[@]}"
near "an asynchronous server" 2+1 "${async[@]}"
near "an asynchronous server with Adam" 2+1 "${async[@]}" training.optimizer.name=adam
near "two asynchronous servers" 2+2 "${async[@]}"
near "two servers of unlike shares" 2+2 "${async[@]}" training.optimizer.name=adam strategy.placement=greedy
near "a synchronous server" 2+1 "${sync[@]}"
near "a server of four workers" 4+1 "${joined[@]}" training.accumulate=4
near "a server of whole gradients" 2+1 "${joined[@]}" strategy.schedule=allAtOnce training.accumulate=2
near "a server of many gradients" 2+1 "${joined[@]}" strategy.schedule=oneAtATime training.accumulate=8
near "two servers of whole gradients" 2+2 "${joined[@]}" strategy.schedule=allAtOnce training.accumulate=2
near "a backup worker" 2+1 "${joined[@]}" strategy.backupWorkers=1
near "a switch" 2+1 "$wide" strategy.type=StrategySwitch strategy.switch.when=epoch strategy.switch.epoch=1 \
    training.optimizer.name=adam
verdict
