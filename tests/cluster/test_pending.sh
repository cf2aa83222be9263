#!/bin/bash
# A replacement that finds no place does not hold the others: they go on without it, and take it in when
# it has one.
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
verdict
