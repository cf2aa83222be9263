#!/bin/bash
# TIMEOUT: 600
# StrategySwitch resumed: a rank is killed before, at and after the switch; runs end before it, on its very
# epoch and after it; it is launched again for the switch itself. One worker's bytes are those of sequential
# SGD all the same, on any number of servers, and each part trains what it should.
. tests/cli/lib.sh

conv_job resume
sed -i 's/epochs: 2/epochs: 4/; s/best: false/best: false, keep: 100/' job.yaml
# run NAME ARGUMENT...: its events are added to NAME.events.
run() {
    "$PACELINE" run job.yaml --json --out "$1" "${@:2}" </dev/null >>"$1.events" 2>"$1.log" ||
        fail "$1 ended with $?: $(tail -1 "$1.log")"
}
# switching WORKERS SERVERS "FIELD: VALUE, ...": the options, in the array `s`.
switching() {
    s=(--workers "$1" --set replicas.ps.replicas="$2" --set strategy.type=StrategySwitch
        --set "strategy.switch={$3}")
}
digest() { head -c 8000 "$1/checkpoint-$(printf %08d "$2").safetensors" | tr -d '\0' | grep -o '"digest":"[0-9a-f]*"'; }
told() { tail -1 "$1.events" | grep -o '"switch":{[^}]*}'; }
started() { grep '"event":"start"' "$1.events" | tail -1 | grep -o "\"$2\":[^,}]*" | cut -d: -f2-; }
halfway="when: epoch, epoch: 2"
fired='"switch":{"fired":true,"epoch":2,"step":18,"reason":"epoch"}'

run one
want=$(digest one 36)
check "sequential" "$want" digest

# is_in FILE TEXT
is_in() { grep -q "$2" "$1"; }
# rank_of OUT N: the process of the engine that writes there, the worker or a server.
rank_of() { pgrep -f "paceline-worker run .*--out $1( |\$)" | while read -r pid; do
    if grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
done; }

# Killed when an event is there, at once; half of the run is left then, which takes 1.8 s on any machine.
# Whatever was on disk by then, it is in the part that its step belongs to, and ends as if nothing had been.
while read -r name rank event; do
    switching 1 1 "$halfway, momentum: keep"
    "$PACELINE" run job.yaml --json --out "$name" "${s[@]}" --set debug.gradientSeconds=0.1 \
        </dev/null >"$name.events" 2>"$name.log" &
    until_true is_in "$name.events" "$event"
    kill -KILL "$(rank_of "$name" "$rank")" || fail "$name: nobody to kill"
    wait $! && fail "$name survived"
    switching 1 2 "$halfway"
    run "$name" --resume "${s[@]}"
    same "$name, bytes" "$(digest "$name" 36)" "$want"
    same "$name, told" "$(told "$name")" "$fired"
    resumed=$(started "$name" resumedStep)
    same "$name, from $resumed" "$(started "$name" fired)" "$([ "$resumed" -ge 18 ] && echo true || echo false)"
done <<'KILLS'
before 0 "event":"checkpoint".*"step":9,
at-server 1 "event":"epoch","epoch":2
handed-over 0 "event":"switch"
handed-over-server 1 "event":"switch"
behind 0 "event":"progress","epoch":2,
KILLS

# Ended amid an epoch and on the switch itself, which then comes first of all; what all-reduce alone has trained.
switching 1 1 "$halfway"
for step in 17 18 19; do
    run "end-$step" "${s[@]}" --set training.steps=$step
    run "end-$step" --resume "${s[@]}"
    same "ended at $step" "$(digest "end-$step" 36) $(told "end-$step")" "$want $fired"
done
run plain --set training.steps=22
run plain --resume "${s[@]}"
same "of another strategy" "$(digest plain 36)" "$want"
same "of another strategy, told" "$(told plain)" '"switch":{"fired":true,"epoch":3,"step":27,"reason":"epoch"}'
run back "${s[@]}" --set training.steps=22
run back --resume
same "back to another strategy" "$(digest back 36)" "$want"

# The losses of the window outlive a run, and other numbers of workers.
switching 2 1 "when: plateau, fraction: 0.99, window: 3, threshold: 1"
PACELINE_STOP_FILE=$dir/stop "$PACELINE" run job.yaml --json --out losses "${s[@]}" \
    --set debug.gradientSeconds=0.1 </dev/null >losses.events 2>/dev/null &
until_true is_in losses.events '"event":"epoch","epoch":2'
touch stop
wait $!
same "stopped" "$(grep -c '"event":"stopped"' losses.events)" 1
switching 3 2 "when: plateau, fraction: 0.99, window: 3, threshold: 1"
run losses --resume "${s[@]}" --set training.epochs=6
same "the window" "$(told losses)" '"switch":{"fired":true,"epoch":3,"step":27,"reason":"plateau"}'
run three --workers 3 --set training.steps=27
same "up to the switch" "$(digest losses 27)" "$(digest three 27)"

# A ramp goes on where it was.
switching 1 1 "when: epoch, epoch: 1, momentum: ramp, factor: 0.25, rampEpochs: 2"
run ramp "${s[@]}"
for step in 9 13 22; do run ramps --resume "${s[@]}" --set training.steps=$step; done
run ramps --resume "${s[@]}"
same "a ramp in parts" "$(digest ramps 36)" "$(digest ramp 36)"

# Launched again: the run ends with the checkpoint of the switch, and the command starts the next.
for momentum in keep reset; do
    switching 2 1 "$halfway, momentum: $momentum"
    run "place-$momentum" "${s[@]}"
    switching 2 1 "$halfway, momentum: $momentum, how: relaunch"
    run "again-$momentum" "${s[@]}"
    same "launched again, $momentum" "$(digest "again-$momentum" 18)" "$(digest "place-$momentum" 18)"
    same "launched again, $momentum, told" "$(told "again-$momentum")" "$fired"
done
same "twice" "$(grep -c '"event":"start"' again-keep.events)" 2
check "why" "$(grep -A2 '"event":"switch"' again-keep.events)" '"event":"stopped","step":18'
check "after it" "$(tail -1 again-keep.events)" '"pushed":18,"applied":18'
for order in AllReduceFirst ServersFirst; do
    switching 1 1 "$halfway, order: $order, how: relaunch"
    run "relaunch-$order" "${s[@]}"
    same "one worker, launched again, $order" "$(digest "relaunch-$order" 36)" "$want"
done
"$PACELINE" run job.yaml --out shown "${s[@]}" >shown.text 2>&1 || fail "shown: $(cat shown.text)"
check "on the screen" "$(<shown.text)" "switched strategy after epoch 2 (epoch); launching again"
check "and on" "$(<shown.text)" "resumed at step 18"
verdict
