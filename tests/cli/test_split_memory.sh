#!/bin/bash
# TIMEOUT: 600
# A network that needs 1.6 times the memory of one worker trains on two, split: each may use 1,416 MiB of
# address space, and the job needs more than 2,265 MiB. The ranks write no files: what goes to a checkpoint goes
# to worker 0 for the digest of the end, tensor by tensor.
. tests/cli/lib.sh

LIMIT_KIB=1450000
# Arenas of threads are addresses, not memory.
limited() { (ulimit -v $LIMIT_KIB && MALLOC_ARENA_MAX=1 "$@" 2>&1); }
# Sanitizers need more address space than there is.
limited "$PACELINE" --help >/dev/null || { echo "the programs do not start under ulimit -v"; exit 77; }

idx_data
{
    cat <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: large}
spec:
  dataset: {name: idx, path: data, limit: 8}
  training: {steps: 2, batchSize: 4, threads: 1, optimizer: {name: rmsprop, centered: true, momentum: 0.9}}
  strategy: {type: ModelParallel}
  model:
    layers:
      - {type: flatten}
      - {type: dense, units: 3000}
JOB
    for _ in $(seq 16); do echo "      - {type: relu}
      - {type: dense, units: 3000}"; done
    echo "      - {type: dense, units: 4}"
} >job.yaml

out=$(limited "$PACELINE_WORKER" run --spec job.yaml)
if grep -q '"event":"done"' <<<"$out"; then fail "one worker: $out"; fi
check "one worker" "$out" "memory"
limited ranks 2 "$PACELINE_WORKER" run --spec job.yaml >events
check "two workers" "$(cat events)" '"event":"done","step":2'


"$PACELINE_WORKER" run --spec job.yaml >one
digest() { grep -o '"digest":"[^"]*"' "$1"; }
same "the bytes of one without a limit" "$(digest events)" "$(digest one)"
need=$(grep -o '"memoryBytes":[0-9]*' one | cut -d: -f2)
if [ "$need" -lt $((1024 * LIMIT_KIB * 8 / 5)) ]; then fail "one worker needs $need bytes only"; fi
verdict
