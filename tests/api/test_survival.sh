#!/bin/bash
# What happens to jobs while operators come and go and nodes fall silent; and the rights it takes.
# TIMEOUT: 300
# shellcheck disable=SC2154 # lib.sh has them
source tests/api/lib.sh
api_start
lease() { k get leases -n "$operator_namespace" -o jsonpath='{.items[0].spec.holderIdentity}'; }

# Rights: exactly what the manifests give. No Secret can be read but its own.
operator() { kubectl --kubeconfig "$dir/operator.conf" "$@"; }
k create secret generic private --from-literal=key=value >/dev/null
check "secrets" "$(operator get secret private 2>&1)" Forbidden
check "list of secrets" "$(operator get secrets -A 2>&1)" Forbidden
for verb_kind in "delete secrets" "update trainingjobs" "create clusterroles" "list nodes" \
    "create pods --subresource=exec" "delete namespaces" "impersonate users" "get leases.coordination.k8s.io"; do
    # shellcheck disable=SC2086 # words
    same "may it $verb_kind" "$(operator auth can-i $verb_kind -n default 2>/dev/null)" no
done

# The admission policy: with these rights, its account touches nothing but what jobs have.
denied() {
    local what=$1 part=$2
    shift 2
    check "$what" "$("$@" 2>&1)" "denied request: $part"
}
# object KIND NAME OWNER FIELDS: OWNER is the kind of a made-up owner.
object() {
    cat <<OBJECT
{"apiVersion": "v1", "kind": "$1", "metadata": {"name": "$2", "finalizers": ["example.test/other"],
 "ownerReferences": [{"apiVersion": "paceline.dev/v1", "kind": "$3", "name": "steady", "uid": "1", "controller": true}]}, $4}
OBJECT
}
may_create() { operator create --dry-run=server --validate=false -n "${1:-default}" -f -; }
container='"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
 "containers": [{"name": "a", "image": "a",
  "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]'
policy_works() { [[ $(object Pod a Job "\"spec\": {$container}" | may_create 2>&1) == *"denied request"* ]]; }
until_true policy_works # the API server has read it
tries() { object "$@" | may_create "${in:-default}"; }
alone="no TrainingJob controls this object"
denied "a pod of a Job" "$alone" tries Pod a Job "\"spec\": {$container}"
denied "a Secret of a Job" "$alone" tries Secret a Job '"type": "paceline.dev/job-key"'
denied "the key elsewhere" "$alone" tries Secret paceline-operator-key Job '"type": "Opaque"'
check "a pod of a TrainingJob" "$(tries Pod a TrainingJob "\"spec\": {$container}" 2>&1)" created
in=kube-system denied "a pod in kube-system" "paceline-operator may touch nothing in the namespaces of Kubernetes" \
    tries Pod a TrainingJob "\"spec\": {$container}"
in=$operator_namespace denied "a pod with its own account" "a pod of a TrainingJob may not run as paceline-operator" \
    tries Pod a TrainingJob "\"spec\": {\"serviceAccountName\": \"paceline-operator\", $container}"
denied "a token" "paceline-operator may make Secrets of the type paceline.dev/job-key only" \
    tries Secret a TrainingJob '"type": "Opaque"'
denied "an open Service" "paceline-operator may make headless Services only" \
    tries Service a TrainingJob '"spec": {"ports": [{"port": 80}]}'
denied "a Service that takes an address" "paceline-operator may make headless Services only" \
    tries Service a TrainingJob '"spec": {"clusterIP": "None", "externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]}'
k create configmap private >/dev/null
denied "another's ConfigMap" "$alone" operator delete configmap private

operator_start one
apply <<JOBS
$(job steady)
    worker: {replicas: 2, template: $(pod)}
$(job outage 'cleanPodPolicy: None')
    worker: {replicas: 2, template: $(pod)}
JOBS
await steady Running
await outage Running
until_same "the leader" one lease
denied "a job that runs" "paceline-operator may delete TrainingJobs that have ended" operator delete tj steady
finalizers=paceline.dev/tracking
change() { operator patch pod steady-worker-0-0 --type="${2:-merge}" --dry-run=server -p "$1"; }
only="paceline-operator may change nothing but pods, and there only take its own finalizer off"
denied "the image of a pod" "$only" change '{"spec":{"containers":[{"name":"trainer","image":"other"}]}}' strategic
denied "the labels of a pod" "$only" change '{"metadata":{"labels":{"a":"b"}}}'
denied "one more finalizer" "$only" change '{"metadata":{"finalizers":["a.test/b","'$finalizers'"]}}'
check "its own finalizer" "$(change '{"metadata":{"finalizers":null}}' 2>&1)" patched

# A second one waits, and takes over when the first dies without a word.
operator_start two
same "still the leader" "$(lease)" one
uids=$(of pods '{.items[*].metadata.uid}')
begin=${EPOCHREALTIME%.*}
operator_kill one
until_same "the next leader" two lease
# 4 + 0.5 s where nothing else runs; far from the 15 s of a lease that was not asked for, on a busy machine, too.
at_most "seconds of failover (lease 4 s)" $((${EPOCHREALTIME%.*} - begin)) 13
finish steady-worker-0-0 0
await steady Succeeded
same "pods of outage" "$(pods_of outage)" "outage-worker-0-0
outage-worker-1-0"
# Asked to stop, it gives the lease back: nobody waits for it to run out.
operator_start three --lease-duration 10m --renew-deadline 9m
operator_stop two
until_same "the lease was given back" three lease
operator_start patient --lease-duration 10m --renew-deadline 9m
operator_stop three
until_same "that of ten minutes, too" patient lease
operator_stop patient

# Also in the middle of a plan: what was not sent yet is left to the next one, which does not wait for it.
operator_start slow --lease-duration 10m --renew-deadline 9m --qps 1 --burst 10
apply <<JOBS
$(job interrupted)
    worker: {replicas: 60, template: $(pod)}
JOBS
has_begun() { [ "$(count_pods interrupted)" -gt 0 ]; }
until_true has_begun
operator_start heir --lease-duration 10m --renew-deadline 9m
same "still the leader" "$(lease)" slow
operator_stop slow
until_same "the lease was given back in the middle" heir lease
await interrupted Running
same "pods of interrupted" "$(count_pods interrupted)" 60
same "first incarnations of interrupted" "$(pods_of interrupted | grep -vc -- '-0$')" 0
k delete tj/interrupted --wait=false >/dev/null
operator_stop heir

# With no operator at all a pod finishes and is deleted; its index does not run again.
check "pods are still there" "$uids" "$(of pod/outage-worker-1-0 '{.metadata.uid}')"
finish outage-worker-1-0 0
k wait pod/outage-worker-1-0 --for=jsonpath='{.status.phase}'=Succeeded --timeout=60s >/dev/null
sleep 3.1 # within 2 s, as both times are written, nobody can tell whether it was told to
k delete pod outage-worker-1-0 --wait=false >/dev/null
k get pod outage-worker-1-0 >/dev/null || fail "our finalizer did not hold the finished pod"
operator_start four
until_true gone pod outage-worker-1-0
until_same "its outcome" 1 of tj/outage '{.status.replicaStatuses.worker.succeeded}'
finish outage-worker-0-0 0
await outage Succeeded
same "worker 1 ran once" "$(pods_of outage)" "outage-worker-0-0"

# kill -9 in the middle of a bigger job, again and again: it ends up complete, nothing twice.
apply <<JOBS
$(job bigger)
    worker: {replicas: 60, template: $(pod)}
JOBS
for next in five six seven; do
    sleep 0.3
    operator_kill four
    operator_kill "${previous:-none}"
    operator_start $next
    previous=$next
done
await bigger Running
same "pods of bigger" "$(count_pods bigger)" 60
same "first incarnations" "$(pods_of bigger | grep -vc -- '-0$')" 0

# One user's odd objects do not blind it for all, and a job deleted without its pods leaves pods that
# can be deleted.
apply <<JOBS
$(job odd)
    worker: {replicas: 1, template: $(pod)}
JOBS
await odd Running
deep=$(printf '{"x":%.0s' {1..80})1$(printf '}%.0s' {1..80})
k patch pod odd-worker-0-0 -p '{"metadata":{"annotations":{"odd":"a\u0000b"}}}' >/dev/null
operator_kill seven
k create -f - >/dev/null <<<"{\"apiVersion\":\"paceline.dev/v1\",\"kind\":\"TrainingJob\",\"metadata\":{
    \"name\":\"deep\"},\"spec\":{\"replicas\":{\"worker\":{\"template\":{\"deep\":$deep,\"spec\":{
    \"containers\":[{\"name\":\"trainer\",\"image\":\"train:1\"}]}}}}}}" || fail "deep was refused"
operator_start eight
apply <<JOBS
$(job plain)
    worker: {replicas: 1, template: $(pod)}
JOBS
await plain Running
k delete tj/odd --cascade=orphan >/dev/null
k delete pod odd-worker-0-0 --wait=false >/dev/null
until_true gone pod odd-worker-0-0

# A node falls silent: its kubelet answers nothing, so the pod never ends by itself.
apply <<JOBS
$(job lost 'nodeLossSeconds: 1, fenceSeconds: 1')
    worker:
      replicas: 1
      template:
        metadata: {annotations: {paceline.test/term-after: 1h}}
        spec: {terminationGracePeriodSeconds: 1, containers: [{name: trainer, image: train:1}]}
JOBS
await lost Running
node=$(of pod/lost-worker-0-0 '{.spec.nodeName}')
k annotate node "$node" kwok.x-k8s.io/node- >/dev/null
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
silence() {
    k patch node "$node" --subresource=status --type=strategic -p "{\"status\":{\"conditions\":[{
        \"type\":\"Ready\",\"status\":\"Unknown\",\"reason\":\"NodeStatusUnknown\",
        \"lastHeartbeatTime\":\"$now\",\"lastTransitionTime\":\"$now\"}]}}" >/dev/null
}
# More than once: a heartbeat of kwok's that was under way may come after the first.
replaced() { silence && [ "$(pods_of lost)" = lost-worker-0-1 ]; }
until_true replaced
await lost Running
same "counted" "$(of tj/lost '{.status.disruptions}')" 1
lacks "another node" "$(of pod/lost-worker-0-1 '{.spec.nodeName}')" "$node"

verdict
