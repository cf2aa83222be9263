#!/bin/bash
# TIMEOUT: 600
# Messages that no rank of the engine sends: the rank that gets one says in a sentence who sent what, and
# ends the world. First the folder worker/comm alone, then whole runs with one message spoiled on its way.
. tests/cli/lib.sh

# refuses WHAT SENTENCE
refuses() {
    local status=0 said
    said=$(ranks 3 timeout -k 1 60 "$PACELINE_BUILD/tests/mpi/test_spoiled" "$1" 2>&1) || status=$?
    check "$1" "$said" "$2"
    same "$1: the exit code" "$status" 1
}
refuses short-note "rank 1 sent a note of 15 bytes; allowed: 16 rank=2"
refuses long-note "rank 1 sent a note of 32 bytes; allowed: 16 rank=2"
refuses server-note "rank 1 sent a note, but is no worker; allowed: ranks 0 to 0 rank=2"
refuses short-gradient "rank 1 sent 3996 bytes as a gradient; allowed: 4000 rank=2"
refuses long-gradient "rank 1 sent more than 4000 bytes as a gradient; allowed: 4000 rank=2"
refuses short-values "rank 1 sent 3996 bytes as activations; allowed: 4000 rank=0"
refuses long-values "rank 1 sent more than 4000 bytes as activations; allowed: 4000 rank=0"
refuses short-shared "rank 1 sent 999 bytes as the losses; allowed: 1000"
refuses long-shared "rank 1 sent more than 1000 bytes as the losses; allowed: 1000"
refuses short-pass "rank 1 sent 31 bytes as a message; allowed: 32 rank=0"
refuses bad-error "rank 1 sent an error of code 77; allowed: 0 to 11"
refuses long-sum "bytes as a part of a gradient; allowed: 13"
refuses short-round "rank 1 sent 704 bytes as a part of a gradient; allowed: 1344 rank=2"
refuses mpi-sum "a rank sent more than its part of a sum over all ranks"
refuses long-job "rank 0 sent a length of 1099511627776 bytes for its job; allowed: 67108864"
refuses endless-job "rank 0 sent a length of 18446744073709551615 bytes for its job; allowed: 67108864"
refuses bad-verdict "the ranks agreed on rank -5; allowed: 0 to 3"
refuses bad-host "rank 0 sent rank 9 as one of another host; allowed: 1 to 3"
for good in good-note good-gradient good-sum endless-error; do
    said=$(ranks 3 timeout -k 1 60 "$PACELINE_BUILD/tests/mpi/test_spoiled" $good 2>&1) || fail "$good: $said"
done
check "an error without an end" "$said" "rank 0: 511 characters"

# A sanitizer's library wants to be the first that is loaded, so nothing is preloaded then. grep reads to
# the end: with -q it would leave early, and pipefail would make that a failure of nm.
if nm "$PACELINE_WORKER" | grep -E '__[at]san_init' >/dev/null; then
    echo "under a sanitizer no message of a whole run is spoiled"
    verdict
fi

mpicc -shared -fPIC -o spoil.so "$OLDPWD/tests/mpi/spoil.c"
conv_job spoiled
# spoils NAME[=EXIT CODE] "RANK TAG SKIP AT VALUE" SENTENCE OPTION...
spoils() {
    local status=0 code=1
    case $1 in *=*) code=${1#*=} && set -- "${1%=*}" "${@:2}" ;; esac
    local options=("${@:4}")
    "$PACELINE" validate job.yaml "${options[@]/--resume/--json}" >valid 2>&1 || fail "$1: $(cat valid)"
    LD_PRELOAD=$PWD/spoil.so SPOIL=$2 timeout -k 1 120 "$PACELINE" run job.yaml --out "spoiled-$1" "${options[@]}" \
        >said 2>&1 || status=$?
    check "$1" "$(cat said)" "$3"
    same "$1: the exit code" "$status" "$code"
}
sync=(--workers 2 --set strategy.type=ParameterServer --set replicas.ps.replicas=1 --set strategy.batch=join
    --set strategy.schedule=allAtOnce --set training.accumulate=2)
async=(--workers 2 --set strategy.type=ParameterServer --set replicas.ps.replicas=1 --set strategy.mode=async)
spoils note "0 0 0 0 9" "rank 0 sent a note of kind 9; allowed: 0 to 4 rank=2" "${sync[@]}"
spoils below "0 0 0 0 -1" "rank 0 sent a note of kind -1; allowed: 0 to 4 rank=2" "${sync[@]}"
spoils unasked "1 0 0 0 2" "rank 1 sent a gradient of a batch that it was not given rank=2" "${sync[@]}"
# A worker's notes are an ask, a pull, an offer, a push.
spoils offer "1 0 2 16 1000" "rank 1 sent a gradient of place 1000; allowed: 0 to 1 rank=2" "${sync[@]}"
spoils push "1 0 3 16 -1" "rank 1 sent a gradient of place 4294967295; allowed: 0 to 1 rank=2" "${sync[@]}"
spoils batch "2 0 0 32 100000" "rank 2 sent step 0, epoch 0, batch 100000; allowed: batches 0 to 9" "${sync[@]}"
spoils place "2 0 0 8 50" "rank 2 sent batch " "${sync[@]}"
spoils async "0 0 0 0 9" "rank 0 sent a note of kind 9; allowed: 0 to 3 rank=2" "${async[@]}"
spoils async-batch "2 1 0 24 100000" "rank 2 sent step 0, epoch 0, batch 100000; allowed: batches 0 to 9" "${async[@]}"
spoils async-step "2 1 0 12 -1" "rank 2 sent step -" "${async[@]}"
spoils async-losses "2 1 0 232 99" "rank 2 sent the losses of 99 epochs; allowed: 0 to 16" "${async[@]}"
spoils async-push "0 0 1 0 2" "rank 0 sent a gradient of weights that it was not given rank=2" "${async[@]}"
spoils version "1 0 2 8 77" "rank 1 sent a gradient of version 77; allowed: 0 rank=2" "${sync[@]}"
# A gradient that was not accepted, or comes twice. A single worker's notes come in a fixed order: for each batch an
# ask, a pull for each server, an offer, a push for each server; at the end an ask and a meeting.
alone=(--workers 1 "${sync[@]:2}")
backup=(--workers 2 --set strategy.type=ParameterServer --set replicas.ps.replicas=1 --set strategy.batch=join
    --set strategy.backupWorkers=1)
