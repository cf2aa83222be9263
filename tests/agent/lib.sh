# shellcheck shell=bash
# Sourced by the tests of the agent: a folder, two keys, an agent with an engine that does as it is
# told, and a client that stands in for the operator.
# shellcheck source=tests/cli/lib.sh disable=SC1091
. tests/cli/lib.sh
agent=${PACELINE_BUILD:?}/bin/paceline-agent
client=$PACELINE_BUILD/tests/agent/client
agent_pid=
# Also in a subshell.
# shellcheck disable=SC2154
fail() {
    echo "$name: $*" >&2
    touch "$dir/failed"
}
verdict() {
    if [ -e "$dir/failed" ]; then
        echo "FAIL $name"
        exit 1
    fi
    echo "PASS $name"
    exit 0
}
# shellcheck disable=SC2154
trap 'stop_agent; rm -rf "$dir"' EXIT

head -c 32 /dev/urandom >ours.key
head -c 32 /dev/urandom >foreign.key

# The engine: does what the file "mode" says, one word or more, in order.
cat >engine <<'ENGINE'
#!/bin/bash
say() { echo "$1"; }
for word in $(<"$(dirname "$0")/mode"); do
    case $word in
    stage) say '{"event":"stage","stage":"data"}' ;;
    start) say '{"event":"start","model":"mlp","resumedStep":5}' ;;
    progress) say '{"event":"progress","epoch":0,"step":7,"loss":0.6}' ;;
    epoch) say '{"event":"epoch","epoch":1,"step":10,"loss":0.5,"accuracy":0.9,"testAccuracy":0.8}' ;;
    copied) say '{"event":"durable","step":9,"message":"no space"}' ;;
    args) echo "$*" >"$(dirname "$0")/args" ;;
    model)
        state=$(dirname "$0")/state
        mkdir -p "$state"
        printf 'weights of step 20' >"$state/checkpoint-00000020.safetensors"
        say "{\"event\":\"done\",\"step\":20,\"testAccuracy\":0.8,\"digest\":\"00ff\",\"checkpoint\":\"$state/checkpoint-00000020.safetensors\"}"
        ;;
    done) say '{"event":"done","step":20,"testAccuracy":0.8,"digest":"00ff"}' ;;
    error) say '{"event":"error","code":3,"message":"no data in /nowhere"}' ;;
    garbage) say 'no event' ;;
    flood) head -c 200000 /dev/zero | tr '\0' x ;;
    log) echo "engine log line" >&2 ;;
    exit*) exit "${word#exit}" ;;
    die) kill -9 $$ ;;
    orphan) (setsid sleep 1000 & echo $! >>"$(dirname "$0")/orphans") ;;
    zombie) (sleep 0.01 &) ;;
    pid) echo $$ >"$(dirname "$0")/engine.pid" ;;
    hang) exec sleep 1000 ;;
    wait) # to be stopped
        while [ ! -e "$PACELINE_STOP_FILE" ]; do sleep 0.02; done
        say '{"event":"stopped","step":12,"checkpoint":"c"}'
        ;;
    esac
done
ENGINE
chmod +x engine

mode() { echo "$*" >mode; }

listening() { grep -q "listening port=" agent.log; }

# start_agent [OPTION...]: sets agent_pid and port.
start_agent() {
    : >agent.log
    "$agent" serve --listen 127.0.0.1:0 --key ours.key --state "$dir/state" \
        --scratch "$dir/scratch" --pod p-0 --worker "$dir/engine" --termination-log "$dir/record" \
        "$@" >agent.out 2>agent.log &
    agent_pid=$!
    until_true listening
    port=$(sed -n 's/.*listening port=\([0-9]*\).*/\1/p' agent.log)
}

stop_agent() {
    if [ -n "$agent_pid" ]; then
        kill -KILL "$agent_pid" 2>/dev/null
        wait "$agent_pid" 2>/dev/null
    fi
    agent_pid=
}

# ended CODE: the agent ends by itself with this exit code.
ended() {
    wait "$agent_pid"
    same "exit code of the agent" $? "$1"
    agent_pid=
}

# talk UNTIL LINE...: as the operator; prints what came.
talk() {
    local text=$1
    shift
    printf '%s\n' "$@" | timeout 60 "$client" 127.0.0.1 "$port" ours.key control --until "$text" ||
        fail "nothing with $text came"
}

world() { # GENERATION [POD]
    echo "{\"type\":\"world\",\"generation\":$1,\"job\":{\"metadata\":{\"uid\":\"u-1\"}},\"hosts\":[{\"pod\":\"${2:-p-0}\",\"host\":\"h-0\",\"address\":\"127.0.0.1\"}]}"
}

order() { echo "{\"type\":\"$1\",\"generation\":$2}"; }

# What a report of a generation's phase begins with.
phase() { echo "{\"type\":\"run\",\"generation\":$1,\"pods\":[\"p-0\"],\"phase\":\"$2\""; }
