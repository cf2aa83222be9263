#!/bin/bash
# TIMEOUT: 120
# A world that is not the one asked for, and a rank that falls silent: one line says which, and the
# whole world ends.
. tests/cli/lib.sh

# engine RANKS ARGUMENT...: the pids of the ranks go to pid.0, pid.1, ...
cat >with_pid <<'WRAPPER'
#!/bin/bash
echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-0}"
exec "$PACELINE_WORKER" run --spec "$@"
WRAPPER
chmod +x with_pid
engine() { ranks "$1" ./with_pid "${@:2}" >events 2>log; }

engine 2 job.yaml --workers 2
same "two of two" $? 0
engine 2 job.yaml --workers 3
same "two of three" $? 1
check "two of three" "$(cat events)" '"message":"rank 0 on '
check "two of three" "$(cat events)" "the world has 2 ranks, not the 3 of --workers"
PACELINE_HOST=apple ./with_pid job.yaml --workers 2 >events 2>log
same "one of two" $? 1
check "one of two" "$(cat events)" "rank 0 on apple: the world has 1 ranks, not the 2 of --workers"
for bad in -1 2x '' 99999999999; do
    ./with_pid job.yaml --workers "$bad" >events 2>log
    same "--workers $bad" $? 2
    check "--workers $bad" "$(cat log)" "--workers is \"$bad\"; it takes a whole number from 0 to 2147483647"
done

# Rank 1 is stopped in the middle: both other ranks wait for it, and one of them has to say so.
sed 's/epochs: 2/epochs: 1000000/' job.yaml >long.yaml
for size in 2 3; do
    rm -f pid.* events
    ranks $size ./with_pid long.yaml --step-timeout 4 >events 2>log &
    until_true grep -q '"event":"epoch"' events
    kill -STOP "$(cat pid.1)"
    wait $!
    same "rank 1 of $size silent" $? 1
    check "rank 1 of $size silent" "$(cat log)" " did not finish within 4 s; another rank or the network may be gone"
    until_true gone "$(cat pid.0)" "$(cat pid.1)"
done
# Steps that end in time are left alone, however many there are before anything else.
cat >steps.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: steps}
spec:
  model: {name: fashion-cnn}
  dataset: {name: fashion-mnist}
  training: {epochs: 1, batchSize: 2, lanes: 2, threads: 1, optimizer: {learningRate: 1e-6}}
JOB
PACELINE_STOP_FILE=$dir/enough ranks 2 ./with_pid steps.yaml --step-timeout 3 >events 2>log &
until_true grep -q '"event":"progress"' events
sleep 4
touch enough
wait $!
same "a long run" "$?$(sed -n '$s/.*"event":"\([a-z]*\)".*/\1/p' events)" 0stopped
verdict