spoils unpulled "0 0 2 0 3" "rank 0 sent a gradient of weights that it was not given rank=2" "${alone[@]}" \
    --set replicas.ps.replicas=2
spoils unaccepted "0 0 2 0 3" "rank 0 sent a gradient that the clock did not accept rank=1" "${alone[@]}"
spoils backup-unpulled "1 0 2 0 3" "rank 1 sent a gradient of weights that it was not given rank=3" "${backup[@]}" \
    --set replicas.ps.replicas=2
spoils backup-unaccepted "1 0 2 0 3" "rank 1 sent a gradient that the clock did not accept rank=2" "${backup[@]}"
spoils other-offer "0 0 2 16 1" "rank 0 sent a gradient of place 1; allowed: 0 rank=1" "${alone[@]}"
spoils other-push "0 0 3 16 1" "rank 0 sent a gradient of place 1; allowed: 0 rank=1" "${alone[@]}"
spoils twice "0 0 11 16 0" "rank 0 sent a gradient of place 0, which rank 0 has sent rank=2" "${alone[@]}" \
    --set replicas.ps.replicas=2
for count in 56 64; do # that are said to be offered, and pushed
    spoils count$count=3 "0 0 9 $count 7" "servers have applied or dropped more or fewer gradients than were computed" \
        "${alone[@]}" --set training.steps=1
done
# Yes or no, and rank 0's orders.
spoils meet "1 0 0 0 9" "rank 1 sent 9 for whether to meet; allowed: 0 or 1 rank=0" "${alone[@]}"
spoils counts "1 0 1 0 512" "rank 1 sent 2 for whether a gradient counts; allowed: 0 or 1 rank=0" "${alone[@]}"
spoils diverged "2 -312 0 260 3" "rank 2 sent 3 for whether the loss diverged; allowed: 0 or 1" "${backup[@]}"
spoils orders "0 0 0 4 77" "rank 0 sent orders of 77; allowed: 0 to 3 rank=1" "${alone[@]}"
spoils all-orders "2 -312 0 256 5" "rank 2 sent orders of 5; allowed: 0 to 3" "${backup[@]}"
spoils async-meet "2 1 0 0 9" "rank 2 sent 9 for whether to meet; allowed: 0 or 1" "${async[@]}"
spoils async-here "0 0 2 16 9" "rank 0 sent 9 for whether its gradient is here; allowed: 0 or 1 rank=2" "${async[@]}"
spoils async-orders "0 0 0 4 -1" "rank 0 sent orders of -1; allowed: 0 to 3 rank=2" "${async[@]}"
spoils async-diverged "2 -1344 0 260 3" "rank 2 sent 3 for whether the loss diverged; allowed: 0 or 1" "${async[@]}"
spoils async-all-orders "2 -1344 0 256 5" "rank 2 sent orders of 5; allowed: 0 to 3" "${async[@]}"
# The high half of a double: infinite, and no number.
spoils endless-orders "0 -1 1 28 2146435072" "rank 0 sent orders of inf; allowed: 0 to 3" --workers 2
spoils no-orders "0 -1 1 28 2146959360" "rank 0 sent orders of nan; allowed: 0 to 3" --workers 2
spoils half-orders "0 -1 1 28 1071644672" "rank 0 sent orders of 0.5; allowed: 0 to 3" --workers 2
spoils local-orders "0 0 0 32 77" "rank 0 sent orders of 77; allowed: 0 to 3 rank=1" --workers 2 \
    --set strategy.type=LocalSGD
spoils split-orders "0 0 0 0 77" "rank 0 sent orders of 77; allowed: 0 to 3 rank=1" --workers 2 \
    --set strategy.type=ModelParallel
# What the clock tells all at a meeting, and a checkpoint's position, which the rank that reads it tells all.
spoils meeting "2 -1344 0 16 100000" "rank 2 sent step 9, epoch 0, batch 100000; allowed: batches 0 to 9" "${async[@]}"
spoils reason "2 -1344 0 88 9" "rank 2 sent a switch for reason 9; allowed: 0 to 4" "${async[@]}"
result saved --set training.steps=12 >/dev/null
cp -r saved spoiled-position
spoils position "0 -256 0 16 -1" "rank 0 sent step 12, epoch 1, batch 4294967295; allowed: batches 0 to 9" \
    --workers 2 --resume
verdict
