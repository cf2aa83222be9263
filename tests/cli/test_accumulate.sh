#!/bin/bash
# TIMEOUT: 300
# Several batches per update: the same checkpoint on one worker that accumulates and on any number of
# workers that join, resumed on others, and with an epoch whose last update has fewer batches.
. tests/cli/lib.sh

conv_job accumulate
# summed NAME BATCHES ARGUMENTS...: of a training that sums so many of them for an update.
summed() { result "$1" --set training.accumulate="$2" "${@:3}"; }
join=(--set strategy.batch=join)

# 270 samples are 9 batches of 32, the last of 14; 4 and 7 leave an update with 1 and 2 of them.
for batches in 2 3 4 7; do
    want=$(summed "one-$batches" $batches)
    check "$batches batches on one worker" "$want" "  -"
    for n in 2 3 4; do
        if [ $n -gt $batches ]; then continue; fi
        same "$batches batches on $n workers" \
            "$(summed "join-$batches-$n" $batches --workers $n "${join[@]}")" "$want"
    done
    if [ "$want" = "${before:-}" ]; then fail "$batches batches changed nothing"; fi
    before=$want
done
one=$(summed one-4 4)
same "2 threads" "$(summed threads 4 --set training.threads=2)" "$one"
same "2 workers of 2 threads, one message each" "$(summed join-end 4 --workers 2 "${join[@]}" \
    --set training.threads=2 --set strategy.schedule=end)" "$one"
same "small messages" "$(summed join-small 4 --workers 3 "${join[@]}" \
    --set strategy.fusionBytes=4096)" "$one"
clip=$(summed clip 4 --set training.clipNorm=0.5)
same "clipping on 3 workers" \
    "$(summed clip-3 4 --workers 3 "${join[@]}" --set training.clipNorm=0.5)" "$clip"
if [ "$clip" = "$one" ]; then fail "clipping changed nothing"; fi

# The mean of a whole update: two batches without dropout are one of twice the size.
weights() { summed "$@" >"$1.digest" && grep -o '"digest":"[^"]*"' "$1/events.jsonl"; }
plain=(--set 'model.layers=[{type: flatten}, {type: dense, units: 4}]' --set dataset.limit=256)
twice=$(weights twice 1 "${plain[@]}" --set training.batchSize=64 --set training.lanes=16)
check "one batch of twice the size" "$twice" '"digest":"'
same "two batches" "$(weights two 2 "${plain[@]}")" "$twice"

# Stopped between the updates of an epoch, resumed on other workers; not with other updates.
summed parts 4 --set training.steps=2 >/dev/null
check "other updates" "$(summed parts 2 --resume 2>&1)" "spec.training.accumulate 4, but the job has 2"
same "resumed" "$(summed parts 4 --resume --workers 3 "${join[@]}")" "$one"

check "too many workers" "$("$PACELINE" validate job.yaml --workers 4 "${join[@]}" 2>&1)" \
    "spec.strategy.batch: found 4 workers and 1 batches per update; allowed: split with accumulate 1"
check "split" "$("$PACELINE" validate job.yaml --workers 2 --set training.accumulate=2 2>&1)" \
    "found 2 workers and 2 batches per update"
verdict
