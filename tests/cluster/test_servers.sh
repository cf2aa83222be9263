#!/bin/bash
# Parameter servers in pods of their own. A server's pod and its process are lost, servers come and go:
# the weights are those of one machine, and no worker's pod notices.
# TIMEOUT: 1200
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
paceline_images
paceline_install
k label namespace "$name" pod-security.kubernetes.io/enforce=restricted --overwrite >/dev/null

# with_server MODE <JOB: the job with one parameter server.
with_server() {
    sed "s|^  replicas:|  strategy: {type: ParameterServer, mode: $1}\n&\n    ps: {replicas: 1, template: {spec: {containers: [{resources: {requests: {cpu: 50m, memory: 64Mi}}}]}}}|"
}
server_pod() {
    t get pods -l "paceline.dev/job-name=$1,paceline.dev/role=ps,paceline.dev/index=$2" \
        --sort-by=.metadata.creationTimestamp -o name | tail -n 1 | sed 's|^pod/||'
}
servers_run() { [ "$(of "tj/$1" '{.status.replicaStatuses.ps.active}')" = "$2" ]; }
# workers_of JOB: their pods, and how often the kubelet has restarted them.
workers_of() {
    t get pods -l "paceline.dev/job-name=$1,paceline.dev/role=worker" -o \
        jsonpath='{range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount}{"\n"}{end}' | sort
}

# Two at once, to the end. One of them tells what its server has done.
train short 2 3 | with_server sync >"$dir/short.yaml"
apply <<<"$(cat "$dir/short.yaml")
$(keep_seconds=600 train async 2 3 | with_server async)"
until_true servers_run short 1
await short Succeeded
await async Succeeded
same "weights of short" "$(digest_of short)" "$(digest_of_run <"$dir/short.yaml")"
check "the story" "$(t describe tj/short)" "trains on 2 workers"
check "the log" "$(t logs "$(worker_pod async 0)")" "training mlp on 2 workers and 1 server from step 0"
check "every gradient was applied" "$(t logs "$(worker_pod async 0)")" "done: 384 gradients pushed, 384 applied"
t delete tj/short tj/async >/dev/null

# A strategy that changes, in place and by a launch of its own: status and events tell of it, and with one
# worker the weights are those of one strategy.
with_switch() {
    with_server async | sed "s|type: ParameterServer, mode: async|type: StrategySwitch, switch: {when: epoch, epoch: 1, how: $1}|"
}
apply <<<"$(train place 1 3 | with_switch inPlace)
$(train again 1 3 | with_switch relaunch)"
want=$(digest_here 1 3)
for job in place again; do
    await "$job" Succeeded
    same "the strategy of $job" "$(of "tj/$job" '{.status.strategy.phase} {.status.strategy.epoch} {.status.strategy.step} {.status.strategy.reason}')" "ParameterServer 1 128 epoch"
    echo "  $job: the hand-over took $(of "tj/$job" '{.status.strategy.seconds}') s"
    check "the story of $job" "$(t describe "tj/$job")" "to ParameterServer after epoch 1, step 128 (epoch)"
    same "weights of $job" "$(digest_of "$job")" "$want"
done
check "launched again" "$(t describe tj/again)" "generation 2 trains on 1 worker from step 128"
check "for what" "$(t get events --field-selector involvedObject.name=again,reason=Relaunched)" "to change its strategy"
same "failures of again" "$(of tj/again '{.status.restarts} {.status.launch.failures}')" "0 0"
t delete tj/place tj/again >/dev/null

# A server's pod, a server's process; then another server comes, and one goes.
apply <<<"$(train lossy 2 30 | with_server sync)"
until_step lossy 50
before_losses=$(workers_of lossy)
first=$(server_pod lossy 0)
lost() { # NAME COMMAND...: a later generation trains, in the same workers' pods
    local before begin=$EPOCHREALTIME
    before=$(generation_of lossy)
    "${@:2}"
    until_relaunched lossy "$before" || show lossy
    echo "  $1: training again after $(seconds "$begin") s"
    same "the workers' pods after: $1" "$(workers_of lossy)" "$before_losses"
    sleep 2 # for a checkpoint or two
}
scale_servers() { t patch tj/lossy --type merge -p "{\"spec\":{\"replicas\":{\"ps\":{\"replicas\":$1}}}}" >/dev/null; }
delete_pod() { t delete pod "$1" --grace-period=0 --force >/dev/null 2>&1; }
lost "a server's pod" delete_pod "$first"
[ "$(server_pod lossy 0)" != "$first" ] || fail "the server's pod is the one that was deleted"
second=$(of "pod/$(server_pod lossy 0)" '{.metadata.uid}')
lost "a server's process" kill_in "$(server_pod lossy 0)" paceline-worker
lost "another server" scale_servers 2
same "the first server stayed" "$(of "pod/$(server_pod lossy 0)" '{.metadata.uid} {.status.containerStatuses[0].restartCount}')" "$second 0"
lost "one server less" scale_servers 1
check "the events" "$(t get events --field-selector involvedObject.name=lossy,reason=ServerLost)" "ps 0 was deleted while it ran"
patience=600 await lossy Succeeded
same "weights of lossy" "$(digest_of lossy)" "$(digest_here 1 30)"
verdict
