#!/bin/bash
# The chart on a real cluster: installed, upgraded and rolled back while a job trains, whose pods are
# not restarted and whose weights are those of one machine; what stays when it is uninstalled.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
paceline_images
export HELM_CACHE_HOME=$dir/helm HELM_CONFIG_HOME=$dir/helm HELM_DATA_HOME=$dir/helm

# The same program by another name, as the next release would be.
images() { ctr -a "$cluster_dir/containerd.sock" -n k8s.io images "$@"; }
image=$(images ls -q | grep "/paceline-operator:$paceline_version$")
images tag --force "$image" "${image%:*}:next" >/dev/null || fail "the image cannot be tagged"

chart() { # COMMAND ARG...
    begin=$EPOCHREALTIME
    helm "$@" -n paceline-system >"$dir/helm.out" 2>&1 || fail "helm $*: $(cat "$dir/helm.out")"
    echo "  helm $1: $(seconds "$begin") s"
}
# What a test before us installed without the chart.
k delete -f manifests/operator.yaml -f manifests/rbac.yaml --ignore-not-found >/dev/null
chart install paceline helm/paceline --create-namespace --take-ownership --wait --timeout 120s
end() {
    local status=$?
    helm uninstall paceline -n paceline-system >/dev/null 2>&1
    (exit $status)
    cluster_test_end
}
trap end EXIT
check NOTES "$(cat "$dir/helm.out")" "kubectl get tj -w"
k wait --for=condition=Established crd/trainingjobs.paceline.dev --timeout=30s >/dev/null

pods_of() { of pods '{range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].containerID}{"\n"}{end}'; }
operator_image() {
    k -n paceline-system get pods -l app.kubernetes.io/name=paceline-operator -o 'jsonpath={.items[*].spec.containers[0].image}'
}
leads() { k -n paceline-system logs deployment/paceline-operator 2>/dev/null | grep -q leading; }
# further: the training has come further since, and a new operator writes so.
further() {
    local step
    step=$(step_of kept)
    until_step kept $((step + 300))
}

apply <<<"$(train kept 2 80)"
until_step kept 100
before=$(pods_of)
later() { # TAG COMMAND ARG...: that operator leads then, and the training gets further
    chart "${@:2}" --wait --timeout 120s
    until_same "the operator's image" "paceline-operator:$1" operator_image
    until_true leads
    further
}
later next upgrade paceline helm/paceline --set image.tag=next,logLevel=debug
later "$paceline_version" rollback paceline 1
same "pods over upgrade and rollback" "$(pods_of)" "$before"
same "the training's end was not yet" "$(of tj/kept '{.status.conditions[?(@.type=="Succeeded")].status}')" ""
patience=300 await kept Succeeded
same "its launches" "$(generation_of kept)" 1
same "its weights" "$(digest_of kept)" "$(digest_here 2 80)"

chart uninstall paceline --wait --timeout 120s
same "the job stays" "$(of tj/kept '{.metadata.name}')" kept
same "what is left" "$(k get clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,deployments \
    -A -o name | grep paceline)" ""
same "finalizers that are left" "$(of pods '{.items[*].metadata.finalizers}')" ""
verdict
