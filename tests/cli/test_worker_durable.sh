#!/bin/bash
# TIMEOUT: 300
# The durable folder: it gets the job's own checkpoints, the job and the model, a run resumes from it
# to the bytes of one that was never interrupted, and storage that fails is told of.
# LANE: waiting
. tests/cli/lib.sh

idx_job kept 2 "everyEpochs: 0, everySteps: 3, keep: 1, best: false"
steps() { find "$1" -name 'checkpoint-*' -printf '%f\n' | sort | tr -dc '0-9\n' | sed 's/^0*//' | xargs; }
# engine RANKS CODE OUT DURABLE ARGUMENT...: the events go to events, the log to log.
engine() {
    ranks "$1" "$PACELINE_WORKER" run --spec job.yaml --out "$3" --durable "$4" "${@:5}" >events 2>log
    same "$3, exit code" $? "$2"
}

# Every checkpoint of the job's own is there, as many as it keeps; then the job and the model.
sed -i 's/keep: 1/keep: 100/' job.yaml
engine 1 0 whole store
same "all of them" "$(steps store)" "3 6 9 10"
same "told of" "$(grep -c '"event":"durable"' events)" 4
for file in whole/checkpoint-*; do
    cmp "$file" "store/${file#whole/}" || fail "$file differs in the store"
done
cmp store/model.safetensors whole/checkpoint-00000010.safetensors || fail "the model is not that of the last step"
"$PACELINE" run job.yaml --out local >/dev/null 2>&1
cmp store/job.json local/job.json || fail "the job differs from that of paceline run"
same "nothing else" "$(find store -type f ! -name 'checkpoint-*' -printf '%f\n' | sort | xargs)" "job.json model.safetensors"
sed -i 's/keep: 100/keep: 1/' job.yaml
engine 1 0 few store1
same "those that are kept" "$(steps store1)" "9 10"
cmp store1/model.safetensors store/model.safetensors || fail "keep changes the model"

# Those of the clock for memory alone do not go there: at 0 s after each step, were it asked.
engine 2 0 both store2 --checkpoint-seconds 1
same "the job's own only" "$(steps store2)" "9 10"

# Memory is lost at each stop, and the best, too: the store has what is needed.
touch please
sed -i 's/best: false/best: true/' job.yaml
engine 1 0 whole2 store3
for step in 1 2 3 4 5 6 7 8 9; do
    rm -rf memory
    PACELINE_STOP_FILE=$dir/please engine $((step % 3 + 1)) 0 memory parts --resume-if-any
    same "stop $step" "$(last_field event) $(last_field step)" "stopped $step"
done
rm -rf memory
engine 2 0 memory parts --resume-if-any
same "its end" "$(last_field event)" "done"
cmp parts/model.safetensors store3/model.safetensors || fail "ten parts differ from the whole"
cmp parts/best.safetensors store3/best.safetensors || fail "the best differs"
rm -rf memory
engine 1 0 memory parts --resume-if-any
cmp memory/checkpoint-00000010.safetensors parts/model.safetensors || fail "memory lacks the model"

# The newer one counts, wherever it is; one that is damaged does not.
rm -rf memory parts/checkpoint-00000010.safetensors
mkdir -p memory old
cp whole/checkpoint-00000006.safetensors memory
cp whole/checkpoint-00000003.safetensors old
sed -i 's/best: true/best: false/' job.yaml
engine 1 0 memory old --resume-if-any
check "memory is newer" "$(grep '"event":"start"' events)" '"resumedStep":6'
cmp old/model.safetensors store/model.safetensors || fail "resumed from memory it differs"
rm -rf memory old
mkdir old
head -c 1000 whole/checkpoint-00000009.safetensors >old/checkpoint-00000009.safetensors
cp whole/checkpoint-00000003.safetensors old
engine 2 0 memory old --resume-if-any
check "a damaged one" "$(<log)" "skipped a checkpoint: old/checkpoint-00000009.safetensors"
check "the one before" "$(grep '"event":"start"' events)" '"resumedStep":3'
cmp old/model.safetensors store/model.safetensors || fail "resumed from the one before it differs"

# Checkpoints of a job that trains otherwise are not gone on from; more epochs are the same job.
rm -rf memory
sed 's/name: adam/name: adam, beta1: 0.8/' job.yaml >adam.yaml
sed 's/epochs: 2/epochs: 3/' job.yaml >longer.yaml
sed 's/epochs: 2/epochs: 3, learningRateSchedule: {type: cosine}/' job.yaml >cosine.yaml
other() { # NAME CODE: adam.yaml and its like on the store of job.yaml
    rm -rf memory other
    cp -r store other
    ranks 2 "$PACELINE_WORKER" run --spec "$1.yaml" --out memory --durable other --resume-if-any >events 2>log
    same "$1, exit code" $? "$2"
}
other adam 2
check "another job" "$(tail -1 events)" '"message":"the durable folder: other/job.json: the checkpoints there were written with spec.training.optimizer.beta1 0.9, but the job has 0.8; give this job another name'
same "nothing is written" "$(steps other)" "3 6 9 10"
cmp other/job.json store/job.json || fail "the job of the checkpoints is gone"
other cosine 2
check "another curve" "$(tail -1 events)" "written with spec.training.learningRateSchedule.type constant, but the job has cosine"
other longer 0
check "more epochs" "$(grep '"event":"start"' events)" '"resumedStep":10'
same "more epochs" "$(last_field event) $(last_field step)" "done 15"

