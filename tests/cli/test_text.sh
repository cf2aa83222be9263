#!/bin/bash
# TIMEOUT: 300
# Words: a small text is learnt; the same bytes on any number of workers, threads and instruction
# sets, and when a run is resumed in the middle of an epoch; what cannot be is refused.
. tests/cli/lib.sh

words_job words "best: false"
one_order
# The state that rows go on with is there on whoever has them.
for n in 2 3; do
    same "split over $n" "$(result "layers$n" --workers $n --set strategy.type=ModelParallel --set training.clipNorm=0)" \
        "$(result "layers1-$n" --set training.clipNorm=0)"
done
same "micro-batches" "$(result micro --workers 2 --set strategy.type=ModelParallel --set strategy.microBatches=4 \
    --set training.clipNorm=0)" "$(result micro1 --set training.clipNorm=0)"
free_strategies --set training.clipNorm=0
check "accumulated" "$("$PACELINE" validate job.yaml --set training.accumulate=2 2>&1)" "found 2 with layer lstm1, whose state goes on"

plain=$(result plain --set training.clipNorm=0) # updates at once, without a gradient of the whole
same "servers" "$(result servers --workers 3 --set training.clipNorm=0 --set strategy.type=ParameterServer)" "$plain"

# Stopped in the middle of an epoch.
"$PACELINE" run job.yaml --out resumed --set training.steps=19 >resumed.log 2>&1 || fail "$(cat resumed.log)"
same "resumed" "$(result resumed --resume --workers 2)" "$want"

# Seven of eight words follow from the one before them; half of the rest are ends of lines.
result learns --set training.epochs=25 >/dev/null
accuracy=$(sed -n 's/.*test accuracy *\([0-9]*\).*/\1/p' learns.log)
if [ "${accuracy:-0}" -lt 60 ]; then fail "learnt too little: $(cat learns.log)"; fi

sed 's/vocabulary: 12, units/vocabulary: 9, units/' job.yaml >other.yaml
check "too few words" "$("$PACELINE" run other.yaml --out other 2>&1)" "layer embedding1 has a vocabulary of 9, but the data have 10 different words"
sed 's/type: dense, units: 12/type: dense, units: 9/' job.yaml >other.yaml
check "too few scores" "$("$PACELINE" run other.yaml --out other 2>&1)" "has 9 outputs, but the data have 10 different words"
check "too short" "$("$PACELINE" validate job.yaml --set training.batchSize=500 2>&1)" "needed for spec.training.batchSize 500 and spec.dataset.steps 7: 4000"
sed '/type: lstm/d; s/- {type: embedding.*/- {type: flatten}/' job.yaml >other.yaml
check "no embedding" "$("$PACELINE" validate other.yaml 2>&1)" "so the first layer is an embedding"
sed 's/- {type: tanh}/- {type: flatten}/' job.yaml >other.yaml
check "no map" "$("$PACELINE" validate other.yaml 2>&1)" "layer flatten1: it gets a sequence of 7 positions; allowed there: lstm, dense"
sed 's/name: text, path: data, steps: 7/name: fashion-mnist/' job.yaml >other.yaml
check "an image" "$("$PACELINE" validate other.yaml 2>&1)" "an embedding gets 1x28x28 values; it takes the samples themselves, of a text"
check "shuffled" "$("$PACELINE" validate job.yaml --set dataset.shuffle=true 2>&1)" "shuffle"

verdict
