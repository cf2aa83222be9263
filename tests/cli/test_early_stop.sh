#!/bin/bash
# TIMEOUT: 500
# earlyStopping: it stops after the epoch that the rule, taken from the events' own figures, says; the
# checkpoint is that of a run that was to end there; the same on any number of workers and servers and in
# every strategy; a run that is stopped and resumed stops at the same step with the same file.
. tests/cli/lib.sh

conv_job early
sed -i 's/epochs: 2/epochs: 8, optimizer: {learningRate: 0.005}/; s/best: false/keep: 100/; s/path: data/path: data, validationSplit: 0.2/' job.yaml
# run NAME ARGUMENT...: its events are added to NAME.events.
run() {
    "$PACELINE" run job.yaml --json --out "$1" "${@:2}" </dev/null >>"$1.events" 2>"$1.log" ||
        fail "$1 ended with $?: $(tail -1 "$1.log")"
}
whole() { sha256sum <"$(find "$1" -name 'checkpoint-*.safetensors' | sort | tail -1)"; }
told() { tail -1 "$1.events" | grep -o '"stoppedEarly":{[^}]*}'; }
early() { s=(--set "training.earlyStopping={$1}"); }

# rule.py EVENTS MONITOR PATIENCE DELTA FIELD: what `done` of a run with that rule has to say.
cat >rule.py <<'PY'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
monitor, patience, delta, field = sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
best = at = None
wait = 0
for e in (e for e in events if e["event"] == "epoch"):
    value = e[field]
    if best is None or (value - delta > best if monitor == "accuracy" else value + delta < best):
        best, at, wait = value, e["epoch"], 0
    else:
        wait += 1
    if wait >= patience:
        short = f"{best:.15g}" # as the engine prints numbers
        print(f'"stoppedEarly":{{"epoch":{e["epoch"]},"patience":{patience},"monitor":"{monitor}",'
              f'"bestEpoch":{at},"best":{short if float(short) == best else f"{best:.17g}"}}}')
        break
else:
    print("never")
PY
# case_of NAME MONITOR PATIENCE DELTA FIELD: a run without the rule says where one with it stops.
case_of() {
    early "monitor: $2, patience: $3, minDelta: $4"
    run "$1" "${s[@]}"
    want=$(python3 rule.py long.events "$2" "$3" "$4" "$5")
    same "$1" "$(told "$1")" "$want"
    case $want in never | '') fail "$1: nothing is tested where nothing stops" ;; esac
}
run long
same "without the rule" "$(told long)" ""
case_of loss loss 2 0.2 validationLoss
case_of accuracy accuracy 2 0 validationAccuracy
sed -i 's/, validationSplit: 0.2//' job.yaml
rm -f long.events
run long-train
mv long-train.events long.events
case_of train loss 1 0.2 loss
sed -i 's/path: data/path: data, validationSplit: 0.2/' job.yaml

# The weights are those of a run whose end was planned there.
early "patience: 2, minDelta: 0.2"
run base "${s[@]}"
stop=$(tail -1 base.events | sed -n 's/.*"step":\([0-9]*\),.*/\1/p')
epoch=$(told base | sed -n 's/.*"epoch":\([0-9]*\).*/\1/p')
digest() { tail -1 "$1.events" | grep -o '"digest":"[0-9a-f]*"'; }
run planned --set training.epochs="$epoch"
same "the weights" "$(digest base)" "$(digest planned)"
if [ "$epoch" -lt 3 ]; then fail "stopped at epoch $epoch: too early to be resumed before it"; fi

# Workers, servers, threads: the same file. Of others the end: all ranks have to agree, or they wait for ever.
want=$(whole base)
for n in 2 3 4; do
    run "ranks$n" --workers $n "${s[@]}"
    same "$n ranks" "$(whole "ranks$n")" "$want"
done
run servers --workers 2 --set strategy.type=ParameterServer --set replicas.ps.replicas=2 "${s[@]}"
same "servers" "$(whole servers)" "$want"
early "patience: 1, minDelta: 1e9" # after the second epoch, whatever it trains
while read -r name servers splits strategy; do
    for split in ${splits/,/ }; do
        run "$name-$split" --workers 2 --set replicas.ps.replicas="$servers" --set "strategy={$strategy}" \
            --set dataset.validationSplit=$split "${s[@]}"
        check "$name, validation $split" "$(told "$name-$split")" '"epoch":2,"patience":1,"monitor":"loss","bestEpoch":1'
    done
done <<'CASES'
servers 1 0,0.2 type: ParameterServer, mode: sync
backup 1 0 type: ParameterServer, mode: sync, batch: join, backupWorkers: 1
async 2 0,0.2 type: ParameterServer, mode: async
local 0 0 type: LocalSGD
elastic 0 0 type: ElasticAveraging
layers 0 0,0.2 type: ModelParallel
before 1 0 type: StrategySwitch, switch: {when: epoch, epoch: 2}
behind 1 0.2 type: StrategySwitch, switch: {when: epoch, epoch: 1}
relaunched 1 0 type: StrategySwitch, switch: {when: epoch, epoch: 1, how: relaunch}
CASES
same "no switch after the end" "$(grep -c '"event":"switch"' before-0.events)" 0

# Stopped amid an epoch, at its end and after the last one, and gone on with other workers.
early "patience: 2, minDelta: 0.2"
per=$((stop / epoch))
for step in $((per + 2)) $((stop - per)) $((stop - 1)); do
    run "parts-$step" "${s[@]}" --set training.steps="$step"
    run "parts-$step" --resume --workers 2 "${s[@]}"
    same "resumed at $step" "$(whole "parts-$step") $(told "parts-$step")" "$want $(told base)"
done
run base --resume "${s[@]}"
same "resumed after its end" "$(whole base) $(told base | wc -l)" "$want 1"
same "and trains no more" "$(tail -1 base.events | sed -n 's/.*"step":\([0-9]*\),.*/\1/p')" "$stop"
early "patience: 1000"
run base --resume "${s[@]}" --set training.epochs=$((epoch + 1))
same "with more patience" "$(tail -1 base.events | sed -n 's/.*"step":\([0-9]*\),.*/\1/p')" $((stop + per))

# What is shown.
early "patience: 2, minDelta: 0.2"
"$PACELINE" run job.yaml --out shown "${s[@]}" >shown.text 2>&1 || fail "shown: $(cat shown.text)"
check "in the table" "$(<shown.text)" "stopped early  at epoch $epoch: no better for 2 epochs"
check "in the report" "$(<shown/report.html)" "at epoch $epoch: no better for 2 epochs"

check "no patience" "$("$PACELINE" validate job.yaml --set training.earlyStopping.monitor=accuracy 2>&1)" \
    "spec.training.earlyStopping.patience: found 0; needed with monitor or minDelta: at least 1"
check "no text" "$("$PACELINE" validate job.yaml --set 'training.earlyStopping={monitor: perplexity, patience: 2}' 2>&1)" \
    "found perplexity, but dataset.name is not text; allowed with other data: loss, accuracy"
verdict
