#!/bin/bash
# The chart against a real API server: what it renders is accepted and is what manifests/ say; install,
# upgrade and uninstall leave jobs alone; wrong values are refused.
# TIMEOUT: 300
source tests/api/lib.sh

# helm is the one in PATH, or one that scripts/kube-tools.sh --node has built.
helm=$(command -v helm) || for helm in "${XDG_CACHE_HOME:-$HOME/.cache}"/paceline/kube-tools/*/helm; do :; done
[ -x "$helm" ] || {
    echo "helm is not installed; scripts/kube-tools.sh --node builds it"
    exit 77
}
chart=helm/paceline
# What helm says of the chart's links into manifests/ is left out.
helm() { "$helm" "$@" 2> >(grep -v '^walk.go' >&2); }
# shellcheck disable=SC2154 # lib.sh has made the folder
export HELM_CACHE_HOME=$dir/helm HELM_CONFIG_HOME=$dir/helm HELM_DATA_HOME=$dir/helm

cluster_tools >"$dir/tools" || {
    status=$?
    tail -n 1 "$dir/tools"
    exit $status
}
helm lint --strict $chart >"$dir/lint" 2>&1 || fail "helm lint: $(cat "$dir/lint")"

# refused VALUE SENTENCE
refused() {
    local said
    if said=$(helm template x $chart --kube-version 1.34.0 --set "$1" 2>&1); then
        fail "$1 was taken"
    fi
    check "--set $1" "$said" "$2"
}
refused replicas=0 "at '/replicas': minimum: got 0, want 1"
refused replicas=two "at '/replicas': got string, want integer"
refused scope=world "at '/scope': value must be one of 'cluster', 'namespace'"
refused watchNamespace=team "at '/watchNamespace': value must be ''"
refused image.tga=1 "at '/image': additional properties 'tga' not allowed"
refused image.digest=sha256:12 "at '/image/digest'"
refused crd.install=false "additional properties 'crd' not allowed"
refused extraArgs[0]=word "at '/extraArgs/0'"
refused networkPolicy.apiServerPorts[0]=0 "at '/networkPolicy/apiServerPorts/0': minimum: got 0, want 1"

version=$(sed -n 's/^#define PACELINE_VERSION "\(.*\)"/\1/p' include/paceline/version.h)
same "the chart's version" "$(sed -n 's/^version: //p' $chart/Chart.yaml)" "$version"
same "the chart's appVersion" "$(sed -n 's/^appVersion: //p' $chart/Chart.yaml)" "$version"

cluster_start "$dir/cluster" 4 || {
    echo "Kubernetes did not start"
    exit 1
}
# Kinds of Prometheus's operator, with any fields.
for kind in ServiceMonitor PrometheusRule; do
    plural=$(tr '[:upper:]' '[:lower:]' <<<"${kind}s")
    cat <<CRD
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $plural.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: $kind, plural: $plural}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
CRD
done | k apply -f - >/dev/null
cluster_wait 30 k wait --for=condition=Established crd --all --timeout=5s
for namespace in paceline-system team other; do k create namespace $namespace >/dev/null; done
k label namespace paceline-system pod-security.kubernetes.io/enforce=restricted >/dev/null

render() { helm template paceline $chart -n paceline-system --kube-version 1.34.0 "$@"; }
json() { k create --dry-run=client --validate=false -o json -f "$1" | python3 -c '
import json, sys
text, objects, decoder = sys.stdin.read(), [], json.JSONDecoder()
while text.strip():
    one, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    objects += one["items"] if one["kind"] == "List" else [one]
json.dump(objects, sys.stdout)'; }

# The default is what manifests/ say, but for labels, the namespace and what only the chart can know.
render --no-hooks >"$dir/default.yaml" || fail "the default does not render"
for file in crd rbac admission operator; do
    echo ---
    cat manifests/$file.yaml
done >"$dir/manifests.yaml"
json "$dir/default.yaml" >"$dir/default.json"
json "$dir/manifests.yaml" >"$dir/manifests.json"
python3 - "$dir/default.json" "$dir/manifests.json" <<'PYTHON' || fail "the chart and manifests/ differ"
import json, sys
def objects(path):
    return {(o["kind"], o["metadata"]["name"]): o for o in json.load(open(path))}
chart, manifests = map(objects, sys.argv[1:])
def plain(o):
    o["metadata"].pop("labels", None)
    o["metadata"].get("annotations", {}).pop("helm.sh/resource-policy", None)
    if not o["metadata"].get("annotations"):
        o["metadata"].pop("annotations", None)
    if o["kind"] == "NetworkPolicy":
        o["spec"].pop("podSelector")
    if o["kind"] == "Deployment":
        o["spec"].pop("selector")
        o["spec"]["template"]["metadata"].pop("labels")
        (container,) = o["spec"]["template"]["spec"]["containers"]
        container.pop("image")
        container["args"] = container["args"][:1]
    return o
same = chart.keys() == manifests.keys()
if not same:
    print("only in one:", chart.keys() ^ manifests.keys())
labels = [{k: v for k, v in o[key]["metadata"]["labels"].items() if k.startswith("rbac.")}
          for o in (chart, manifests) for key in (("ClusterRole", "paceline-view"), ("ClusterRole", "paceline-edit"))]
if labels[:2] != labels[2:]:
    same = print("aggregation:", labels)
for key in chart.keys() & manifests.keys():
    a, b = plain(chart[key]), plain(manifests[key])
    if a != b:
        same = print(key, json.dumps(a)[:2000], "is not", json.dumps(b)[:2000], sep="\n")
sys.exit(not same)
PYTHON

# accepted NAME OPTION...: the API server takes all of it.
accepted() {
    local what=$1
    shift
    if ! render "$@" | k apply --dry-run=server -f - >"$dir/apply" 2>&1; then
        fail "$what: $(cat "$dir/apply")"
    fi
    lacks "$what" "$(cat "$dir/apply")" "would violate PodSecurity"
}
accepted "the default"
accepted "everything" --set replicas=2,serviceMonitor.enabled=true \
    --set prometheusRule.enabled=true,prometheusRule.labels.team=a,imagePullSecrets[0].name=key \
    --set nodeSelector.disk=ssd,tolerations[0].operator=Exists,priorityClassName=system-cluster-critical \
    --set podLabels.a=b,podAnnotations.c=d,extraArgs[0]=--qps=50,serviceAccount.annotations.e=f \
    --set networkPolicy.from[0].namespaceSelector.matchLabels.team=monitoring \
    --set networkPolicy.restrictEgress=true,networkPolicy.apiServerPorts[0]=443
accepted "one namespace" --set scope=namespace,watchNamespace=team,crds.install=false,aggregatedRoles=false
# The policy bounds the account that the chart makes, wherever that is.
policy=$(helm template x $chart -n elsewhere --kube-version 1.34.0 --set serviceAccount.name=other -s templates/admission.yaml)
check "the policy's account" "$policy" "request.userInfo.username == 'system:serviceaccount:elsewhere:other'"
check "the policy's namespace" "$policy" "request.namespace == 'elsewhere'"
check "the policy's own pods" "$policy" "object.spec.serviceAccountName != 'other'"
lacks "the policy" "$policy" paceline-system
digest=sha256:$(printf 'a%.0s' {1..64})
check "an image by digest" "$(render --set image.repository=r.test:5000/x/op,image.digest="$digest")" \
    "image: \"r.test:5000/x/op@$digest\""
check "the worker's image" "$(render --set workerImage.repository=r.test/w,workerImage.tag=v7)" \
    '"r.test/w:v7"'

# Installed, it runs (on fake nodes), and its ServiceAccount suffices for the real operator.
install() { helm "$@" -n paceline-system --wait --timeout 60s >"$dir/helm.out" 2>&1 ||
    fail "helm $*: $(cat "$dir/helm.out")"; }
install install paceline $chart --set replicas=2
check NOTES "$(cat "$dir/helm.out")" "kubectl get tj -w"
cluster_wait 30 k wait --for=condition=Established crd/trainingjobs.paceline.dev --timeout=5s
same "running operators" \
    "$(k get deployment paceline-operator -n paceline-system -o jsonpath='{.status.readyReplicas}')" 2
same "its budget" \
    "$(k get pdb paceline-operator -n paceline-system -o jsonpath='{.spec.maxUnavailable}')" 1
# The pod of the uninstall, which fake nodes do not run: what it would do is done here, as its account.
uninstall() {
    (
        hook=app.kubernetes.io/name=paceline-release
        runs() { k get pods -n paceline-system -l $hook -o 'jsonpath={.items[*].status.phase}' | grep -q Running; }
        cluster_wait 60 runs
        cluster_kubeconfig "$dir/release.conf" \
            "token: $(k create token paceline-release -n paceline-system)"
        read -ra args < <(k get pods -n paceline-system -l $hook -o 'jsonpath={.items[0].spec.containers[0].args}' | tr -d '[]"' | tr , ' ')
        "$PACELINE_OPERATOR" --kubeconfig "$dir/release.conf" "${args[@]}" >"$dir/released" 2>&1
        k annotate pods -n paceline-system -l $hook paceline.test/exit=$? >/dev/null
    ) &
    install uninstall paceline
    wait $!
}
finalizers() { k get pods -l paceline.dev/job-name=kept -o 'jsonpath={.items[*].metadata.finalizers}'; }
operator_kubeconfig "$dir/operator.conf"
operator_start one
apply <<JOB
$(job kept)
    worker: {replicas: 2, template: $(pod)}
JOB
await kept Running
pods() { k get pods -l paceline.dev/job-name=kept -o jsonpath='{.items[*].metadata.uid}'; }
before=$(pods)
check "the job has two pods" "$before" " "
check "its pods are held" "$(finalizers)" paceline.dev/tracking

install upgrade paceline $chart --set replicas=1,logLevel=debug
check "an upgrade changes the operator" \
    "$(k get deployment paceline-operator -n paceline-system -o jsonpath='{.spec.template.spec.containers[0].args}')" debug
same "no budget for one" "$(k get pdb -n paceline-system -o name)" ""
same "pods over an upgrade" "$(pods)" "$before"
install rollback paceline 1
same "the budget is back" "$(k get pdb -n paceline-system -o name)" \
    poddisruptionbudget.policy/paceline-operator

operator_stop one
uninstall
same "finalizers after the end" "$(finalizers)" ""
check "what was released" "$(cat "$dir/released")" "released pods=2 namespace=*"
same "pods after the end" "$(pods)" "$before"
same "the job after the end" "$(k get tj kept -o jsonpath='{.metadata.name}')" kept
left() {
    k get clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,deployments,jobs,networkpolicies \
        -A -o name | grep paceline
    k get validatingadmissionpolicies,validatingadmissionpolicybindings -o name | grep paceline
}
same "what is left" "$(left)" ""
install install paceline $chart
same "the job over a new installation" "$(pods)" "$before"
# Where the pod of the uninstall cannot run, it fails, and leaves nothing that has rights.
if helm uninstall paceline -n paceline-system --wait --timeout 5s >"$dir/helm.out" 2>&1; then
    fail "an uninstall whose pod never ran: $(cat "$dir/helm.out")"
fi
same "what a failed uninstall leaves" "$(left)" ""

# One namespace: rights there and in the release's own, nowhere else.
install install paceline $chart --set scope=namespace,watchNamespace=team,crds.install=false
may() { k auth can-i "$1" "$2" -n "$3" --as=system:serviceaccount:paceline-system:paceline-operator; }
for row in "create pods team yes" "create pods other no" "create pods paceline-system no" \
    "delete trainingjobs team yes" "list trainingjobs other no" "create leases paceline-system yes" \
    "create leases team no" "get secret/paceline-operator-key paceline-system yes" \
    "get secret/paceline-operator-key team no" "get nodes team no"; do
    read -r verb what namespace want <<<"$row"
    same "may it $verb $what in $namespace" "$(may "$verb" "$what" "$namespace" 2>/dev/null)" "$want"
done
uninstall
check "what is released in one namespace" "$(cat "$dir/released")" "released pods=0 namespace=team"

verdict
