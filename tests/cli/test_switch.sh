#!/bin/bash
# TIMEOUT: 400
# StrategySwitch: whatever is before and after it, one worker trains to the bytes of sequential SGD; the
# first phase has the bytes of that strategy alone; the hand-over changes no bit of the weights, and the
# momentum as it was told; when it comes, it is told of; who is killed around it resumes in the right phase.
. tests/cli/lib.sh

conv_job switch
sed -i 's/epochs: 2/epochs: 4/; s/best: false/best: false, keep: 100/' job.yaml
# run NAME ARGUMENT...: its events are in NAME.events.
run() {
    "$PACELINE" run job.yaml --json --out "$1" "${@:2}" </dev/null >"$1.events" 2>"$1.log" ||
        fail "$1 ended with $?: $(tail -1 "$1.log")"
}
# switching WORKERS SERVERS "FIELD: VALUE, ...": the options, in the array `s`.
switching() {
    s=(--workers "$1" --set replicas.ps.replicas="$2" --set strategy.type=StrategySwitch
        --set "strategy.switch={$3}")
}
# digest NAME STEP: of weights and optimiser state in a checkpoint.
digest() { head -c 8000 "$1/checkpoint-$(printf %08d "$2").safetensors" | tr -d '\0' | grep -o '"digest":"[0-9a-f]*"'; }
# told NAME: how the last event tells of the switch.
told() { tail -1 "$1.events" | grep -o '"switch":{[^}]*}'; }
event() { grep '"event":"switch"' "$1.events"; }

# One worker: every number of servers, either order, wherever it is.
run one
want=$(digest one 36)
check "sequential" "$want" digest
for order in AllReduceFirst ServersFirst; do
    for at in 1 2 3; do
        switching 1 $((at % 2 + 1)) "when: epoch, epoch: $at, order: $order"
        run "one-$order-$at" "${s[@]}"
        same "one worker, $order, $at" "$(digest "one-$order-$at" 36)" "$want"
        same "told" "$(told "one-$order-$at")" \
            "\"switch\":{\"fired\":true,\"epoch\":$at,\"step\":$((9 * at)),\"reason\":\"epoch\"}"
    done
done
switching 1 1 "when: fraction, fraction: 0.5"
adam=(--set "training.optimizer={name: adam}")
run one-adam "${adam[@]}"
run one-adam-switch "${adam[@]}" "${s[@]}"
same "one worker, adam" "$(digest one-adam-switch 36)" "$(digest one-adam 36)"

# The learning rate goes on with the epochs of the whole job: through warm-up, curve and steps.
for schedule in "type: cosine, warmupEpochs: 3" "type: piecewise, boundaries: [1.5, 2, 2.5], values: [1, 0.5, 0.2, 0.1]"; do
    rate=(--set "training.learningRateSchedule={$schedule}")
    run rate "${rate[@]}"
    run rate-switch "${rate[@]}" "${s[@]}"
    same "the learning rate, $schedule" "$(digest rate-switch 36)" "$(digest rate 36)"
    rates() { grep '"event":"epoch"' "$1.events" | grep -o '"learningRate":[0-9.e-]*' | tr '\n' ' '; }
    same "as told, $schedule" "$(rates rate-switch)" "$(rates rate)"
done

# Several workers: up to the switch all-reduce alone, after it every gradient counts. What is handed over is
# what the epoch ended with.
run three --workers 3
for servers in 1 3; do
    switching 3 $servers "when: fraction, fraction: 0.5"
    run "three-$servers" "${s[@]}"
    for step in 9 18; do
        same "3 workers, $servers servers, step $step" "$(digest "three-$servers" $step)" "$(digest three $step)"
    done
    check "applied" "$(tail -1 "three-$servers.events")" '"pushed":18,"applied":18'
    same "the end" "$(told "three-$servers")" '"switch":{"fired":true,"epoch":2,"step":18,"reason":"fraction"}'
done
check "the event" "$(event three-1)" '"epoch":2,"step":18,"reason":"fraction","seconds":'
check "none yet" "$(grep '"event":"start"' three-1.events)" '"switch":{"fired":false}'
switching 3 2 "when: epoch, epoch: 1, order: ServersFirst"
run reverse "${s[@]}" --set debug.checkReplicas=2
check "servers first" "$(event reverse)" '"pushed":9,"applied":9,"staleness":['
same "all-reduce after them" "$(tail -1 reverse.events | grep -c '"pushed"')" 0

# Momentum: the buffer in the checkpoint of the switch is kept, zero, or scaled; the coefficient is ramped
# by epochs, as if the job had been told so each time.
cat >velocity.py <<'PY'
import json, struct, sys
def tensors(path):
    data = open(path, "rb").read()
    n = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:n])
    head.pop("__metadata__")
    return {name: data[n + t["data_offsets"][0]:n + t["data_offsets"][1]] for name, t in head.items()}
before, after, factor = tensors(sys.argv[1]), tensors(sys.argv[2]), float(sys.argv[3])
slots = 0
for name, was in before.items():
    if name.startswith("optimizer.momentum_buffer."):
        scaled = b"".join(struct.pack("<f", v[0] * factor) for v in struct.iter_unpack("<f", was))
        if scaled != after[name] and not (factor == 0 and after[name] == bytes(len(was))):
            print(name, "is not", factor, "times what it was")
        slots += any(was)
    elif was != after[name]:
        print(name, "has changed")
print(slots, "slots")
PY
at18=checkpoint-00000018.safetensors
while read -r name factor more; do
    switching 2 1 "when: epoch, epoch: 2, momentum: $name$more"
    run "$name" "${s[@]}"
    same "$name" "$(python3 velocity.py three/$at18 "$name/$at18" "$factor")" "6 slots"
done <<'CASES'
keep 1
reset 0
scale 0.375 , factor: 0.375
ramp 1 , factor: 0.25, rampEpochs: 3
CASES
switching 1 1 "when: epoch, epoch: 1, momentum: ramp, factor: 0.25, rampEpochs: 2"
run ramp-one "${s[@]}"
steps=0
for momentum in 0.9 0.225 0.5625 0.9; do
    steps=$((steps + 9))
    run oracle --resume --set training.steps=$steps --set training.optimizer.momentum=$momentum
done
same "the ramp" "$(digest ramp-one 36)" "$(digest oracle 36)"
if [ "$(digest ramp-one 36)" = "$want" ]; then fail "the ramp changed nothing"; fi

# plateau: on the losses of a run without it, by the rule's own arithmetic; else at the fraction.
switching 2 1 "when: plateau, fraction: 0.75, window: 2, threshold: 1"
run plateau "${s[@]}"
same "a plateau" "$(told plateau)" '"switch":{"fired":true,"epoch":2,"step":18,"reason":"plateau"}'
switching 2 1 "when: plateau, fraction: 0.75"
run fallback "${s[@]}"
same "no plateau" "$(told fallback)" '"switch":{"fired":true,"epoch":3,"step":27,"reason":"fallback"}'
switching 2 1 "when: epoch, epoch: 3"
run never "${s[@]}" --set training.steps=20
same "an end before it" "$(told never)" '"switch":{"fired":false}'
"$PACELINE" run job.yaml --out shown "${s[@]}" >shown.text 2>&1 || fail "shown: $(cat shown.text)"
check "on the screen" "$(<shown.text)" "switched strategy after epoch 3 (epoch); the hand-over took"
check "in the table" "$(<shown.text)" "switched       after epoch 3 (epoch)"
check "in the report" "$(<shown/report.html)" "after epoch 3 (epoch)"
verdict
