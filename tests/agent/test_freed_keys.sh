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

# The key, and what a line of its Secret has of it.
hex() { od -An -v -tx1 | tr -d ' \n'; }
number=$(hex <ours.key)
needles="$number $(base64 -w0 ours.key | head -c 40 | hex)"
same "the key's length" "${#number}" 64

# searched NAME REPORT: no key in the blocks that were freed, and there were some.
searched() {
    same "$1: finds" "$(grep -c found "$2")" 0
    [ "$(sed -n 's/^searched //p' "$2" | sort -n | tail -1)" -gt 30 ] || fail "$1: searched $(cat "$2")"
    grep found "$2" | sort | uniq -c >&2
}

export FREED_NEEDLES=$needles FREED_REPORT=$dir/serve
LD_PRELOAD=$dir/freed.so start_agent
mode start progress wait
check "a run" "$(talk "$(phase 1 training)" "$(world 1)")" "$(phase 1 training)"
echo '{"type":"ping"}' | timeout 20 "$client" 127.0.0.1 "$port" foreign.key control --until x >/dev/null 2>&1

mkdir run
world 1 | sed "s/{/{\"port\":$port,\"key\":\"ours.key\",/" >run/exec.json
PACELINE_AGENT_RUN=$dir/run FREED_REPORT=$dir/exec LD_PRELOAD=$dir/freed.so "$agent" exec 127.0.0.1 sh >said 2>&1
check "exec reached the agent" "$(cat said)" "refused"
searched exec exec

check "the run stops" "$(talk "$(phase 1 stopped)" "$(order stop 1)")" "stopped after step 12"
kill -TERM "$agent_pid"
wait "$agent_pid"
agent_pid=
searched serve serve

# A file that has more than the key.
echo >>ours.key
FREED_REPORT=$dir/refused LD_PRELOAD=$dir/freed.so timeout 20 "$agent" serve --listen 127.0.0.1:0 --key ours.key \
    --state "$dir/state" --scratch "$dir/scratch" --termination-log "$dir/record" >said 2>&1
check "a longer key" "$(cat said)" "the key has 33 bytes, not 32"
searched refused refused
verdict
