#!/bin/bash
# TIMEOUT: 120
# The agent's runs: worlds, events, verdicts, stops, and what is left of processes.
. tests/agent/lib.sh

# What an agent before this one has left goes, and nothing else. An IPv6 world of several pods is
# refused by name.
mkdir -p scratch/12/session scratch/mine state
touch scratch/12/session/x scratch/7 scratch/mine/x state/checkpoint
start_agent
same "scratch" "$(ls scratch)" mine
same "the run folder" "$(ls state)" checkpoint
check "IPv6" "$(talk "$(phase 1 failed | sed 's/"p-0"/&,"p-1"/')" "$(world 1 | sed 's/}]}/},{"pod":"p-1","host":"h-1","address":"fd00::2"}]}/')")" \
    '"message":"pod p-1 has the address fd00::2: training in several pods needs IPv4 addresses'
stop_agent
rm -r scratch/mine state/checkpoint

# A run that succeeds: stages, events, the record, exit code 0, nothing left behind.
mode stage start log garbage epoch 'done'
start_agent
out=$(talk "$(phase 3 'done')" "$(world 3)")
check "hello" "$out" '{"type":"hello","protocol":1,"pod":"p-0","generation":0,"run":0,"canary":'
check "at first" "$out" "$(phase 3 starting),\"stage\":\"ranks\",\"step\":0,"
check "its stage" "$out" "$(phase 3 starting),\"stage\":\"data\""
check "training" "$out" "$(phase 3 training),\"stage\":\"\",\"step\":5,"
check "an event" "$out" '{"type":"event","generation":3,"event":{"event":"epoch","epoch":1,"step":10,'
check "its end" "$out" "$(phase 3 'done'),\"stage\":\"\",\"step\":20,\"exit\":0,\"message\":\"trained to step 20\",\"record\":{\"uid\":\"u-1\",\"generation\":3,\"step\":20,\"accuracy\":0.8,\"digest\":\"00ff\"}}"
ended 0
same "the record" "$(<record)" '{"uid":"u-1","generation":3,"step":20,"accuracy":0.8,"digest":"00ff"}'
check "a line per epoch" "$(<agent.out)" "epoch 1: step 10, loss 0.5000, accuracy 0.9000, test accuracy 0.8000"
check "the engine's log" "$(<agent.log)" "engine log line"
check "garbage is told" "$(<agent.log)" 'no event: "no event"'
same "scratch is empty" "$(ls scratch)" ""
rm record

# Runs that fail leave the agent there; each reason has its sentence.
start_agent
failure() { # GENERATION EXIT MESSAGE WORD...: a run of these words fails so
    local generation=$1 exit=$2 message=$3
    shift 3
    mode "$@"
    check "$*" "$(talk "$(phase "$generation" failed)" "$(world "$generation")")" \
        "\"exit\":$exit,\"message\":\"$message"
}
failure 1 7 "the engine ended with exit code 7 and gave no reason" start exit7
failure 2 137 "the engine was ended by signal 9 (Killed); the kernel does so when memory runs out" start progress die
failure 3 0 "the engine ended before it was done and gave no reason" start exit0
failure 4 5 "the engine ended with exit code 5 and gave no reason" start 'done' exit5
failure 5 1 "the engine ended with exit code 1" stage exit1
mode start flood hang
check "a flood" "$(talk "$(phase 6 failed)" "$(world 6)")" "without an end"

# Who connects later learns what was; old generations and worlds of others are refused.
mode start progress copied epoch exit1
talk "$(phase 7 failed)" "$(world 7)" >/dev/null
out=$(talk '"event":"epoch"')
check "the fence" "$out" '"pod":"p-0","generation":7,"run":7,'
check "the newest report" "$out" "$(phase 7 failed)"
check "the newest start" "$out" '"generation":7,"event":{"event":"start"'
check "the newest progress" "$out" '"event":"progress"'
check "the newest copy" "$(talk '"event":"durable"')" '"step":9,"message":"no space"'
refusal() { # NAME MESSAGE WORLD
    check "$1" "$(talk '"type":"refused"' "$3")" "$2"
}
refusal "the same generation" '"generation":7,"message":"generation 7 is not above 7' "$(world 7)"
refusal "an old generation" '"message":"generation 6 is not above 7' "$(world 6)"
refusal "another pod" 'hosts[0].pod: found \"p-1\"; this pod is \"p-0\"' "$(world 8 p-1)"
refusal "no hosts" 'hosts: found 0' '{"type":"world","generation":8,"job":{},"hosts":[]}'
refusal "no job" 'job: it must be' '{"type":"world","generation":8,"hosts":[]}'
refusal "no generation" 'generation: it must be' '{"type":"world","hosts":[]}'
refusal "a bad address" 'hosts[0].address: found \"-x y\"' \
    '{"type":"world","generation":8,"job":{},"hosts":[{"pod":"p-0","host":"h","address":"-x y"}]}'

# The port that the operator tries: each connection is closed at once without a word, also the hundredth.
canary=$(sed -n 's/.*"type":"hello".*"canary":\([0-9]*\)}.*/\1/p' <<<"$out")
open_files() { find "/proc/$agent_pid/fd" | wc -l; }
before=$(open_files)
for _ in {1..100}; do
    exec {fd}<>"/dev/tcp/127.0.0.1/$canary" || fail "nobody listens on port $canary"
    same "its answer" "$(timeout 20 cat <&"$fd" && echo closed)" closed
    exec {fd}>&-
done
same "files that the agent has open" "$(open_files)" "$before"

# Stop and kill; the agent stays. Orders for other generations change nothing.
mode start wait
talk "$(phase 8 training)" "$(world 8)" >/dev/null
out=$(talk "$(phase 8 stopped)" "$(order stop 7)" "$(order kill 9)" "$(order stop 8)")
check "stopping" "$out" "$(phase 8 stopping)"
check "stopped" "$out" '"step":12,"exit":0,"message":"stopped after step 12"'
mode pid start hang
talk "$(phase 9 training)" "$(world 9)" >/dev/null
check "killed" "$(talk "$(phase 9 failed)" "$(order kill 9)")" '"exit":137,"message":"killed on request"'

# A new world kills the run before it; a stop for one that waits is not lost.
talk "$(phase 10 training)" "$(world 10)" >/dev/null
mode start wait
out=$(talk "$(phase 11 stopped)" "$(world 11)" "$(order stop 11)")
check "the older run" "$out" "$(phase 10 failed),\"stage\":\"\",\"step\":5,\"exit\":137,\"message\":\"a newer generation has begun\""

# What the engine leaves behind ends with it, and zombies are reaped.
mode start orphan zombie zombie exit1
talk "$(phase 12 failed)" "$(world 12)" >/dev/null
until_true gone "$(<orphans)"
no_children() { [ -z "$(ps -o pid= --ppid "$agent_pid")" ]; }
until_true no_children
mode start zombie zombie wait
talk "$(phase 13 training)" "$(world 13)" >/dev/null
no_zombies() { ! ps -o stat= --ppid "$agent_pid" | grep -q Z; }
until_true no_zombies
talk "$(phase 13 stopped)" "$(order stop 13)" >/dev/null

# An exit code that trying again cannot mend ends the agent.
mode start error exit3
check "no data" "$(talk "$(phase 14 failed)" "$(world 14)")" '"exit":3,"message":"no data in /nowhere"'
ended 3
same "its termination message" "$(<record)" "no data in /nowhere"
verdict
