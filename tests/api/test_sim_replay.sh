#!/bin/bash
# The simulation's API server is no invention: the same requests to it and to a real one, the same
# answers.
# TIMEOUT: 120
# shellcheck disable=SC2034,SC2154 # variables of tests/api/cluster.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
source tests/api/cluster.sh
dir=$(mktemp -d)
trap 'cluster_stop; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

cluster_tools >"$dir/tools" || {
    status=$?
    tail -n 1 "$dir/tools"
    exit $status
}
cluster_manifests=(manifests/crd.yaml)
CLUSTER_APISERVER_FLAGS=--disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds
cluster_start "$dir/cluster" 1 || {
    echo "Kubernetes did not start"
    exit 1
}
# Its controllers would take part.
for program in kwok kube-scheduler kube-controller-manager; do cluster_kill "$program"; done

python3 tests/api/sim_replay.py "$cluster_url" admin "$cluster_dir/pki/ca.crt" \
    "${PACELINE_BUILD:?}/tests/sim/replay"