# A job that indentation would make too long to be loaded is written on one line, and resumes.
{
    sed '/^spec:/q' job.yaml
    echo "  replicas: {worker: {template: {spec: {containers: [{name: worker, env: ["
    for n in $(seq 2000); do printf '{name: E%s, value: "%0450d"},\n' "$n" "$n"; done
    echo "]}]}}}}"
    sed '1,/^spec:/d' job.yaml
} >long.yaml
rm -rf other
for start in 1 2; do
    rm -rf memory
    "$PACELINE_WORKER" run --spec long.yaml --out memory --durable other --resume-if-any >events 2>log
    same "a long job, start $start" "$?$(tail -1 events | grep -o '"message".*')" 0
done
same "a long job" "$(wc -l <other/job.json)" 1
check "a long job" "$(grep '"event":"start"' events)" '"resumedStep":10'
"$PACELINE" run long.yaml --out long >log 2>&1 || fail "a long job: $(cat log)"
cmp other/job.json long/job.json || fail "a long job differs from that of paceline run"

# What no checkpoint records is compared as well: a job created again resumes without being asked.
# kept WORDS...: job.yaml with these changes (sed) has trained into earlier; the engine's end is in events.
# again CODE WORDS...: a job with these changes, too, on that folder.
changed() { sed -e "" "${@/#/-e}" job.yaml >variant.yaml; }
kept() {
    base=("$@")
    rm -rf memory earlier
    changed "$@"
    ranks 2 "$PACELINE_WORKER" run --spec variant.yaml --out memory --durable earlier >events 2>log ||
        fail "$*: $(tail -1 events)"
    cp variant.yaml kept.yaml
}
again() {
    local code=$1
    shift
    rm -rf memory other
    cp -r earlier other
    changed "${base[@]}" "$@"
    ! cmp -s variant.yaml kept.yaml || fail "$*: it is the same job"
    ranks 2 "$PACELINE_WORKER" run --spec variant.yaml --out memory --durable other --resume-if-any >events 2>log
    same "$*, exit code" $? "$code"
}
spec() { echo "s|^spec:|spec:\n  $1|"; }
model() { echo "s/hidden: \[20\]/hidden: [20], $1/"; }
written="the durable folder: other/job.json: the checkpoints there were written with"
kept
again 2 "$(spec "strategy: {algorithm: ring}")"
check "another algorithm" "$(tail -1 events)" "$written spec.strategy.algorithm tree, but the job has ring; give"
again 2 "$(spec "strategy: {type: LocalSGD}")"
check "another strategy" "$(tail -1 events)" "$written spec.strategy.type AllReduce, but the job has LocalSGD; give"
cp store/model.safetensors start.safetensors
again 2 "$(model "initialWeights: start.safetensors")"
check "other weights to start from" "$(tail -1 events)" \
    "$written spec.model.initialWeights none, but the job has $dir/start.safetensors; give"
again 0 "$(spec "strategy: {schedule: end, fusionBytes: 8192}")"
kept "$(model "initialWeights: start.safetensors")"
again 0 "s/threads: 1/threads: 2/"
kept "$(spec "strategy: {type: LocalSGD}")"
again 2 "s/path: data/path: data, distribution: {kind: iid}/"
check "other samples" "$(tail -1 events)" \
    "$written spec.dataset.distribution.kind dealt, but the job has iid; give"
kept "s/epochs: 2/epochs: 2, learningRateSchedule: {type: cosine}/"
again 2 "s/epochs: 2/epochs: 3/"
check "a curve of another length" "$(tail -1 events)" \
    "$written spec.training.epochs 2, but the job has 3; give"
again 0 "s/threads: 1/threads: 2/"

# Storage that cannot be written at all is told of at once, that fails in between costs a copy, and
# without the model the run has not succeeded.
touch file
engine 2 5 memory2 file/store
check "no folder" "$(tail -1 events)" '"code":5,"message":"the durable folder: file/store/job.json'
mkdir -p holes/checkpoint-00000006.safetensors
engine 1 0 memory3 holes
check "a hole" "$(grep '"event":"durable","step":6' events)" '"message":"holes/checkpoint-00000006.safetensors: Is a directory"'
cmp holes/model.safetensors store/model.safetensors || fail "a hole changes the model"
mkdir -p last/checkpoint-00000010.safetensors
engine 2 5 memory4 last
check "no model" "$(tail -1 events)" '"message":"the model is not where it should be: last/checkpoint-00000010.safetensors: Is a directory"'

# Two writers at once: the same bytes, and nothing half done.
for n in 1 2; do
    "$PACELINE_WORKER" run --spec job.yaml --out "writer$n" --durable shared >"events$n" 2>"log$n" &
done
wait %1 || fail "writer 1: $(tail -1 log1)"
wait %2 || fail "writer 2: $(tail -1 log2)"
cmp shared/model.safetensors store/model.safetensors || fail "two writers spoil the model"
same "two writers" "$(find shared -type f -printf '%f\n' | sort | xargs)" \
    "checkpoint-00000009.safetensors checkpoint-00000010.safetensors job.json model.safetensors"
verdict
