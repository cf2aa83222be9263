#!/bin/bash
# A tenant with every right in its own namespace, who may only look into another one, cannot touch the jobs there:
# not by objects that carry the UID of somebody's job and its labels, and not by the garbage collector deleting these.
# TIMEOUT: 300
# shellcheck disable=SC2154 # lib.sh has them
source tests/api/lib.sh
api_start
for ns in team-a team-b team-c; do k create namespace $ns >/dev/null; done
k config set-context test --namespace=team-a >/dev/null # where `k` looks from here on
for ns in team-a team-b team-c; do until_true k get serviceaccount default -n $ns; done
k create role everything -n team-b --verb='*' --resource='*.*' >/dev/null
k create rolebinding everything -n team-b --role=everything --user=mallory >/dev/null
k create rolebinding look -n team-a --clusterrole=view --user=mallory >/dev/null
mallory() { k --as=mallory "$@"; }

# copy KIND NAME NAMESPACE [CHANGES]: what somebody gets who saves an object as YAML, changes the namespace and creates
# it there; CHANGES are statements of Python about `o` and its metadata `m`.
copy() {
    k get "$1" "$2" -o json | python3 -c '
import json, sys
o = json.load(sys.stdin)
m = o["metadata"]
m["namespace"] = sys.argv[1]
for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
    m.pop(field, None)
o.pop("status", None)
if o["kind"] == "Pod":
    del o["spec"]["nodeName"]
if o["kind"] == "Service":
    for field in ("clusterIP", "clusterIPs"):
        o["spec"][field] = "None" if field == "clusterIP" else ["None"]
exec(sys.argv[2])
json.dump(o, sys.stdout)' "$3" "${4:-}"
}
# plant ARGUMENTS OF copy: by the tenant.
plant() { copy "$@" | mallory create -f - >"$dir/plant" 2>&1 || fail "mallory cannot plant $*: $(cat "$dir/plant")"; }
done_with() { echo "m.setdefault('annotations', {})['paceline.test/exit'] = '$1'"; }
conflicts() { http "${operator_ports[one]}" /metrics | awk '/^paceline_api_requests_total.*code="409"/ { n += $2 } END { print n + 0 }'; }
finalizers() { k get pods -l paceline.dev/job-name=victim -o jsonpath='{range .items[*]}{.metadata.finalizers}{"\n"}{end}' | sort -u; }
succeeded() { of tj/victim '{.status.replicaStatuses.worker.succeeded}'; }
planted() { k get pods -n team-b -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}' | sort -u; }

operator_start one
apply <<JOBS
$(job victim 'scalePolicy: Dynamic, successPolicy: AllWorkers')
    worker: {replicas: 2, template: $(pod)}
$(job bystander)
    worker: {replicas: 1, template: $(pod)}
JOBS
await victim Running
await bystander Running
uid=$(of tj/victim '{.metadata.uid}')

# What it may: look, and no more.
check "it may look" "$(mallory get tj victim -o name 2>&1)" victim
for verb_kind in "delete pods" "update trainingjobs" "patch trainingjobs/status" "create pods" "create trainingjobs" \
    "delete networkpolicies" "update pods/status" "get secrets"; do
    # shellcheck disable=SC2086 # words
    same "may it $verb_kind" "$(mallory auth can-i $verb_kind 2>/dev/null)" no
done
same "all in its own" "$(mallory auth can-i update pods/status -n team-b 2>/dev/null)" yes

# Copies of all that the job has, which say that they belong to it. The garbage collector would delete them, but it may
# be slow: it stands still until further notice.
kill -s STOP "${cluster_pids[kube-controller-manager]}"
plant pod victim-worker-0-0 team-b "$(done_with 0)"
plant pod victim-worker-1-0 team-b "$(done_with 0)"
plant pod victim-worker-1-0 team-b "m['name'] = 'victim-worker-0-7'; m['labels'].update({'paceline.dev/index': '0',
    'paceline.dev/incarnation': '7'}); $(done_with 3)"
plant pod bystander-worker-0-0 team-b "$(done_with 3)"
for kind in service networkpolicy; do plant $kind victim team-b; done
plant configmap victim-1 team-b
check "they name the job" "$(k get pod victim-worker-0-0 -n team-b -o jsonpath='{.metadata.ownerReferences[0].uid}')" "$uid"
until_same "the copies have ended" "Failed
Succeeded" planted
# By accident, too.
copy pod victim-worker-0-0 team-c | k create -f - >/dev/null

