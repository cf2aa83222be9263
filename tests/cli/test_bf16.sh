#!/bin/bash
# TIMEOUT: 400
# training.precision bf16: the same bytes on 1 to 4 ranks, 1 and 2 threads, and every instruction set,
# the CPU's own products of bf16 or none; stopped and resumed in the same precision; others than those of fp32; with strides,
# kernels of one pixel, layers that share what a convolution gives, and text with LSTMs. What would have nothing in bf16
# is refused.
. tests/cli/lib.sh

conv_job bf16
python3 - <<'PY'
import re
text = open("job.yaml").read()
layers = """    layers:
      - {name: first, type: conv, filters: 20, kernel: 3, stride: 2, padding: same}
      - {type: relu}
      - {name: half, type: conv, filters: 33, kernel: 3, stride: 2, padding: same}
      - {type: relu}
      - {name: one, type: conv, filters: 24, kernel: 1}
      - {type: relu}
      - {name: same, type: conv, filters: 24, kernel: 3, padding: same}
      - {type: add, inputs: [one, same]}
      - {type: conv, filters: 17, kernel: 4, padding: valid}
      - {type: relu}
      - {type: maxpool, kernel: 2, stride: 2}
      - {name: few, type: conv, filters: 18, kernel: 3, padding: same}
      - {type: relu}
      - {type: flatten}
      - {type: dense, units: 4}
"""
text, n = re.subn(r"    layers:\n(      - .*\n)+", layers, text)
assert n == 1
open("job.yaml", "w").write(text)
PY
sed -i 's/^  dataset:.*/  dataset: {name: idx, path: data, limit: 135}/; s/epochs: 2/epochs: 1/' job.yaml # plain C takes its time
bf16=(--set training.precision=bf16)

# digest OUT: of its last weights.
digest() { head -c 8000 "$(find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1)" | tr -d '\0' | grep -o '"digest":"[0-9a-f]*"'; }

one_order "${bf16[@]}"
got=$(result own PACELINE_ISA=avx512bf16 "${bf16[@]}")
case $got in *PACELINE_ISA=*) echo "this CPU has no products of bf16" ;; *) same "avx512bf16" "$got" "$want" ;; esac
same "2 ranks of 2 threads" "$(result both --workers 2 --set training.threads=2 "${bf16[@]}")" "$want"
same "parameter servers" "$(result servers --workers 2 --set replicas.ps.replicas=1 \
    --set "strategy={type: ParameterServer, mode: sync}" "${bf16[@]}")" "$want"
result split --workers 2 --set "strategy={type: ModelParallel, microBatches: 4}" "${bf16[@]}" >/dev/null
same "a model of two parts" "$(digest split)" "$(digest base)"
# What is packed is of the layer at work, whoever was it before: so an evaluation after a training is one alone.
# loss EVENT FIELD <EVENTS
loss() { grep "\"event\":\"$1\"" | tail -1 | grep -o "\"$2\":[0-9.e+-]*" | cut -d: -f2; }
of_test=$(loss "done" testLoss <base/events.jsonl)
check "test loss" "$of_test" "."
same "evaluated" "$("$PACELINE" evaluate "$(find base -name "checkpoint-*" | sort | tail -1)" --json | loss evaluation loss)" "$of_test"

result parts --set training.steps=3 "${bf16[@]}" >/dev/null
same "resumed" "$(result parts --resume --workers 3 "${bf16[@]}")" "$want"

check "fp32" "$(result fp32)" "  -"
check "digest" "$(digest fp32)" digest
if [ "$(digest fp32)" = "$(digest base)" ]; then fail "bf16 changed nothing"; fi

# Which of the two it is, in every place that says what a run was.
grep -q '"isa":"[a-z0-9]*","precision":"bf16"' base/events.jsonl || fail "bf16 does not start as bf16"
grep -q '"isa":"avx512bf16"\|"precision":"bf16"' fp32/events.jsonl && fail "fp32 starts as bf16"
check "bf16's header" "$(grep " rank x " base.log)" ", bf16, batch "
check "fp32's header" "$(grep " rank x " fp32.log)" ", batch "
grep -q ", bf16" fp32.log && fail "fp32 says bf16"

