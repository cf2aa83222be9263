#!/bin/bash
# A tour of the operator on this machine: a real kube-apiserver and etcd, fake nodes (kwok), one job.
#   scripts/operator-demo.sh    everything is gone at the end
#   KEEP=1 ...                  stays until Ctrl-C and says how to use it
# PACELINE_OPERATOR is the program; `make operator-demo` sets it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=tests/api/cluster.sh
source tests/api/cluster.sh
operator=${PACELINE_OPERATOR:?}
dir=$(mktemp -d)
end() {
    local status=$?
    trap - EXIT INT TERM
    cluster_stop
    rm -rf "$dir"
    exit $status
}
trap end EXIT
trap 'echo; exit 130' INT TERM

bold='' dim='' plain=''
if [ -t 1 ]; then bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m'); fi
chapter() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
# show COMMAND...: as it would be typed, and what it says.
show() {
    printf '%s$ %s%s\n' "$dim" "$*" "$plain"
    "$@" 2>&1 | sed 's/^/  /'
}
# await NAME COMMAND...: silently, or the tour ends.
await() {
    local what=$1
    shift
    cluster_wait 60 "$@" && return
    echo "no sign of: $what; the operator said:"
    tail -n 20 "$dir/cluster/log/operator"
    exit 1
}
lines() { [ "$(kubectl get pods --no-headers 2>/dev/null | grep -c "$1")" -eq "$2" ]; }

chapter "Kubernetes starts on this machine"
if ! cluster_tools >"$dir/tools"; then
    tail -n 1 "$dir/tools"
    exit 1
fi
begin=$EPOCHREALTIME
cluster_manifests=()
for file in manifests/*.yaml; do
    if ! grep -q '^kind: Deployment' "$file"; then cluster_manifests+=("$file"); fi
done
cluster_start "$dir/cluster" 4 || exit 1
printf 'kube-apiserver, etcd, controller-manager, scheduler and four fake nodes: %.1f s\n' \
    "$(awk "BEGIN { print $EPOCHREALTIME - $begin }")"
show kubectl get nodes

chapter "The operator, with the rights of manifests/ and no more"
namespace=$(kubectl get serviceaccounts -A \
    -o jsonpath='{.items[?(@.metadata.name=="paceline-operator")].metadata.namespace}')
cluster_kubeconfig "$dir/operator.conf" \
    "token: $(kubectl create token paceline-operator -n "$namespace" --duration=8h)"
port=$(cluster_ports 1)
cluster_run operator "$operator" --kubeconfig "$dir/operator.conf" --all-namespaces \
    --operator-namespace "$namespace" --web-address "127.0.0.1:$port"
leads() { [ -n "$(kubectl get leases -n "$namespace" -o name)" ]; }
await "its lease" leads
echo "paceline-operator runs as process ${cluster_pids[operator]}; metrics: http://127.0.0.1:$port/metrics"

chapter "A job"
show kubectl apply -f examples/operator-demo.yaml
await "running pods" lines Running 6
kubectl wait tj/demo --for=condition=Running --timeout=60s >/dev/null
show kubectl get tj
show kubectl get pods -o wide
echo "${dim}What a worker is told:$plain"
kubectl get pod demo-worker-1-0 \
    -o jsonpath='{range .spec.containers[0].env[*]}  {.name}={.value}{"\n"}{end}' |
    grep -E '^  (TF_CONFIG|MASTER_ADDR|RANK|WORLD_SIZE)='

chapter "It grows"
show kubectl scale tj/demo --replicas=6
await "two more pods" lines Running 8
show kubectl get tj

chapter "A worker is killed (exit code 137): it comes back, and that is counted"
show kubectl annotate pod demo-worker-2-0 paceline.test/exit=137
await "its replacement" kubectl wait pod/demo-worker-2-1 --for=condition=Ready --timeout=60s
show kubectl get pods

chapter "The chief finishes"
show kubectl annotate pod demo-chief-0-0 paceline.test/exit=0
kubectl wait tj/demo --for=condition=Succeeded --timeout=60s >/dev/null
await "the clean-up" lines Running 0
show kubectl get tj
show kubectl get pods
show kubectl describe tj demo

if [ -n "${KEEP:-}" ]; then
    chapter "Yours until Ctrl-C"
    echo "export KUBECONFIG=$KUBECONFIG PATH=$cluster_bin:\$PATH"
    echo "logs: $dir/cluster/log"
    while cluster_running operator && cluster_running kube-apiserver; do sleep 1; done
    echo "the operator or the API server has ended"
else
    chapter "The end"
    echo "Everything has been removed. make operator-demo KEEP=1 leaves it running for you."
fi
