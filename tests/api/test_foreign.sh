#!/bin/bash
# Somebody else has the name of an object that a job needs: a condition and an event say which, no pods are made, and
# when it is gone the job goes on by itself.
# TIMEOUT: 300
# shellcheck disable=SC2154 # lib.sh has them
source tests/api/lib.sh
api_start

# Each is there before its job, and belongs to nobody.
k create service clusterip in-service --clusterip=None >/dev/null
k create configmap in-configmap-1 >/dev/null
k create -f - >/dev/null <<OBJECTS
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: in-networkpolicy}
spec: {podSelector: {}}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: in-podgroup-1}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: in-pod-worker-0-0}
spec: {containers: [{name: a, image: a}]}
OBJECTS

operator_start one
apply <<JOBS
$(job in-service)
    worker: {replicas: 1, template: $(pod)}
$(job in-configmap)
    worker: {replicas: 1, template: $(pod)}
$(job in-networkpolicy)
    worker: {replicas: 1, template: $(pod)}
$(job in-podgroup 'schedulingPolicy: {gang: SchedulerPlugins, schedulerName: default-scheduler}')
    worker: {replicas: 1, template: $(pod)}
$(job in-pod)
    worker: {replicas: 1, template: $(pod)}
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: in-secret}
spec:
  model: {name: mlp}
  dataset: {name: fashion-mnist}
  replicas: {worker: {replicas: 1, template: {metadata: {annotations: {paceline.test/ready-after: 1h}}}}}
JOBS
kinds="Service=in-service ConfigMap=in-configmap-1 NetworkPolicy=in-networkpolicy PodGroup=in-podgroup-1 Pod=in-pod-worker-0-0"
says() { check "$1 says so" "$(reason "$1" PodsBlocked)" "True NameTaken: $2 exists and does not belong to this job"; }
for pair in $kinds; do
    kind=${pair%%=*} object=${pair#*=}
    job=in-$(tr '[:upper:]' '[:lower:]' <<<"$kind")
    await "$job" PodsBlocked
    says "$job" "$kind $object"
    told() { [[ $(events_of "$job") == *"Warning NameTaken $kind $object exists"* ]]; }
    until_true told
    same "pods of $job" "$(pods_of "$job")" ""
done

# The operator may not read Secrets. A node finds the one that lacks the job's key, and tells of it in an event about
# the pod; kwok's nodes mount nothing, so this event is ours.
waiting() { [ -n "$(of pod/in-secret-worker-0-0 '{.spec.nodeName}' 2>/dev/null)" ]; }
until_true waiting
secret=$(of pod/in-secret-worker-0-0 '{.spec.volumes[?(@.name=="paceline-key")].secret.secretName}')
same "what it mounts" "$(of pod/in-secret-worker-0-0 '{.spec.volumes[?(@.name=="paceline-key")].secret.items[*].key}')" \
    "key"
k delete secret "$secret" >/dev/null
k create secret generic "$secret" --from-literal=password=1 >/dev/null
k create -f - >/dev/null <<EVENT
apiVersion: v1
kind: Event
metadata: {name: in-secret.1}
type: Warning
reason: FailedMount
message: 'MountVolume.SetUp failed for volume "paceline-key" : references non-existent secret key: key'
involvedObject: {kind: Pod, name: in-secret-worker-0-0, namespace: default, uid: $(of pod/in-secret-worker-0-0 '{.metadata.uid}')}
lastTimestamp: $(date -u +%Y-%m-%dT%H:%M:%SZ)
EVENT
await in-secret PodsBlocked
check "a foreign Secret" "$(reason in-secret PodsBlocked)" "True NameTaken: Secret $secret exists and is not the one"
lacks "what is in it" "$(k get tj in-secret -o yaml)" password

# They go, and all is well.
for pair in $kinds; do
    kind=${pair%%=*}
    if [ $kind = PodGroup ]; then kind=podgroups.scheduling.x-k8s.io; fi
    k delete $kind "${pair#*=}" --wait=false >/dev/null
done
k delete secret "$secret" >/dev/null
for pair in $kinds; do
    job=in-$(tr '[:upper:]' '[:lower:]' <<<"${pair%%=*}")
    await "$job" Running
    await "$job" PodsBlocked=False
done
made_again() { [ "$(of "secret/$secret" '{.type}' 2>/dev/null)" = paceline.dev/job-key ]; }
until_true made_again
k annotate pod in-secret-worker-0-0 paceline.test/ready-after=0s --overwrite >/dev/null
await in-secret PodsBlocked=False

verdict
