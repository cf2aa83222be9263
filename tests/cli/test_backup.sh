#!/bin/bash
# TIMEOUT: 900
# Backup workers: every batch counts once, so many gradients make an update, the rest is dropped; in a
# scripted order the bytes are those of one worker, and the number that is dropped is known.
. tests/cli/lib.sh

conv_job backup
# backup WORKERS BACKUPS SERVERS: the options, in the array `s`; an update has WORKERS - BACKUPS batches.
backup() {
    s=(--workers "$1" --set strategy.type=ParameterServer --set replicas.ps.replicas="$3"
        --set strategy.batch=join --set strategy.backupWorkers="$2" --set training.accumulate=$(($1 - $2))
        --set strategy.waitSeconds=100)
}
# of NAME: steps, and gradients that were computed, applied, dropped, in the last event.
of() {
    tail -1 "$1/events.jsonl" | grep -o '"\(step\|pushed\|applied\|dropped\)":[0-9]*' | cut -d: -f2 |
        paste -sd' '
}
adam=(--set "training.optimizer={name: adam}")

# No backups: synchronous servers, as without the field.
one=$(result one)
backup 1 0 1
same "one worker, no backups" "$(result none "${s[@]}")" "$one"

# The last worker never comes first: what counts is dealt in order, and its gradient is dropped once per
# meeting. 8 whole batches are 8, 4 and 3 updates.
whole=(--set dataset.limit=256 "${adam[@]}")
for m in 1 2 3; do
    order=$(seq -s, 0 $((m - 1)))
    steps=$((2 * ((8 + m - 1) / m)))
    want=$(result "joined-$m" --set training.accumulate=$m "${whole[@]}")
    check "$m batches on one worker" "$want" "  -"
    for servers in 1 2; do
        out=order-$m-$servers
        backup $((m + 1)) 1 $servers
        same "$m batches, $servers servers" \
            "$(result "$out" "${s[@]}" "${whole[@]}" --set debug.pushOrder="[$order]")" "$want"
        same "$m batches, $servers servers: counts" "$(of "$out")" "$steps 18 16 2"
    done
done
# Nor does a gradient of older weights count when it comes in between: worker 1's are one update late.
backup 2 1 2
same "a late worker" "$(result late "${s[@]}" "${whole[@]}" --set debug.pushOrder='[0, 0, 1]')" \
    "$(sha256sum <"$(find joined-1 -name 'checkpoint-*' | sort | tail -1)")"
same "a late worker: applied" "$(of late | cut -d' ' -f1,3)" "16 16"
if [ "$(of late | cut -d' ' -f4)" -lt 4 ]; then fail "a late worker: $(of late)"; fi

# A worker that is gone is a backup less: the others have its share.
same "a smaller world" "$(ranks 3 "$PACELINE_WORKER" run --spec order-3-1/job.json --out smaller 2>&1 |
    tail -1 | grep -o '"step":6,\|"applied":16' | paste -sd' ')" '"step":6, "applied":16'

# Whoever comes first.
free() { # WORKERS BACKUPS SERVERS SLOWDOWN
    local got out=free-$1-$2-$3 steps=$((2 * ((9 + $1 - $2 - 1) / ($1 - $2))))
    backup "$1" "$2" "$3"
    check "$out" "$(result "$out" "${s[@]}" --set debug.slowdown="$4")" "  -"
    read -ra got <<<"$(of "$out")"
    echo "$out: ${got[*]}"
    same "$out: steps" "${got[0]}" $steps
    same "$out: applied" "${got[2]}" 18
    same "$out: computed" "${got[1]}" $((got[2] + got[3]))
}
free 2 1 1 '[1, 30]'
free 3 1 2 '[30]'
free 4 1 1 '[1, 1, 30]'
free 4 2 2 '[1, 20, 1, 20]'
free 4 3 1 '[1]'

# Saved amid an epoch, stopped, resumed.
backup 3 1 1
check "saved" "$(result saved "${s[@]}" --set checkpoint.everySteps=2 --set debug.checkReplicas=3)" "  -"
same "saved: counted" "$(of saved | cut -d' ' -f1,3)" "10 18"
result parts "${s[@]}" --set training.steps=3 >/dev/null
check "resumed" "$(result parts --resume "${s[@]}")" "  -"
same "resumed: counted" "$(of parts | cut -d' ' -f1,3)" "10 12"
touch stop
PACELINE_STOP_FILE=$PWD/stop "$PACELINE" run job.yaml --out stopped "${s[@]}" >stopped.log 2>&1
check "a stop" "$(tail -1 stopped/events.jsonl)" '"event":"stopped"'
check "NaN" "$(result nan "${s[@]}" --set debug.failNan=true)" "step 3: the loss is"
check "a wait" "$(result waits "${s[@]}" --set debug.pushOrder='[2, 1]' --set debug.slowdown='[1, 1, 1000]' \
    --set debug.gradientSeconds=0.01 --set strategy.waitSeconds=1)" "waited 1 s for"

backup 4 1 2
result learns "${s[@]}" --set training.epochs=6 >/dev/null
losses=$(grep '"event":"epoch"' learns/events.jsonl | grep -o '"loss":[0-9.]*' | cut -d: -f2 | sed -n '1p;$p')
# shellcheck disable=SC2086
if ! awk 'BEGIN { exit !(ARGV[2] < 0.8 * ARGV[1]) }' $losses; then fail "losses: $losses"; fi

refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
refused "no server" "backupWorkers: found some without mode sync, a server or batch join; needed" "${s[@]}" \
    --set replicas.ps.replicas=0
refused "split" "backupWorkers: found some without mode sync, a server or batch join; needed" "${s[@]}" \
    --set strategy.batch=split --set training.accumulate=1
refused "all" "strategy.backupWorkers: found all workers, or more; allowed: fewer than workers" "${s[@]}" \
    --set strategy.backupWorkers=4
refused "async" "backupWorkers: found some without mode sync, a server or batch join" "${s[@]}" \
    --set strategy.mode=async
refused "idle workers" "strategy.batch: found 4 workers and 2 batches per update; allowed" "${s[@]}" \
    --set training.accumulate=2
verdict
