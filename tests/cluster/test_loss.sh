#!/bin/bash
# More losses than test_train has: the operator goes at the same moment; a pod falls silent, all its
# traffic lost and nothing killed. The weights are those of one machine.
# TIMEOUT: 900
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
paceline_images
paceline_install

apply <<<"$(train lossy 2 150)"
until_step lossy 100
# lost NAME COMMAND...: a later generation trains.
lost() {
    local before begin=$EPOCHREALTIME
    before=$(generation_of lossy)
    "${@:2}"
    until_relaunched lossy "$before" || show lossy
    echo "  lost: $1; training again after $(seconds "$begin") s"
    sleep 2 # for a checkpoint or two
}
delete_pod() { t delete pod "$(worker_pod lossy "$1")" --grace-period=0 --force >/dev/null 2>&1; }
# Killed, so that it does not give its Lease back: the next one waits until that has run out.
operator_pod() { k -n paceline-system get pods -l app.kubernetes.io/name=paceline-operator --field-selector status.phase=Running -o name | head -n 1; }
operator_too() {
    "$@"
    name=paceline-system kill_in "$(operator_pod | sed 's|pod/||')" paceline-operator
}
silence() {
    pod_network "$1" nft -f - <<'NFT' || fail "the pod's network cannot be cut"
table inet silence {
    chain in { type filter hook input priority 0; policy drop; }
    chain out { type filter hook output priority 0; policy drop; }
}
NFT
}
lost "a pod's network" silence "$(worker_pod lossy 1)"
lost "a worker's pod, and the operator" operator_too delete_pod 1
lost "the chief's pod, and the operator" operator_too delete_pod 0
lost "a rank, and the operator" operator_too kill_in "$(worker_pod lossy 1)" paceline-worker

patience=300 await lossy Succeeded
same "weights of lossy" "$(digest_of lossy)" "$(digest_here 1 150)"
verdict
