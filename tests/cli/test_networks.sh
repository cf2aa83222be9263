#!/bin/bash
# TIMEOUT: 400
# Built-in networks that branch: two updates give the same bytes on one rank and on 3 with 2 threads
# each, with as many classes as the data have; what the command prints of them.
. tests/cli/lib.sh

mkdir data
python3 "$repo/tests/cli/make_idx.py" data 24 8 16 12 || exit 1
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: networks}
spec:
  model: {name: resnet20}
  dataset: {name: idx, path: data}
  training: {steps: 2, batchSize: 12, lanes: 4, threads: 1}
  checkpoint: {best: false}
JOB

for network in resnet20 resnet56v2 densenet40 squeezenet resnet34-zerofill; do
    set=(--set "model.name=$network")
    want=$(result "$network-1" "${set[@]}")
    check "$network" "$want" "  -"
    same "$network on 3 ranks" "$(result "$network-3" "${set[@]}" --workers 3 --set training.threads=2)" "$want"
done
# Its side classifiers' pools need images of 65 at least.
mkdir large
python3 "$repo/tests/cli/make_idx.py" large 24 8 65 66 || exit 1
set=(--set model.name=googlenet --set dataset.path=large)
want=$(result googlenet-1 "${set[@]}")
check googlenet "$want" "  -"
same "googlenet on 3 ranks" "$(result googlenet-3 "${set[@]}" --workers 3 --set training.threads=2)" "$want"
for n in 2 3; do
    same "googlenet split over $n" "$(result "googlenet-split$n" "${set[@]}" --workers $n \
        --set strategy.type=ModelParallel --set strategy.microBatches=2)" "$want"
done
check "too small for googlenet" "$("$PACELINE" run job.yaml --out small --set model.name=googlenet 2>&1)" \
    "layer avgpool1: its 5x5 kernel does not fit into the 1x1 image"
check "side outputs" "$("$PACELINE" models googlenet)" \
    "side1 and side2 have losses of their own, which count 0.3 and 0.3 times in training; evaluation leaves them out"
check "side outputs, JSON" "$("$PACELINE" models googlenet --json | tr -d " \n")" '"name":"side2","type":"dense","lossWeight":0.3'
model=$(find resnet20-1 -name 'checkpoint-*.safetensors' | tail -1)
check "classes of the data" "$(head -c 20000 "$model" | tr -d '\0')" '"dense1.bias":{"dtype":"F32","shape":[4]'

# What peers of the bench build the network from.
"$PACELINE" models densenet40 --json >models.json
sed 's/name: resnet20/name: densenet40/' job.yaml >densenet.yaml
"${PACELINE%/*}/paceline-worker" bench --describe --spec densenet.yaml >layers.json || exit 1
python3 - <<'PYTHON' || fail "the description is not the network"
import json

known = {layer["name"]: layer for layer in json.load(open("models.json"))["layers"]}
told = [json.loads(line) for line in open("layers.json")]
assert [layer["name"] for layer in told] == list(known), told
for layer in told:
    same = known[layer["name"]]
    assert layer["inputs"] == same["inputs"] and layer["type"] == same["type"], layer
    if layer["type"] != "dense": # 4 classes here, not 10
        assert layer["parameters"] == same["parameters"], layer
first = told[0]
assert (first["kernel"], first["stride"], first["padding"], first["bias"]) == ([3, 3], [1, 1], [1, 1], False), first
assert (first["in"], first["out"]) == ([1, 16, 12], [24, 16, 12]), first
assert [layer["rate"] for layer in told if layer["type"] == "dropout"][0] == 0.1
norm = next(layer for layer in told if layer["type"] == "batchnorm")
assert (norm["epsilon"], norm["momentum"]) == (1e-5, 0.1), norm
PYTHON

# What is wrong for it is said before it starts.
cat >other.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: other}
spec:
  model: {name: resnet20}
  strategy: {type: ModelParallel, layerPlacement: [0, 1]}
  replicas: {worker: {replicas: 2}}
JOB
check "placement" "$("$PACELINE" validate other.yaml 2>&1)" "found 2 entries; needed: one for each layer"

check "list" "$("$PACELINE" models | tr -s " ")" "resnet56v2 1,663,338"
check "branches" "$("$PACELINE" models densenet40)" "concat1, dropout2"
check "JSON" "$("$PACELINE" models resnet20 --json | tr -d " \n")" '"inputs":["relu7"]'
same "no inputs of a chain" "$("$PACELINE" models mlp | grep -c inputs)" 0

verdict
