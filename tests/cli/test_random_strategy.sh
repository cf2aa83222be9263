#!/bin/bash
# TIMEOUT: 600
# Random strategies, counts, shapes and buckets (SEEDS="1 2 ..."): a job is refused before anything is trained,
# or it trains; a rank, or mpirun, that is killed at a random moment ends all within a limit; what is left goes
# on to the end, to the bytes of one worker where these are promised. Nothing hangs.
. tests/cli/lib.sh

conv_job random
sed -i '/^  model:/,/units: 4}$/d; s/best: false/best: false, everySteps: 3/' job.yaml
trained=0 killed=0
# ended NAME COMMAND...: within a minute; its exit code. The log is NAME.log.
ended() {
    timeout -k 5 "${LIMIT:-120}" "${@:2}" </dev/null >"$1.log" 2>&1
    local code=$?
    if [ $code -ge 124 ]; then fail "$1 hangs: ${*:2}"; fi
    return $code
}
digest() {
    tail -1 "$1/events.jsonl" | grep -o '"digest":"[0-9a-f]*"'
}
# all_gone OUT: no rank that writes there.
all_gone() { ! pgrep -f "paceline-worker run .*--out $1( |\$)" >/dev/null; }
# under_way OUT PID: it trains, or has ended.
under_way() { grep -qs '"event":"start"' "$1/events.jsonl" || gone "$2"; }

for seed in ${SEEDS:-$(seq 14)}; do
    mapfile -t lines < <(python3 "$repo/tests/cli/random_strategy.py" "$seed")
    promise=${lines[0]} shape=() all=(--workers "${lines[1]}")
    for i in "${!lines[@]}"; do
        if [ "$i" -lt 3 ]; then continue; fi
        all+=(--set "${lines[$i]}")
        if [ "$i" -lt $((3 + lines[2])) ]; then shape+=(--set "${lines[$i]}"); fi
    done
    out=case-$seed
    if ! ended "$out-validate" "$PACELINE" validate job.yaml "${all[@]}"; then
        # Said in one sentence, and by the command that would train just so (what hangs on data by its engine).
        ended "$out" "$PACELINE" run job.yaml --out "$out" "${all[@]}" && fail "seed $seed: refused, but it runs"
        same "seed $seed: refused by both" "$(grep -c 'found' "$out.log")" "$(grep -c 'found' "$out-validate.log")"
        same "seed $seed: nothing is trained" "$(find "$out" -name 'checkpoint-*' 2>/dev/null)" ""
        continue
    fi
    trained=$((trained + 1))
    "$PACELINE" run job.yaml --out "$out" "${all[@]}" --set debug.slowdown='[6, 2]' \
        --set debug.gradientSeconds=0.05 </dev/null >"$out-first.log" 2>&1 & # a second and more on any machine
    command=$!
    if [ $((seed % 2)) -eq 0 ]; then until_true under_way "$out" $command; fi # else on its way there, too
    sleep "0.$((seed * 7919 % 9 + 1))"
    mapfile -t ranks < <(pgrep -f "paceline-worker run .*--out $out( |\$)")
    if [ ${#ranks[@]} -gt 0 ] && kill -KILL "${ranks[$((seed % ${#ranks[@]}))]}" 2>/dev/null; then
        killed=$((killed + 1))
    fi
    until_true gone $command || kill -KILL $command
    wait $command
    until_true all_gone "$out"
    resume=()
    if [ -e "$(find "$out" -name 'checkpoint-*.safetensors' 2>/dev/null | head -1)" ]; then resume=(--resume); fi
    if [ ${#resume[@]} -eq 0 ]; then rm -rf "$out"; fi
    ended "$out" "$PACELINE" run job.yaml --out "$out" "${all[@]}" "${resume[@]}" ||
        fail "seed $seed: $(tail -1 "$out.log"): ${all[*]}"
    check "seed $seed: done" "$(tail -1 "$out/events.jsonl" 2>/dev/null)" '"event":"done"'
    if [ "$promise" = same ]; then
        ended "$out-one" "$PACELINE" run job.yaml --out "$out-one" "${shape[@]}" || fail "seed $seed alone"
        same "seed $seed: bytes" "$(digest "$out")" "$(digest "$out-one")"
    fi
done
if [ $trained -eq 0 ]; then fail "no job was trained"; fi
if [ $killed -eq 0 ]; then fail "nobody was there to be killed"; fi
echo "$trained jobs trained, $killed of them killed on the way"
verdict
