#!/bin/bash
# A worker that finds no place does not hold the others. A replacement: they go on without it, and take it
# in when it has one. From the start, where the node has room for one: worker 0 gets it, and trains.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=180
cluster_test
paceline_images
paceline_install
trap 'k uncordon "$node_id" >/dev/null; cluster_test_end' EXIT

world_of() { of "tj/$1" '{.status.launch.workers}'; }
trains_on() { [ "$(world_of "$1")" = "$2" ] && wait_training "$1"; }
apply <<<"$(train waiting 2 100 "replaceTimeoutSeconds: 5")"
until_step waiting 50
zero=$(of "pod/$(worker_pod waiting 0)" '{.metadata.uid}')
k cordon "$node_id" >/dev/null
begin=$EPOCHREALTIME
t delete pod "$(worker_pod waiting 1)" --grace-period=0 --force >/dev/null 2>&1
until_true trains_on waiting 1
same "who it goes on without" "$(of tj/waiting '{.status.launch.without}')" 1
echo "  on one worker, the other Pending, after $(seconds "$begin") s"
k uncordon "$node_id" >/dev/null
until_true trains_on waiting 2
same "worker 0 stayed" "$(of "pod/$(worker_pod waiting 0)" '{.metadata.uid}')" "$zero"
await waiting Succeeded
same "its weights" "$(digest_of waiting)" "$(digest_here 2 100)"

# Each worker wants more than half of the node.
cpu=$(k get node "$node_id" -o 'jsonpath={.status.allocatable.cpu}' |
    awk '{ print int((/m$/ ? $1 : $1 * 1000) * 0.6) "m" }')
begin=$EPOCHREALTIME
apply <<<"$(train narrow 2 1000 "replaceTimeoutSeconds: 5" | sed "s/cpu: 50m/cpu: $cpu/")"
until_true trains_on narrow 1
echo "  room for one of two workers: trains after $(seconds "$begin") s"
same "who it begins without" "$(of tj/narrow '{.status.launch.without}')" 1
same "the node of worker 0" "$(of "pod/$(worker_pod narrow 0)" '{.spec.nodeName}')" "$node_id"
same "the node of worker 1" "$(of "pod/$(worker_pod narrow 1)" '{.spec.nodeName}')" ""
why() { t get tj/narrow -o wide >"$dir/why" && grep -q "worker 1 waits: Unschedulable: .*Insufficient cpu" "$dir/why"; }
until_true why || cat "$dir/why"
t delete tj/narrow --wait=false >/dev/null
verdict
