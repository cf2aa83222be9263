#!/bin/bash
# TIMEOUT: 120
# How the agent ends: SIGTERM with and without a run, an engine that does not stop, SIGKILL.
. tests/agent/lib.sh

start_agent
kill -TERM "$agent_pid"
ended 143

# The engine stops in order, and the operator is told before the agent is gone.
mode start wait
start_agent
talk "$(phase 1 training)" "$(world 1)" >/dev/null
talk "$(phase 1 stopped)" >told &
operator=$!
until_true test -s told
kill -TERM "$agent_pid"
wait "$operator"
ended 143
check "the operator is told" "$(<told)" "$(phase 1 stopping)"

# A run that is done all the same is a success.
mode start wait 'done'
start_agent
talk "$(phase 1 training)" "$(world 1)" >/dev/null
kill -TERM "$agent_pid"
ended 0
check "the record" "$(<record)" '"generation":1,"step":20'

# An engine that does not stop is killed when the grace period is about to end, a world that comes
# then is refused, and a second SIGTERM does not wait.
mode pid start hang
export PACELINE_GRACE_SECONDS=11 # killed after 6
start_agent
talk "$(phase 1 training)" "$(world 1)" >/dev/null
kill -TERM "$agent_pid"
check "a world while ending" "$(talk '"type":"refused"' "$(world 2)")" '"message":"this pod is ending"'
ended 143
until_true gone "$(<engine.pid)"
export PACELINE_GRACE_SECONDS=100000
start_agent
talk "$(phase 1 training)" "$(world 1)" >/dev/null
kill -TERM "$agent_pid"
talk "$(phase 1 stopping)" >/dev/null
kill -TERM "$agent_pid"
ended 143
until_true gone "$(<engine.pid)"

# The kernel ends the engine with the agent.
start_agent
talk "$(phase 1 training)" "$(world 1)" >/dev/null
stop_agent
until_true gone "$(<engine.pid)"

# What it is started with is checked.
"$agent" serve --listen nowhere --key ours.key 2>out
same "a bad address" $? 2
check "a bad address" "$(<out)" '"nowhere" is no address and port'
"$agent" serve --key none.key 2>out
same "no key" $? 3
check "no key" "$(<out)" "none.key: No such file"
printf short >short.key
"$agent" serve --key short.key 2>out
same "a short key" $? 2
check "a short key" "$(<out)" "short.key: the key has 5 bytes, not 32"
"$agent" serve --stat x 2>out
same "an unknown option" $? 2
same "an unknown option" "$(<out)" \
    "paceline-agent serve: unknown option --stat; did you mean --state?; \`paceline-agent serve --help\` says more"
"$agent" serve --pod x /bin/true 2>out
same "a program without --" $? 2
check "a program without --" "$(<out)" "one argument too many: /bin/true"
"$agent" serve -- 2>out
same "no program after --" $? 2
check "no program after --" "$(<out)" "nothing follows --"
verdict
