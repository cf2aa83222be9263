#!/bin/bash
# TIMEOUT: 400
# Networks that branch, with batch normalisation: the same bytes on any number of workers, threads and
# servers, and however they are split over workers, running statistics included; a run that is
# resumed; every other strategy trains them; what cannot be is refused.
. tests/cli/lib.sh

idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: graph}
spec:
  model:
    layers:
      - {type: conv, filters: 18, kernel: 3, stride: 2, padding: same, bias: false}
      - {type: batchnorm}
      - {type: relu}
      - {type: conv, filters: 20, kernel: 3, padding: same, bias: false}
      - {type: batchnorm, group: 4}
      - {type: relu, name: right}
      - {type: conv, filters: 20, kernel: 1, inputs: [relu1], name: left}
      - {type: add, inputs: [right, left]}
      - {type: concat, inputs: [add1, relu1]}
      - {type: globalavgpool}
      - {type: dense, units: 4}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 48, lanes: 8, threads: 1}
  checkpoint: {best: false}
JOB
servers=(--set strategy.type=ParameterServer)

one_order
same "servers on 3 workers" "$(result servers3 --workers 3 "${servers[@]}")" "$want"
same "2 workers, 2 servers" "$(result servers2 --workers 2 "${servers[@]}" --set replicas.ps.replicas=2)" "$want"
joined=$(result joined1 --set training.accumulate=2)
same "join" "$(result joined2 --workers 2 --set strategy.batch=join --set training.accumulate=2)" "$joined"

# Statistics are part of the model, and of what is resumed.
model=$(find base -name 'checkpoint-*.safetensors' | sort | tail -1)
for tensor in batchnorm1.running_mean batchnorm2.running_var; do
    check "$tensor" "$(head -c 8000 "$model" | tr -d '\0')" "\"$tensor\""
done
"$PACELINE" run job.yaml --out resumed --set training.epochs=1 >resumed.log 2>&1 || fail "$(cat resumed.log)"
same "resumed" "$(result resumed --resume --workers 2)" "$want"
result learns --set training.epochs=12 >/dev/null
check "it learns" "$(cat learns.log)" "test accuracy  100.00%"

# Where workers are not alike the loss falls all the same.
free_strategies

# Split over workers, branches too: an output with readers on several of them, sums and channels of
# layers elsewhere, readers of one output here and there in turns.
split=(--set strategy.type=ModelParallel)
for n in 2 3 4; do
    same "split over $n" "$(result "split$n" --workers $n "${split[@]}")" "$want"
    same "split over $n, micro-batches" \
        "$(result "micro$n" --workers $n "${split[@]}" --set strategy.microBatches=4)" "$want"
done
# Parts: conv1, its norm, conv2, its norm, left, add, concat, pooling, dense; who reads relu1 are three of them. Two
# workers: relu1 (18 of 32 channels) goes over once for each worker that reads it, there and back.
map=$((4 * 2 * 32 * 14 * 14))
check "bytes of a branch" "$("$PACELINE" split job.yaml --workers 2 "${split[@]}" \
    --set strategy.layerPlacement="[0,0,0,0,0,0,1,0,0,0,0]")" "by hand: $((2 * map)) bytes sent per sample"
# The first leaves a sum to another worker, and has the gradients of what goes into it beside its own.
for placement in 0,0,0,0,0,0,0,1,1,1,1 0,0,0,0,0,0,1,0,0,0,0 0,0,0,1,1,1,2,0,1,2,2 2,2,2,0,0,0,1,2,2,0,1 \
    0,0,0,1,1,1,1,0,1,0,0 1,1,1,0,0,0,2,2,1,1,0; do
    same "placed $placement" "$(result "placed-${placement//,/}" --workers 3 "${split[@]}" \
        --set strategy.layerPlacement="[$placement]" --set strategy.microBatches=2)" "$want"
done

sed 's/inputs: \[relu1\], name: left/inputs: [relu7], name: left/' job.yaml >other.yaml
check "no such input" "$("$PACELINE" validate other.yaml 2>&1)" "layer left: its input relu7 is no layer before it"
sed 's/inputs: \[add1, relu1\]/inputs: [add1, input]/' job.yaml >other.yaml
check "other sizes" "$("$PACELINE" validate other.yaml 2>&1)" "its inputs are 20x14x14 and 1x28x28; concat takes"
sed 's/inputs: \[right, left\]/inputs: [right, relu1]/' job.yaml >other.yaml
check "unequal shapes" "$("$PACELINE" validate other.yaml 2>&1)" "add takes equal shapes"
sed 's/type: add, inputs: \[right, left\]/type: relu, inputs: [right], name: add1/' job.yaml >other.yaml
check "unused" "$("$PACELINE" validate other.yaml 2>&1)" "layer left: no layer takes its output"

verdict
