#!/bin/bash
# For run.py: a Kubernetes with an audit log in the folder $1 and $2 fake nodes, until standard input
# ends. Prints the server's URL, the operator's namespace, a token of its ServiceAccount and the
# programs' folder, one a line.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=tests/api/cluster.sh
source tests/api/cluster.sh
dir=$1
trap cluster_stop EXIT
trap 'exit 130' INT TERM
cluster_tools >"$dir/tools" || {
    tail -n 1 "$dir/tools" >&2
    exit 1
}
cat >"$dir/audit-policy" <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: Metadata}
POLICY
CLUSTER_APISERVER_FLAGS="--audit-policy-file=$dir/audit-policy --audit-log-path=$dir/audit --audit-log-maxsize=100000"
for file in manifests/*.yaml tests/api/podgroups.yaml; do
    if ! grep -q '^kind: Deployment' "$file"; then cluster_manifests+=("$file"); fi
done
cluster_start "$dir/cluster" "$2" || exit
namespace=$(k get serviceaccounts -A \
    -o jsonpath='{.items[?(@.metadata.name=="paceline-operator")].metadata.namespace}')
token=$(k create token paceline-operator -n "$namespace" --duration=8h)
cluster_kubeconfig "$dir/operator.conf" "token: $token"
printf '%s\n' "$cluster_url" "$namespace" "$token" "$cluster_bin"
cat >/dev/null