# A run goes on in the precision that it began in. That of a checkpoint that says none is fp32.
# replace OUT FOUND WANTED: in its last checkpoint, as if written by an older version; WANTED is not longer.
replace() {
    python3 - "$(find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1)" "$2" "$3" <<'PY'
import sys
whole, (said, wanted) = open(sys.argv[1], "rb").read(), (text.encode() for text in sys.argv[2:])
assert whole.count(said) == 1
open(sys.argv[1], "wb").write(whole.replace(said, wanted + b" " * (len(said) - len(wanted))))
PY
}
result half --set training.steps=3 >/dev/null
check "fp32 resumed as bf16" "$(result half --resume "${bf16[@]}")" "written with spec.training.precision fp32, but the job has bf16"
replace half '"precision":"fp32",' ''
replace half '"spec":"{' '"none":"{'
check "an old one resumed as bf16" "$(result half --resume "${bf16[@]}")" "written with spec.training.precision fp32, but the job has bf16"
check "an old one resumed" "$(result half --resume)" "  -"
same "an old one resumed" "$(digest half)" "$(digest fp32)"
result other --set training.steps=3 "${bf16[@]}" >/dev/null
check "bf16 resumed as fp32" "$(result other --resume)" "written with spec.training.precision bf16, but the job has fp32"

cat >nothing.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: nothing}
spec:
  model:
    layers:
      - {type: conv, filters: 10, kernel: 28}
      - {type: flatten}
  dataset: {name: fashion-mnist}
JOB
"$PACELINE" validate nothing.yaml >/dev/null || fail "fp32 was refused"
check "nothing in bf16" "$("$PACELINE" validate nothing.yaml "${bf16[@]}" 2>&1)" \
    "spec.training.precision: found bf16 with a network that has no dense layer, no lstm and no convolution after another layer"
for layers in "{type: conv, filters: 10, kernel: 1}, {type: conv, filters: 10, kernel: 28}, {type: flatten}" \
    "{type: conv, filters: 7, kernel: 28}, {type: flatten}, {type: dense, units: 10}"; do
    "$PACELINE" validate nothing.yaml "${bf16[@]}" --set "model={layers: [$layers]}" >out 2>&1 || fail "$layers: $(cat out)"
done
check "a precision that is none" "$("$PACELINE" validate nothing.yaml --set training.precision=fp16 2>&1)" \
    "allowed: one of fp32, bf16"

# Words: what a dense layer multiplies are the rows of all positions, and an LSTM its state at each. One is wide enough
# for several chunks.
mkdir words && cd words || exit 1
words_job words "best: false"
sed -i 's/units: 19/units: 70/' job.yaml
one_order "${bf16[@]}"
got=$(result own PACELINE_ISA=avx512bf16 "${bf16[@]}")
case $got in *PACELINE_ISA=*) ;; *) same "words by avx512bf16" "$got" "$want" ;; esac
same "words on 2 ranks of 2 threads" "$(result both --workers 2 --set training.threads=2 "${bf16[@]}")" "$want"
check "words in fp32" "$(result fp32)" "  -"
if [ "$(digest fp32)" = "$(digest base)" ]; then fail "bf16 changed nothing of words"; fi
of_test=$(loss "done" testLoss <base/events.jsonl)
check "words' test loss" "$of_test" "."
same "words evaluated" "$("$PACELINE" evaluate "$(find base -name "checkpoint-*" | sort | tail -1)" --json | loss evaluation loss)" "$of_test"

# The state of a row goes on where a run does; parts of a model, and a server, have the weights of some.
result parts --set training.steps=19 "${bf16[@]}" >/dev/null
same "words resumed" "$(result parts --resume --workers 3 "${bf16[@]}")" "$want"
unclipped=(--set training.clipNorm=0 "${bf16[@]}")
result plain "${unclipped[@]}" >/dev/null
for n in 2 3; do
    result "split$n" --workers $n --set "strategy={type: ModelParallel, microBatches: 4}" "${unclipped[@]}" >/dev/null
    same "words in $n parts" "$(digest "split$n")" "$(digest plain)"
done
result servers --workers 3 --set replicas.ps.replicas=1 --set strategy.type=ParameterServer "${unclipped[@]}" >/dev/null
same "words by a server" "$(digest servers)" "$(digest plain)"
verdict
