#!/bin/bash
# TIMEOUT: 400
# training.precision bf16: the same bytes on 1 to 4 ranks, 1 and 2 threads, and every instruction set,
# the CPU's own products of bf16 or none; stopped and resumed; others than those of fp32; with strides,
# kernels of one pixel, and layers that share what a convolution gives. What would have nothing in bf16
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
      - {type: flatten}
      - {type: dense, units: 4}
"""
text, n = re.subn(r"    layers:\n(      - .*\n)+", layers, text)
assert n == 1
open("job.yaml", "w").write(text)
PY
sed -i 's/^  dataset:.*/  dataset: {name: idx, path: data, limit: 135}/; s/epochs: 2/epochs: 1/' job.yaml # plain C takes its time
bf16=(--set training.precision=bf16)

one_order "${bf16[@]}"
got=$(result own PACELINE_ISA=avx512bf16 "${bf16[@]}")
case $got in *PACELINE_ISA=*) echo "this CPU has no products of bf16" ;; *) same "avx512bf16" "$got" "$want" ;; esac
same "2 ranks of 2 threads" "$(result both --workers 2 --set training.threads=2 "${bf16[@]}")" "$want"
same "parameter servers" "$(result servers --workers 2 --set replicas.ps.replicas=1 \
    --set "strategy={type: ParameterServer, mode: sync}" "${bf16[@]}")" "$want"

result parts --set training.steps=3 "${bf16[@]}" >/dev/null
same "resumed" "$(result parts --resume --workers 3 "${bf16[@]}")" "$want"

fp32=$(result fp32)
check "fp32" "$fp32" "  -"
if [ "$fp32" = "$want" ]; then fail "bf16 changed nothing"; fi

cat >dense.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: dense}
spec:
  model:
    layers:
      - {type: conv, filters: 8, kernel: 3}
      - {type: flatten}
      - {type: dense, units: 10}
  dataset: {name: fashion-mnist}
JOB
"$PACELINE" validate dense.yaml >/dev/null || fail "fp32 was refused"
check "nothing in bf16" "$("$PACELINE" validate dense.yaml "${bf16[@]}" 2>&1)" \
    "spec.training.precision: found bf16 with a network that has no convolution behind another layer"
check "a precision that is none" "$("$PACELINE" validate dense.yaml --set training.precision=fp16 2>&1)" \
    "allowed: one of fp32, bf16"
verdict