# The jobs' own objects are made again, and what users change is followed.
for kind in networkpolicy service; do
    old=$(of $kind/victim '{.metadata.uid}')
    k delete $kind victim >/dev/null
    anew() { local now; now=$(of $kind/victim '{.metadata.uid}' 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$old" ]; }
    until_true anew
done
k scale tj/victim --replicas=3 >/dev/null
until_same "it is scaled" "worker-0 Running
worker-1 Running
worker-2 Running" phases_of victim
await victim Running
same "nobody's success is its" "$(succeeded)$(reason victim Succeeded)" 0
same "nobody's failure is" "$(reason bystander Failed)$(of tj/bystander '{.status.restarts}')" 0
same "first pods" "$(pods_of victim | grep -vc -- '-0$')" 0

# The garbage collector deletes the copies, again and again. One has a finalizer of the tenant's and stays.
before=$(conflicts)
kill -s CONT "${cluster_pids[kube-controller-manager]}"
no_copies() { gone pods -n team-b && gone pods -n team-c; }
until_true no_copies
for _ in 1 2 3; do
    plant pod victim-worker-1-0 team-b
    until_true no_copies
done
plant pod victim-worker-2-0 team-b "m['finalizers'].append('mallory.test/stays')"
is_going() { [ -n "$(k get pod victim-worker-2-0 -n team-b -o jsonpath='{.metadata.deletionTimestamp}')" ]; }
until_true is_going
# Whoever ignores the job from here on writes the loss of a pod with an old version, again and again.
k scale tj/victim --replicas=2 >/dev/null
k delete pod victim-worker-0-0 --wait=false >/dev/null
sleep 5
at_most "conflicts" $(($(conflicts) - before)) 6
until_same "it is still followed" "worker-0 Running
worker-1 Running" phases_of victim
k patch tj/victim --type=merge -p '{"spec": {"runPolicy": {"suspend": true}}}' >/dev/null
await victim Suspended
k patch tj/victim --type=merge -p '{"spec": {"runPolicy": {"suspend": false}}}' >/dev/null
await victim Running

# Whoever leads anew lists all again: the process that has seen all of this, and one that has not.
lease=$(k get leases -n "$operator_namespace" -o name)
k patch "$lease" -n "$operator_namespace" --type=merge -p '{"spec": {"holderIdentity": "stranger"}}' >/dev/null
led() { [ "$(of "$lease" '{.spec.holderIdentity}' -n "$operator_namespace" 2>/dev/null)" = one ]; }
of() { k get "$1" -o "jsonpath=$2" "${@:3}"; }
until_true led
until_true ready "${operator_ports[one]}"
k scale tj/victim --replicas=3 >/dev/null
until_same "it is followed by the next leader" "worker-0 Running
worker-1 Running
worker-2 Running" phases_of victim
same "finalizers of its pods" "$(finalizers)" '["paceline.dev/tracking"]'
operator_kill one
operator_start one
k scale tj/victim --replicas=2 >/dev/null
until_same "and by another process" "worker-0 Running
worker-1 Running" phases_of victim
same "their finalizers" "$(finalizers)" '["paceline.dev/tracking"]'

# A job of the same name has nothing to do with it, whatever becomes of it.
k get tj victim -o json | python3 -c '
import json, sys
o = json.load(sys.stdin)
json.dump({"apiVersion": o["apiVersion"], "kind": o["kind"], "spec": o["spec"], "metadata": {"name": "victim", "uid": o["metadata"]["uid"]}},
          sys.stdout)' | mallory create -n team-b -f - >/dev/null
k wait -n team-b tj/victim --for=condition=Running --timeout=60s >/dev/null || fail "the tenant's own job does not run"
mallory delete -n team-b tj/victim >/dev/null
mallory patch pod victim-worker-2-0 -n team-b --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null
until_true no_copies

# Outcomes are the job's own.
for pod in $(pods_of victim); do finish "$pod" 0; done
await victim Succeeded
same "both succeeded" "$(succeeded)" 2
await bystander Running
same "its one pod" "$(pods_of bystander)" bystander-worker-0-0

verdict
