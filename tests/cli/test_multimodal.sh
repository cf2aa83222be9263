#!/bin/bash
# TIMEOUT: 400
# A network with a branch for each instrument of a scene: it learns what no one instrument shows, so each branch
# has its own channels; the same bytes on any number of workers, also where the branches are on several.
. tests/cli/lib.sh

job() {
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: multimodal}
spec:
  model: $1
  dataset: {name: scenes, made: {samples: 800, classes: 4, size: 8, noise: 0.03}}
  training: {epochs: 3, batchSize: 32, lanes: 8, threads: 1, optimizer: {name: adam}}
  checkpoint: {best: false}
JOB
}

# Of two materials, each low and high: a channel of bands or colours shows the one, the height the other.
accuracy() { sed -n 's/.*"event":"done".*"testAccuracy":\([0-9.]*\).*/\1/p' "$1/events.jsonl"; }
sees() {
    local instrument=$1
    job "{layers: [{type: slice, first: $2, filters: $3}, {type: conv, filters: 16, kernel: 3},
        {type: relu}, {type: flatten}, {type: dense, units: 32}, {type: relu}, {type: dense, units: 4}]}"
    result "$instrument" >/dev/null
    echo "$instrument: test accuracy $(accuracy "$instrument")"
}
for one in "bands 0 8" "height 8 1" "colours 9 3"; do
    read -r instrument first filters <<<"$one"
    sees "$instrument" "$first" "$filters"
    awk "BEGIN { a = \"$(accuracy "$instrument")\" + 0; exit !(a > 0.35 && a < 0.7) }" ||
        fail "$instrument alone show half: $(accuracy "$instrument")"
done
sees both 7 2
awk "BEGIN { exit !(\"$(accuracy both)\" + 0 > 0.8) }" || fail "a band and the height show all: $(accuracy both)"

job "{name: multimodal}"
result all >/dev/null
echo "all: test accuracy $(accuracy all)"
awk "BEGIN { exit !(\"$(accuracy all)\" + 0 > 0.95) }" || fail "all instruments: $(accuracy all)"
sed -i 's/samples: 800/samples: 160/; s/epochs: 3/epochs: 1/' job.yaml
want=$(result short)
check "the first run" "$want" "  -"
for n in 2 3 4; do same "$n ranks" "$(result "ranks$n" --workers $n)" "$want"; done
same "3 threads" "$(result threads --set training.threads=3)" "$want"
split=(--set strategy.type=ModelParallel)
for n in 2 3 4; do
    same "split over $n" "$(result "split$n" --workers $n "${split[@]}" --set strategy.microBatches=4)" "$want"
done
# A worker for each branch, the first also for what comes after them. A convolution works on samples as they come, so
# only what the two others have seen goes over, and its gradient: 2 x 64 maps of 2x2.
place=0,0,0,0,0,0,0,1,1,1,1,1,1,1,2,2,2,2,2,2,2,0,0,0,0,0,0,0,0
placed=(--workers 3 "${split[@]}" --set "strategy.layerPlacement=[$place]")
check "what is sent" "$("$PACELINE" split job.yaml "${placed[@]}")" "by hand: $((2 * 2 * 64 * 2 * 2 * 4)) bytes sent per sample"
same "a worker for each branch" "$(result branches "${placed[@]}")" "$want"

check "other samples" "$("$PACELINE" validate job.yaml --set 'dataset={name: mnist}' 2>&1)" \
    "layer slice1: found first 0, filters 8 for an input of 1 channels"
verdict
