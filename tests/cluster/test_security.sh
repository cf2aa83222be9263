#!/bin/bash
# Nobody but a job's own pods and the operator starts anything through its agents: a NetworkPolicy keeps
# other pods from every port; where there is none, only the job's own key opens TLS, and strangers get
# nothing but an alert. A flood of them does not keep a launch from its end (both times are printed).
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
cluster_debian
paceline_images
paceline_install
client=${PACELINE_BUILD:?}/tests/agent/client
[ -x "$client" ] || {
    echo "$client is not built: make tests"
    exit 1
}

# sleeper NAME: a pod spec that runs a Debian which does nothing.
sleeper() { echo "{securityContext: {runAsUser: 1000}, containers: [{name: any, image: \"$cluster_image\", command: [sleep, \"1000\"], resources: {requests: {cpu: 10m}}}]}"; }
apply <<JOBS
$(train guarded 2 10000)
$(train open 1 10000)
  networkPolicy: {type: None}
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: neighbour}
spec: {replicas: {worker: {template: {spec: $(sleeper)}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger}
spec: $(sleeper)
JOBS
until_step guarded 10
until_step open 10
t wait --for=condition=Ready pod/stranger pod/neighbour-worker-0-0 --timeout=60s >/dev/null ||
    fail "pods do not get ready"
ip_of() { of "pod/$1" '{.status.podIP}'; }

# reachable POD ADDRESS PORT...: the ports that a Debian pod gets a connection to.
reachable() {
    # shellcheck disable=SC2016 # the pod's shell expands it
    t exec "$1" -- bash -c 'for port in "${@:2}"; do
        (timeout 3 bash -c ": <>/dev/tcp/$1/$port" 2>/dev/null && echo "$port") &
    done; wait' bash "${@:2}" | sort -n | tr '\n' ' '
}
for i in 0 1; do
    pod=guarded-worker-$i-0
    mapfile -t ports < <(pod_network $pod ss -tlnH | awk '$4 !~ /^127\.|^\[::1\]/ { sub(/.*:/, "", $4); print $4 }' | sort -un)
    echo "  $pod listens on ${ports[*]}"
    check "its agent" " ${ports[*]} " " 7420 "
    check "the port that the operator tries" " ${ports[*]} " " 7500 "
    at_least "its daemon and rank listen, too" ${#ports[@]} 4
    for port in "${ports[@]}"; do
        if [ "$port" -lt 7420 ] || [ "$port" -gt 7999 ]; then fail "$pod listens on $port"; fi
    done
    same "a stranger reaches of $pod" "$(reachable stranger "$(ip_of $pod)" "${ports[@]}")" ""
    same "another job's pod reaches of $pod" "$(reachable neighbour-worker-0-0 "$(ip_of $pod)" "${ports[@]}")" ""
done
t exec guarded-worker-1-0 -- nc -w 3 "$(ip_of guarded-worker-0-0)" 7420 </dev/null >/dev/null ||
    fail "the job's own pods do not reach each other"

# The operator tries whether it gets beyond the agent's port, 10 s after it has greeted the agent and then at
# each launch. It says nothing while the policy is enforced, and once for the first launch after that ends.
told() { t get events -o jsonpath='{range .items[*]}{.reason} {.involvedObject.name}{"\n"}{end}' | grep '^NetworkPolicyNotEnforced'; }
sleep 15
same "what the operator says of a policy that is enforced" "$(told)" ""
cluster_signal policy STOP
cluster_node nft delete table ip network_policy
before=$(generation_of guarded)
kill_in guarded-worker-1-0 paceline-worker
until_relaunched guarded "$before"
until_true told
same "what the operator says when nothing enforces it" "$(told)" "NetworkPolicyNotEnforced guarded"
cluster_signal policy CONT

# Without a policy, TLS alone.
address=$(ip_of open-worker-0-0)
check "without a policy everybody connects" "$(reachable stranger "$address" 7420)" 7420
key_of() { # JOB: its key as a file
    local secret
    secret=$(t get secrets -o name | grep "^secret/$1-key-")
    of "$secret" "{.data.key}" | base64 -d >"$dir/$1.key"
}
key_of open
key_of guarded
head -c 32 /dev/urandom >"$dir/own.key"
# says KEY CHANNEL: what the agent says to a client that has it; `said` has the complaint.
says() { echo "$order" | timeout 20 "$client" "$address" 7420 "$dir/$1.key" "$2" --until type 2>"$dir/said"; }
order='{"type":"kill","generation":1}'
before=$(of tj/open '{.status.launch.generation} {.status.restarts}')
for channel in control exec none; do
    for key in guarded own; do
        same "to the key \"$key\" on $channel" "$(says $key $channel)" ""
        check "the key \"$key\" on $channel" "$(<"$dir/said")" "the job's own key"
    done
done
same "without a key" "$( (echo "$order"; sleep 1) | timeout 10 openssl s_client -connect "$address:7420" -quiet 2>/dev/null | wc -c)" 0
# A TLS alert is record type 21.
exec {fd}<>"/dev/tcp/$address/7420"
printf 'GET / HTTP/1.1\r\n\r\n' >&"$fd"
plain=$(timeout 10 cat <&"$fd" 2>/dev/null | od -An -tu1 | tr -s ' \n' ' ')
exec {fd}>&-
[[ $plain =~ ^( 21 .*)?\ ?$ ]] || fail "without TLS it says$plain"
same "the training of open" "$(of tj/open '{.status.launch.generation} {.status.restarts}')" "$before"
order=''
check "the job's own key" "$(says open control)" '"type":"hello"'

# Launches, every other one while strangers connect, a thousand times a second.
relaunch() { # FILE: appends the seconds that it took
    local before begin
    until_step open $(($(step_of open) + 10)) # what a failure costs is forgiven
    before=$(generation_of open)
    begin=$EPOCHREALTIME
    kill_in open-worker-0-0 paceline-worker
    until_relaunched open "$before"
    echo "$(seconds "$begin")" >>"$1"
}
median() { sort -g "$1" | sed -n 3p; }
t delete tj/guarded --wait=false >/dev/null
cat >"$dir/flood.py" <<'PYTHON'
import socket, sys, time
held, count, begin = [], 0, time.monotonic()
while True:
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((sys.argv[1], 7420))
    held.append(s)
    count += 1
    if len(held) > 200:
        held.pop(0).close()
    if count % 100 == 0:
        print(count, flush=True)
    time.sleep(max(0, begin + count / 1000 - time.monotonic()))
PYTHON
flood=
trap '[ -z "$flood" ] || kill $flood 2>/dev/null; cluster_test_end' EXIT
for _ in 1 2 3 4 5; do
    relaunch "$dir/quiet"
    python3 "$dir/flood.py" "$address" >"$dir/flood" &
    flood=$!
    until_true grep -q 500 "$dir/flood"
    relaunch "$dir/flooded"
    kill $flood
    wait $flood 2>/dev/null
    flood=
done
echo "  from the loss of a rank to training, median of 5: $(median "$dir/quiet") s;" \
    "in a flood of strangers: $(median "$dir/flooded") s"
verdict
