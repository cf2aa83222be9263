#!/bin/bash
# TIMEOUT: 900
# A network that needs 1.6 times the memory of one worker trains on two, split: each may use 1,416 MiB of
# address space, and the job needs more than 2,265 MiB. So does its checkpoint, of 2,211 MiB: it is written under the
# limit, tensor by tensor, and resumed from, to the bytes of one worker without a limit.
# LANE: waiting
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
if [ "$(df --output=avail -k . | tail -1)" -lt $((6 * 1024 * 1024)) ]; then echo "6 GiB of disk are needed"; exit 77; fi
sed 's/steps: 2/steps: 1/' job.yaml >half.yaml
limited ranks 2 "$PACELINE_WORKER" run --spec half.yaml --out run >events
check "the first step" "$(cat events)" '"event":"done","step":1'
large=$(stat -c %s run/checkpoint-00000001.safetensors)
if [ "${large:-0}" -lt $((1024 * LIMIT_KIB * 3 / 2)) ]; then fail "a checkpoint of ${large:-0} bytes only"; fi
limited ranks 2 "$PACELINE_WORKER" run --spec job.yaml --out run --resume >events
check "resumed" "$(cat events)" '"event":"done","step":2'

"$PACELINE_WORKER" run --spec job.yaml >one
digest() { grep -o '"digest":"[^"]*"' "$1"; }
check "its digest" "$(digest one)" '"digest":"'
same "the digest of one without a limit" "$(digest events)" "$(digest one)"
same "and so the file's" "$(head -c 65536 run/checkpoint-00000002.safetensors | grep -ao '"digest":"[^"]*"')" "$(digest one)"
need=$(grep -o '"memoryBytes":[0-9]*' one | cut -d: -f2)
if [ "$need" -lt $((1024 * LIMIT_KIB * 8 / 5)) ]; then fail "one worker needs $need bytes only"; fi
verdict
