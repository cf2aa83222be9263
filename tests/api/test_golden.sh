#!/bin/bash
# The API server takes every object of tests/objects, with strict validation of fields.
# TIMEOUT: 300
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=tests/api/cluster.sh
source tests/api/cluster.sh
dir=$(mktemp -d)
trap 'status=$?; cluster_stop; rm -rf "$dir"; exit $status' EXIT
trap 'exit 130' INT TERM

cluster_tools >"$dir/tools" || {
    status=$?
    tail -n 1 "$dir/tools"
    exit $status
}
# shellcheck disable=SC2034 # cluster.sh reads both
CLUSTER_APISERVER_FLAGS=--allow-privileged=true
# shellcheck disable=SC2034
cluster_manifests=(tests/api/podgroups.yaml)
cluster_start "$dir/cluster" 1 || {
    echo "Kubernetes did not start"
    exit 1
}
k create namespace team-a >/dev/null
k create serviceaccount trainer -n team-a >/dev/null
k create priorityclass high --value=7 >/dev/null
account_made() { k get serviceaccount default -n team-a >/dev/null 2>&1; }
cluster_wait 30 account_made

failed=0 taken=0
for file in tests/objects/*.yaml; do
    "$PACELINE_BUILD/tests/operator/objects" "$file" >"$dir/objects.json" || failed=1
    python3 - "$dir/objects.json" >"$dir/list.json" <<'PYTHON'
import json, sys
items = json.load(open(sys.argv[1], encoding="utf-8"))
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)
PYTHON
    k create --dry-run=server --validate=strict -f "$dir/list.json" >"$dir/out" 2>&1 || {
        echo "$file: $(cat "$dir/out")"
        failed=1
    }
    taken=$((taken + $(grep -c 'created (server dry run)' "$dir/out")))
    # Warnings tell of fields that contradict each other.
    if grep -i warning "$dir/out"; then failed=1; fi
    wanted=$(grep -c '^  "kind":' "$dir/objects.json")
    if [ "$(grep -c 'created (server dry run)' "$dir/out")" -ne "$wanted" ]; then
        echo "$file: not all of $wanted objects were taken"
        failed=1
    fi
done
echo "$taken objects taken"
exit $failed
