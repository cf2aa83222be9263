#!/bin/bash
# TIMEOUT: 300
# A stopped run saves all it has done, and continued from there it ends with the bytes of a run that
# was never stopped: at every step, inside and at the end of an epoch, on changing numbers of ranks.
. tests/cli/lib.sh

idx_job stop 2 "everyEpochs: 0, keep: 100"
last() { sha256sum <"$(find "$1" -name 'checkpoint-*' | sort | tail -1)"; }
# engine RANKS OUT ARGUMENT...: the events go to events, the log to log.
engine() {
    ranks "$1" "$PACELINE_WORKER" run --spec job.yaml --out "$2" "${@:3}" >events 2>log
    same "$2, exit code" $? 0
}

engine 1 whole
want=$(last whole)
digest=$(last_field digest)
same "the last event" "$(last_field event)" "done"
same "the digest, digits" "${#digest}" 16
check "the digest in the file" "$(head -c 8000 whole/checkpoint-00000010.safetensors | tr -d '\0')" \
    "\"digest\":\"$digest\""
check "stages" "$(head -2 events | timeless | tr '\n' ' ')" \
    '{"event":"stage","stage":"ranks"} {"event":"stage","stage":"data"}'

# With the file there from the start each run does one step: five batches in an epoch, ten steps.
touch please
for step in 1 2 3 4 5 6 7 8 9; do
    n=$((step % 3 + 1))
    PACELINE_STOP_FILE=$dir/please engine $n parts --resume-if-any
    same "stop $step, event" "$(last_field event) $(last_field step)" "stopped $step"
    same "stop $step, checkpoint" "$(last_field checkpoint)" "parts/checkpoint-$(printf %08d $step).safetensors"
    if [ ! -s "$(last_field checkpoint)" ]; then fail "stop $step: no checkpoint"; fi
done
PACELINE_STOP_FILE=$dir/please engine 2 parts --resume
same "stopped after the last step" "$(last_field event)" "done"
same "ten runs" "$(last parts)" "$want"
same "ten runs, digest" "$(last_field digest)" "$digest"

# Somewhere in the middle, by whoever creates the file; some ten seconds are left for that.
sed 's/epochs: 2/epochs: 200/' job.yaml >long.yaml
ranks 1 "$PACELINE_WORKER" run --spec long.yaml --out long >events 2>log
sed '$a\  debug: {gradientSeconds: 0.02}' long.yaml >slow.yaml
PACELINE_STOP_FILE=$dir/later ranks 2 "$PACELINE_WORKER" run --spec slow.yaml --out some >events &
until_true grep -q '"event":"epoch"' events
touch later
wait $!
same "stopped from outside, exit code" $? 0
same "stopped from outside" "$(last_field event)" stopped
ranks 3 "$PACELINE_WORKER" run --spec long.yaml --out some --resume >events 2>log
same "stopped from outside, bytes" "$(last some)" "$(last long)"

# Without a folder there is nothing to save, but it stops.
PACELINE_STOP_FILE=$dir/please ranks 2 "$PACELINE_WORKER" run --spec job.yaml >events
same "no folder" "$?$(last_field event)$(last_field checkpoint)" 0stopped

# A checkpoint every second, also where the job saves nothing; progress in between.
cat >timed.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: timed}
spec:
  model: {name: mlp}
  dataset: {name: fashion-mnist}
  training: {epochs: 100, batchSize: 2, lanes: 2, threads: 1, optimizer: {learningRate: 1e-6}}
  checkpoint: {everyEpochs: 0, best: false}
JOB
PACELINE_STOP_FILE=$dir/enough ranks 2 "$PACELINE_WORKER" run --spec timed.yaml --out timed \
    --checkpoint-seconds 1 >events 2>log &
until_true grep -q '"event":"checkpoint"' events
until_true grep -q '"event":"progress"' events
check "progress" "$(grep -m1 '"event":"progress"' events)" '"steps":3000000,"epochs":100,"loss":'
check "the learning rate" "$(grep -m1 '"event":"progress"' events)" '"learningRate":1e-06,'
touch enough
wait $!
same "a checkpoint every second" "$?$(last_field event)" 0stopped
verdict
