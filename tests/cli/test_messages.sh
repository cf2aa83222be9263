#!/bin/bash
# What users did wrong and what they are told: each says where, what was found and what is allowed, and what
# may have been meant, also by a word of PyTorch or Keras.
. tests/cli/lib.sh

head='apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: t}
spec:
'

# said NAME EXIT LINES SENTENCE COMMAND...: COMMAND ends with EXIT, prints so many lines (0: any number) to
# standard error, and SENTENCE is one of them from its beginning to its end (* stands for more).
said() {
    local what=$1 code=$2 lines=$3 sentence=$4 line found='' status
    shift 4
    "$@" >out 2>errors
    status=$?
    same "$what, exit code" $status "$code"
    if [ "$lines" -gt 0 ]; then same "$what, lines" "$(wc -l <errors)" "$lines"; fi
    while IFS= read -r line; do
        # shellcheck disable=SC2053 # a pattern
        if [[ $line == $sentence ]]; then found=1; fi
    done <errors
    [ -n "$found" ] || fail "$what: \"$(cat errors)\" lacks the line \"$sentence\""
}

# file NAME LINES SENTENCE: validate says it of t.yaml, which is read from standard input.
file() {
    cat >t.yaml
    said "$1" 2 "$2" "$3" "$PACELINE" validate t.yaml
}
# layer TEXT SENTENCE: of a network with this layer.
layer() {
    file "layer $1" 0 "t.yaml:7: spec.model.layers\[0\].$2" <<<"$head  model:
    layers:
    - {$1}"
}
# set PATH=VALUE SENTENCE: validate says it of an override.
set_() { said "--set $1" 2 0 "--set $1: $2" "$PACELINE" validate job.yaml --set "$1"; }
usage() { said "$*" 2 1 "$sentence" "$PACELINE" "$@"; }

file "no model" 1 "t.yaml:4: spec.model: found nothing; needed: a network, as {name: mlp} or {layers: \[...\]}; or, \
for a job of any image, a template in spec.replicas" <<<"$head  dataset: {name: mnist}
  training: {epochs: 2}"
file "a PyTorchJob" 1 't.yaml:2: kind: found "PyTorchJob"; allowed: TrainingJob; examples/pytorch.yaml is such a job as a TrainingJob' <<'JOB'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 2}}}
JOB
file "a tab" 1 "t.yaml:5: found a tab; YAML is indented by spaces" <<<"$head"$'\tmodel: {name: mlp}'
file "training at the top" 0 "t.yaml:6: training: unknown field; did you mean spec.training?" <<<"$head  model: {name: mlp}
training: {epochs: 2}"
file "Latin-1" 1 "t.yaml:1: this is not text in UTF-8: *" < <(printf 'a: caf\xe9\n')
file "UTF-16 cut short" 1 "t.yaml:1: this is not text in UTF-8: *" < <(printf '\xff\xfea\0:\0 \0b')
file "UTF-16 without its mark" 1 "t.yaml:1: this is not text in UTF-8: *" < <(printf 'a\0:\0 \0001\0\n\0')

set_ epochs=1 "spec.epochs: unknown field; did you mean spec.training.epochs?"
set_ learning_rate=1 "spec.learning_rate: unknown field; did you mean spec.training.optimizer.learningRate?"
set_ lr=1 "spec.lr: unknown field; did you mean spec.training.optimizer.learningRate?"
set_ training.lr=1 "spec.training.lr: unknown field; did you mean spec.training.optimizer.learningRate?"
set_ training.optimizer.lr=1 "spec.training.optimizer.lr: unknown field; did you mean learningRate?"
set_ training.optimizer.learning_rate=1 "spec.training.optimizer.learning_rate: unknown field; did you mean learningRate?"
set_ training.batch_size=1 "spec.training.batch_size: unknown field; did you mean batchSize?"
set_ batch_size=1 "spec.batch_size: unknown field; did you mean spec.training.batchSize?"
set_ training.weight_decay=1 "spec.training.weight_decay: unknown field; spec.training.l2 is PyTorch's weight_decay; optimizer.weightDecay is that of adamw"
set_ training.epoch=1 "spec.training.epoch: unknown field; did you mean epochs?"
set_ steps=1 "spec.steps: unknown field; did you mean spec.training.steps?"
set_ volume=1 "spec.volume: unknown field; did you mean spec.dataset.volume or spec.output.volume?"
set_ dataset.mean=1 "spec.dataset.mean: unknown field; did you mean spec.dataset.normalize.mean?"
set_ dataset.frobnicate=1 "spec.dataset.frobnicate: unknown field; allowed: name, path, *"
set_ dataset=mnist 'spec.dataset: found "mnist" (did you mean {name: mnist}?); allowed: an object'
set_ training.optimizer=adam 'spec.training.optimizer: found "adam" (did you mean {name: adam}?); allowed: an object'
set_ training.learningRateSchedule=cosine 'spec.training.learningRateSchedule: found "cosine" (did you mean {type: cosine}?); allowed: an object'
set_ model.hidden=9 'spec.model.hidden: found 9 (did you mean \[9\]?); allowed: *'
set_ training.l2=.inf 'spec.training.l2: found ".inf"; allowed: a number from 0 to 1000000'
set_ training.precision=fp16 'spec.training.precision: found "fp16" (did you mean bf16?); allowed: one of fp32, bf16'
set_ training.optimizer.name=SGD 'spec.training.optimizer.name: found "SGD" (did you mean sgd?); *'
set_ 'training.optimizer={name: adam, momentum: 0.9}' 'spec.training.optimizer.momentum: found, but it belongs to spec.training.optimizer.name: sgd|rmsprop only (adam has beta1)'
set_ 'training.optimizer={name: sgd, weightDecay: 0.9}' 'spec.training.optimizer.weightDecay: found, but it belongs to spec.training.optimizer.name: adamw only (sgd has spec.training.l2)'
set_ model.loss=CrossEntropyLoss 'spec.model.loss: found "CrossEntropyLoss" (did you mean softmaxCrossEntropy?); allowed: *'
set_ strategy.type=DDP 'spec.strategy.type: found "DDP" (did you mean AllReduce?); *'
file "two numbers that are not finite" 2 't.yaml:7: spec.training.clipNorm: found ".nan"; allowed: a number of at least 0' <<<"$head  model: {name: mlp}
  training:
    clipNorm: .nan
    l2: -.inf"
