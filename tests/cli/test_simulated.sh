#!/bin/bash
# TIMEOUT: 300
# Simulated networks and computers (spec.debug) and the transfer semaphore: the bytes stay, what was
# simulated says so everywhere, and a server has one transfer per direction at a time.
. tests/cli/lib.sh

conv_job slower
slow=(--set debug.bandwidth=20Mi --set debug.latencySeconds=0.001)
said() { grep -c '"simulated":true' "$1/events.jsonl"; } # in start and done

want=$(result one)
check "one rank" "$want" "  -"
same "not simulated" "$(said one)" 0
for algorithm in tree recursiveDoubling ring; do
    plain=$want
    if [ $algorithm = ring ]; then
        plain=$(result plain --workers 3 --set strategy.algorithm=ring)
    fi
    same "$algorithm, simulated" "$(result "$algorithm" --workers 3 "${slow[@]}" \
        --set strategy.algorithm=$algorithm)" "$plain"
    same "$algorithm says so" "$(said $algorithm)" 2
done
same "servers" "$(result servers --workers 2 "${slow[@]}" --set debug.jitter=0.5 \
    --set strategy.type=ParameterServer --set replicas.ps.replicas=1)" "$want"
same "jitter" "$(result jitter --set debug.jitter=2)" "$want"
same "jitter says so" "$(said jitter)" 2
same "slowdown" "$(result slow --set debug.slowdown='[1.5]')" "$want"
same "slowdown says so" "$(said slow)" 2
check "the table" "$(cat slow.log)" "simulated      times are those of slower computers or networks"
check "the report" "$(cat slow/report.html)" "; simulated: times are those of slower computers"
case $(cat one.log one/report.html) in *simulated:*|*"times are those"*) fail "a real run says simulated" ;; esac

# A rank's line needs at least so long for what it sends.
seconds=$(tail -1 tree/events.jsonl | sed 's/.*"trainSeconds":\([0-9.e-]*\).*/\1/')
bytes=$(tail -1 tree/events.jsonl | sed 's/.*"bytesSent":\([0-9]*\).*/\1/')
if ! awk "BEGIN { exit !($seconds >= $bytes / 3 / (20 * 1048576)) }"; then
    fail "$bytes bytes of 3 ranks took $seconds s at 20 MiB/s"
fi

# So does a transfer of all parameters that is timed, of large networks by a part; timing it changes nothing.
timed() { ranks 3 "$PACELINE_WORKER" run --spec "$1" --out "$2" "${@:3}" 2>>timed.log || fail "$2: $(cat timed.log)"; }
started() { sed -n "s/.*\"event\":\"start\".*\"$2\":\([0-9.e-]*\).*/\1/p" "$1.events"; }
timed tree/job.json untimed >untimed.events
timed tree/job.json timed --time-transfer >timed.events
cat >large.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: large}
spec:
  model: {name: mlp, hidden: [2048, 512]}
  dataset: {name: idx, path: $PWD/data}
  training: {steps: 1, batchSize: 30, threads: 1}
  debug: {bandwidth: 20Mi}
  replicas: {worker: {replicas: 3}}
JOB
timed large.yaml large --time-transfer >large.events
for run in timed large; do
    seconds=$(started $run transferSeconds) params=$(started $run params)
    awk "BEGIN { exit !(${seconds:-0} >= $params * 4 / (20 * 1048576)) }" ||
        fail "$run: $params parameters took ${seconds:-no} s"
done
same "a timed run" "$(tail -1 timed.events | grep -o '"digest":"[0-9a-f]*"')" \
    "$(tail -1 untimed.events | grep -o '"digest":"[0-9a-f]*"')"
same "not timed" "$(grep -c transferSeconds untimed.events)" 0

# Asynchronous servers in a scripted order: the same bytes with the semaphore, on any network.
async=(--workers 3 --set replicas.ps.replicas=2 --set strategy.type=ParameterServer
    --set strategy.mode=async)
order=(--set debug.pushOrder='[2, 1, 1, 0, 2]')
of() { tail -1 "$1/events.jsonl" | grep -o "\"$2\":[0-9]*" | cut -d: -f2; }
first=$(result scripted "${async[@]}" "${order[@]}")
check "a scripted order" "$first" "  -"
same "with the semaphore" "$(result semaphore "${async[@]}" "${order[@]}" \
    --set strategy.transferSemaphore=true)" "$first"
same "on a slow network" "$(result slow-semaphore "${async[@]}" "${order[@]}" "${slow[@]}" \
    --set strategy.transferSemaphore=true)" "$first"
same "without it" "$(result slow-scripted "${async[@]}" "${order[@]}" "${slow[@]}")" "$first"
check "unscripted" "$(result free "${async[@]}" "${slow[@]}" --set debug.jitter=1 \
    --set strategy.transferSemaphore=true)" "  -"
# Where the workers are the servers, what stays on one is on no line, and counts as sent by nobody.
on=("${async[@]}" --set replicas.ps.replicas=0)
same "servers on the workers" "$(result on "${on[@]}" "${order[@]}")" "$first"
same "and on a slow network, one at a time" "$(result slow-on "${on[@]}" "${order[@]}" "${slow[@]}" \
    --set strategy.transferSemaphore=true)" "$first"
same "nothing sent to itself" "$(tail -1 slow-on/events.jsonl | sed 's/.*"bytesTo":\(\[\[.*\]\]\),"pushed.*/\1/' |
    python3 -c 'import json, sys; print([row[i] for i, row in enumerate(json.load(sys.stdin))])')" "[0, 0, 0]"
check "unscripted, on the workers" "$(result free-on "${on[@]}" "${slow[@]}" --set debug.jitter=1 \
    --set strategy.transferSemaphore=true)" "  -"
for run in semaphore slow-semaphore free slow-on free-on; do
    same "$run: transfers at once" "$(of $run transfersIn) $(of $run transfersOut)" "1 1"
done

"$PACELINE" speedup job.yaml --workers 1 --steps 4 --set debug.jitter=0.1 --out sped >sped.log 2>&1
check "speedup's table" "$(cat sped.log)" "simulated: times are those of slower computers or networks"
check "speedup's report" "$(cat sped/report.html)" "Paceline speedup report, simulated: times"
"$PACELINE" speedup job.yaml --workers 1 --steps 4 --set debug.slowdown='[1.1]' --out sped --json >sped.log 2>&1
check "speedup's JSON" "$(cat sped.log)" '"simulated":true'

refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
refused "mpi" "spec.strategy.algorithm: found mpi, ModelParallel or groups; allowed with debug.bandwidth" \
    --set strategy.algorithm=mpi --set debug.bandwidth=1Gi
refused "mpi" "any but mpi, " --set strategy.algorithm=mpi --set debug.latencySeconds=0.1
refused "a split network" "any but mpi, ModelParallel" --set strategy.type=ModelParallel \
    --set debug.bandwidth=1Gi --workers 2
refused "no bandwidth" "debug.bandwidth: found 0; allowed: bytes" --set debug.bandwidth=0
refused "a semaphore of sync" "strategy.transferSemaphore: found, but it belongs to spec.strategy.mode: async|bounded only" \
    --set strategy.transferSemaphore=true --set strategy.type=ParameterServer
verdict
