#!/bin/bash
# TIMEOUT: 300
# Augmentation and normalisation by the training set: the same bytes on any workers and threads, stopped and
# resumed or not; a checkpoint is evaluated as it was trained, whatever the training files have become.
. tests/cli/lib.sh

conv_job augment
field() { sed -n "/\"event\":\"$2\"/s/.*\"$3\":\([^,}]*\).*/\1/p" "$1" | tail -1; }

plain=$(result plain)
for by in channel pixel; do
    with=(--set "dataset.augment={flip: true, pad: 3}" --set dataset.normalizeBy="$by")
    one=$(result "$by-1" "${with[@]}")
    check "$by" "$one" "  -"
    if [ "$one" = "$plain" ]; then fail "$by: nothing has changed"; fi
    for n in 2 3 4; do
        same "$by, $n workers" "$(result "$by-$n" "${with[@]}" --workers $n --set training.threads=$((n % 3 + 1)) \
            --set dataset.prefetch=$((n - 2)))" "$one"
    done
    result "$by-parts" "${with[@]}" --workers 2 --set training.steps=13 >/dev/null
    same "$by, resumed" "$(result "$by-parts" "${with[@]}" --resume)" "$one"
done
for other in strategy.type=ModelParallel training.optimizer.sharded=true; do
    same "$other" "$(result "${other%=*}" "${with[@]}" --workers 2 --set "$other")" "$one"
done
flip=$(result flip --set dataset.augment.flip=true)
pad=$(result pad --set dataset.augment.pad=3)
if [ "$flip" = "$pad" ] || [ "$flip" = "$plain" ] || [ "$pad" = "$plain" ]; then fail "flip, pad: no difference"; fi

# Without the training images a checkpoint still says what they were like.
"$PACELINE" run job.yaml --out stats --json --set dataset.normalizeBy=pixel --set training.steps=3 >events || fail "stats: $?"
want=$(field events "done" testLoss)
head -c 211696 /dev/zero | tail -c 211680 | cat <(head -c 16 data/train-images-idx3-ubyte) - >zero
mv zero data/train-images-idx3-ubyte
checkpoint=stats/checkpoint-00000003.safetensors
"$PACELINE" evaluate $checkpoint --json >evaluation || fail "evaluate: $?"
same "evaluated" "$(field evaluation evaluation loss)" "$want"
check "evaluated" "$want" "0."
same "predicts" "$("$PACELINE" predict $checkpoint --input data/t10k-images-idx3-ubyte --limit 3 --json |
    grep -c '"probability"')" 3

errors=$("$PACELINE" run job.yaml --out wide --set dataset.augment.pad=28 2>&1 >/dev/null)
check "too wide" "$errors" "spec.dataset.augment.pad: 28 for images of 28x28; allowed: less than either"
errors=$("$PACELINE" validate job.yaml --set dataset.normalizeBy=channel --set dataset.normalize.mean=0.5 2>&1 >/dev/null)
check "both" "$errors" "spec.dataset.normalize: found, but it belongs to spec.dataset.normalizeBy: given only"
errors=$("$PACELINE" run job.yaml --out plain --resume --set dataset.normalizeBy=channel --set training.epochs=3 2>&1 >/dev/null)
check "resumed otherwise" "$errors" "written with spec.dataset.normalizeBy given, but the job has channel"

verdict
