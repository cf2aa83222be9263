#!/bin/bash
# TIMEOUT: 600
# The two schedules of a synchronous server that can be forced: the bytes of one worker, with one worker's
# transfers at a time or all of them together.
. tests/cli/lib.sh

conv_job schedules
# forced SCHEDULE WORKERS SERVERS: the options, in the array `s`.
forced() {
    s=(--workers "$2" --set replicas.ps.replicas="$3" --set strategy.type=ParameterServer
        --set strategy.batch=join --set training.accumulate=3 --set strategy.schedule="$1")
}
of() { tail -1 "$1/events.jsonl" | grep -o "\"$2\":[0-9]*" | cut -d: -f2; }
adam=(--set "training.optimizer={name: adam}")

# An update of 3 batches; 270 = 8 * 32 + 14 leaves them unequal.
want=$(result one --set training.accumulate=3)
want_adam=$(result one-adam "${adam[@]}" --set training.accumulate=3)
check "one worker" "$want" "  -"
for schedule in oneAtATime allAtOnce; do
    for n in 1 2 3; do
        forced $schedule $n 1
        same "$schedule, $n workers" "$(result "$schedule-$n" "${s[@]}")" "$want"
    done
    forced $schedule 3 2
    same "$schedule, 2 servers" "$(result "$schedule-two" "${s[@]}" "${adam[@]}" \
        --set strategy.placement=greedy)" "$want_adam"
    result "$schedule-parts" "${s[@]}" "${adam[@]}" --set training.steps=4 >/dev/null
    same "$schedule, resumed" "$(result "$schedule-parts" --resume "${s[@]}" "${adam[@]}")" "$want_adam"
    same "$schedule: all counted" "$(of "$schedule-two" pushed) $(of "$schedule-two" dropped)" "18 0"
done

# On a line that needs a second for a transfer.
for schedule in oneAtATime allAtOnce; do
    forced $schedule 3 1
    result "slow-$schedule" "${s[@]}" --set debug.bandwidth=1Mi --set training.steps=2 >/dev/null
done
same "one at a time" "$(of slow-oneAtATime transfersIn) $(of slow-oneAtATime transfersOut)" "1 1"
same "all at once" "$(of slow-allAtOnce transfersOut)" 3

refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:2}" 2>&1)" \
    "spec.strategy.schedule: found one of servers; needed with oneAtATime and allAtOnce: ParameterServer"; }
forced allAtOnce 3 1
refused "split" "${s[@]}" --set strategy.batch=split --set training.accumulate=1
refused "AllReduce" --set strategy.schedule=oneAtATime
refused "no server" "${s[@]}" --set replicas.ps.replicas=0
refused "backup workers" "${s[@]}" --set strategy.backupWorkers=1
refused "async" "${s[@]}" --set strategy.mode=async
verdict
