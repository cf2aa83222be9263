#!/bin/bash
# TIMEOUT: 120
# The job's key stays in no memory that the agent gives back: each block is searched when it is freed, also blocks of
# libraries. `serve` through a run, a stranger and a connection of the operator; `exec` up to the agent's refusal.
# shellcheck source=tests/agent/lib.sh disable=SC1091
. tests/agent/lib.sh

if nm "$agent" | grep -E '__[at]san_init' >/dev/null; then
    echo "a sanitizer has its own free"
    exit 77
fi
# shellcheck disable=SC2154 # lib.sh sets repo
"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -o freed.so "$repo/tests/agent/freed.c" -ldl || exit 1

# The number, its bytes turned around as big numbers have them in memory, and what a line of its PEM has of it.
hex() { od -An -v -tx1 | tr -d ' \n'; }
number=$(openssl pkey -in ours.key -noout -text | sed -n '/priv:/,/pub:/p' | grep '^  ' | tr -d ' :\n' | tail -c 64)
turned=$(grep -o .. <<<"$number" | tac | tr -d '\n')
text=$(grep -v -e ----- ours.key | tr -d '\n')
needles="$number $turned $(printf %s "${text:64:27}" | hex)"
same "the key's length" "${#number}" 64
[[ $(openssl pkey -in ours.key -outform DER | hex) == *$number* ]] || fail "the key has no such number"
grep -q "${text:64:27}" ours.key || fail "no line of the key"

# searched NAME REPORT: no key in the blocks that were freed, and there were some.
searched() {
    same "$1: finds" "$(grep -c found "$2")" 0
    [ "$(sed -n 's/^searched //p' "$2" | sort -n | tail -1)" -gt 100 ] || fail "$1: searched $(cat "$2")"
    grep found "$2" | sort | uniq -c >&2
}

export FREED_NEEDLES=$needles FREED_REPORT=$dir/serve
LD_PRELOAD=$dir/freed.so start_agent
mode start progress wait
check "a run" "$(talk "$(phase 1 training)" "$(world 1)")" "$(phase 1 training)"
echo '{"type":"ping"}' | timeout 20 "$client" 127.0.0.1 "$port" foreign.key foreign.crt control --until x >/dev/null 2>&1

mkdir run
world 1 | sed "s/{/{\"port\":$port,\"key\":\"ours.key\",\"certificate\":\"ours.crt\",/" >run/exec.json
PACELINE_AGENT_RUN=$dir/run FREED_REPORT=$dir/exec LD_PRELOAD=$dir/freed.so "$agent" exec 127.0.0.1 sh >said 2>&1
check "exec reached the agent" "$(cat said)" "refused"
searched exec exec

check "the run stops" "$(talk "$(phase 1 stopped)" "$(order stop 1)")" "stopped after step 12"
kill -TERM "$agent_pid"
wait "$agent_pid"
agent_pid=
searched serve serve

# Keys that do not belong together.
cp foreign.crt ours.crt
FREED_REPORT=$dir/refused LD_PRELOAD=$dir/freed.so timeout 20 "$agent" serve --listen 127.0.0.1:0 --key ours.key \
    --certificate ours.crt --state "$dir/state" --scratch "$dir/scratch" --termination-log "$dir/record" >said 2>&1
check "another certificate" "$(cat said)" "do not belong together"
searched refused refused
verdict