file "groups" 1 "t.yaml:7: spec.strategy.groups: found 3 for 4 workers, which 1, 2, 4 divide; allowed: 0, or what \
divides replicas.worker.replicas" <<<"$head  model: {name: mlp}
  replicas: {worker: {replicas: 4}, ps: {replicas: 1}}
  strategy: {type: ParameterServer, mode: async, groups: 3}"
file "boundaries" 1 "t.yaml:6: spec.training.learningRateSchedule.boundaries: found 2 after 3; needed: each \
boundary above the one before it" <<<"$head  model: {name: mlp}
  training: {learningRateSchedule: {type: piecewise, boundaries: [1, 3, 2], values: [1, 2, 3, 4]}}"

layer "type: Linear, units: 3" 'type: found "Linear" (did you mean dense?); `paceline explain spec.model.layers.type` lists what is allowed'
layer "type: Dense, units: 3" 'type: found "Dense" (did you mean dense?); *'
layer "type: Conv2D, filters: 3" 'type: found "Conv2D" (did you mean conv?); *'
layer "type: Conv2d" 'type: found "Conv2d" (did you mean conv?); *'
layer "type: MaxPooling2D" 'type: found "MaxPooling2D" (did you mean maxpool?); *'
layer "type: AdaptiveAvgPool2d" 'type: found "AdaptiveAvgPool2d" (did you mean globalavgpool?); *'
layer "type: BatchNormalization" 'type: found "BatchNormalization" (did you mean batchnorm?); *'
layer "type: BatchNorm2d" 'type: found "BatchNorm2d" (did you mean batchnorm?); *'
layer "type: ReLU" 'type: found "ReLU" (did you mean relu?); *'
layer "type: Softmax" 'type: found "Softmax" (leave it out: softmax is part of the loss (spec.model.loss)); *'
layer "type: conv, out_channels: 3" "out_channels: unknown field; did you mean filters?"
layer "type: conv, in_channels: 3" "in_channels: unknown field; leave it out: a layer takes what the one before it gives"
layer "type: conv, kernel_size: 3" "kernel_size: unknown field; did you mean kernel?"
layer "type: conv, strides: 3" "strides: unknown field; did you mean stride?"
layer "type: conv, activation: relu" "activation: unknown field; an activation is a layer of its own, as {type: relu}"
layer "type: conv, units: 3, kernel: 3" "units: found, but it belongs to type: dense|embedding|lstm only (conv has filters)"
layer "type: conv, padding: SAME" 'padding: found "SAME" (did you mean same?); allowed: one of valid, same'
layer "type: dense, out_features: 3" "out_features: unknown field; did you mean units?"
layer "type: dense, in_features: 3" "in_features: unknown field; leave it out: *"
layer "type: dense, units: 3, initializer: xavier_uniform" 'initializer: found "xavier_uniform" (did you mean glorot?); *'
layer "type: dropout, p: 0.5" "p: unknown field; did you mean rate?"
layer "type: embedding, num_embeddings: 5" "num_embeddings: unknown field; did you mean vocabulary?"

sentence='paceline: unknown command "ui"; `paceline --help` lists them' usage ui
sentence='paceline: unknown command "dim"; `paceline --help` lists them' usage dim
sentence='paceline: unknown command "rnu"; did you mean run?; `paceline --help` lists them' usage rnu
sentence='paceline estimate: --t-grad is missing; it takes seconds; *' usage estimate
sentence='paceline speedup: --workers is missing; it takes up to *' usage speedup job.yaml
sentence='paceline run: unknown option --worker; did you mean --workers?; *' usage run job.yaml --worker 2
sentence='paceline run: unknown option --epochs; did you mean --set training.epochs=...?; *' usage run job.yaml --epochs 2
sentence='paceline run: unknown option --lr; did you mean --set training.optimizer.learningRate=...?; *' usage run job.yaml --lr=2
sentence='paceline run: unknown option --batch-size; did you mean --set training.batchSize=...?; *' usage run job.yaml --batch-size 2
sentence='paceline get-model: unknown option --epochs; `paceline get-model --help` says more' usage get-model job --epochs 2
sentence='paceline explain: found no field "lr"; did you mean spec.training.optimizer.learningRate?; *' usage explain lr
sentence='paceline explain: found no field "kernel_size"; did you mean spec.model.layers\[\].kernel?; *' usage explain kernel_size
sentence='paceline explain: found no field "spec.epochs"; did you mean spec.training.epochs?; *' usage explain spec.epochs

verdict
