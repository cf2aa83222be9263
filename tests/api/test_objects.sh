#!/bin/bash
# What a job owns, what of the user's is carried through, and how it says what is wrong.
# TIMEOUT: 300
source tests/api/lib.sh
api_start
operator_start one

# A quota of a namespace of its own: 403 for the second pod.
k create namespace tight >/dev/null
k create quota two -n tight --hard=pods=1 >/dev/null
until_true k get serviceaccount default -n tight
quota_known() { [ -n "$(k get quota two -n tight -o jsonpath='{.status.hard.pods}')" ]; }
until_true quota_known

apply <<JOBS
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata:
  name: rich
  labels: {team: vision}
  annotations: {example.test/note: "kept"}
spec:
  replicas:
    chief: {replicas: 1, template: $(pod)}
    worker:
      replicas: 2
      template:
        metadata:
          labels: {cost-centre: "42"}
          annotations: {example.test/prometheus: "yes"}
        spec:
          nodeSelector: {kubernetes.io/os: linux}
          terminationGracePeriodSeconds: 7
          securityContext: {runAsUser: 1000, runAsNonRoot: true}
          containers:
          - name: trainer
            image: train:1
            command: [train, --fast]
            env: [{name: MINE, value: "1"}]
            ports: [{name: tfjob-port, containerPort: 3333}]
            resources: {limits: {cpu: "2", memory: 1Gi}}
            volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, emptyDir: {}}]
    ps: {replicas: 1, template: $(pod)}
$(job broken)
    worker: {replicas: 1, template: {spec: {containers: [{name: "Not A Name", image: "x"}]}}}
$(job tight | sed 's/name: tight/name: tight, namespace: tight/')
    worker: {replicas: 2, template: $(pod)}
$(job domain | sed 's/^spec:/spec:\n  clusterSpec: {domain: corp.example}/')
    worker: {replicas: 2, template: $(pod)}
$(job volcano 'schedulingPolicy: {gang: Volcano, queue: research}')
    worker: {replicas: 3, template: $(pod)}
$(job plugins 'schedulingPolicy: {gang: SchedulerPlugins, schedulerName: default-scheduler}')
    worker: {replicas: 3, template: $(pod)}
$(job kueue 'schedulingPolicy: {gang: Kueue, queue: research}')
    worker: {replicas: 3, template: $(pod)}
$(job foreign 'managedBy: example.test/other')
    worker: {replicas: 1, template: $(pod)}
JOBS

await rich Running
until_same "pods of rich" "chief-0 Running
ps-0 Running
worker-0 Running
worker-1 Running" phases_of rich
worker=pod/rich-worker-1-0
same "label of the template" "$(of $worker '{.metadata.labels.cost-centre}')" 42
same "label of the job" "$(of $worker '{.metadata.labels.team}')" vision
same "annotation" "$(of $worker '{.metadata.annotations.example\.test/prometheus}')" yes
same "node selector" "$(of $worker '{.spec.nodeSelector.kubernetes\.io/os}')" linux
same "grace" "$(of $worker '{.spec.terminationGracePeriodSeconds}')" 7
same "user" "$(of $worker '{.spec.securityContext.runAsUser}')" 1000
same "command" "$(of $worker '{.spec.containers[0].command}')" '["train","--fast"]'
same "environment" "$(of $worker '{.spec.containers[0].env[?(@.name=="MINE")].value}')" 1
same "rank" "$(of $worker '{.spec.containers[0].env[?(@.name=="RANK")].value}')" 2
same "world" "$(of $worker '{.spec.containers[0].env[?(@.name=="WORLD_SIZE")].value}')" 3
check "master" "$(of $worker '{.spec.containers[0].env[?(@.name=="MASTER_ADDR")].value}')" rich-chief-0
check "task" "$(of $worker '{.spec.containers[0].env[?(@.name=="TF_CONFIG")].value}')" '"index":1'
same "limits" "$(of $worker '{.spec.containers[0].resources.limits.cpu}')" 2
check "volume" "$(of $worker '{.spec.volumes[*].name}')" data
same "host name" "$(of $worker '{.spec.hostname}.{.spec.subdomain}')" rich-worker-1.rich
same "finalizer" "$(of $worker '{.metadata.finalizers}')" '["paceline.dev/tracking"]'
same "no token" "$(of $worker '{.spec.automountServiceAccountToken}')" false
same "no root" "$(of $worker '{.spec.securityContext.runAsNonRoot}')" true
same "capabilities" "$(of $worker '{.spec.containers[0].securityContext.capabilities.drop}')" '["ALL"]'
same "owner" "$(of $worker '{.metadata.ownerReferences[0].uid}')" "$(of tj/rich '{.metadata.uid}')"
check "cluster spec" "$(of configmap/rich-1 '{.data}')" "rich-worker-1.rich.default.svc:3333"
until_true k get configmap domain-1
check "domain" "$(of configmap/domain-1 '{.data}')" "domain-worker-1.domain.default.svc.corp.example:2222"
same "headless" "$(of service/rich '{.spec.clusterIP} {.spec.publishNotReadyAddresses}')" "None true"
same "NetworkPolicies" "$(k get networkpolicies -l paceline.dev/job-name=rich -o name | wc -l)" 1
same "counts" "$(of tj/rich '{.status.replicaStatuses.worker.active} {.status.replicaStatuses.ps.active}')" "2 1"
endpoints() {
    k get endpointslices -l kubernetes.io/service-name=rich \
        -o jsonpath='{.items[*].endpoints[*].addresses[0]}' | wc -w
}
until_same "endpoints" 4 endpoints

# Gang: the object that the scheduler named in the job waits for.
until_same "volcano" 3 of podgroups.v1beta1.scheduling.volcano.sh/volcano-1 '{.spec.minMember}'
same "its queue" "$(of podgroups.v1beta1.scheduling.volcano.sh/volcano-1 '{.spec.queue}')" research
until_same "pods of volcano" 3 count_pods volcano # nobody schedules them here
same "scheduler" "$(of pod/volcano-worker-0-0 '{.spec.schedulerName}')" volcano
same "their group" "$(of pod/volcano-worker-0-0 \
    '{.metadata.annotations.scheduling\.k8s\.io/group-name}')" volcano-1
until_same "plugins" 3 of podgroups.v1alpha1.scheduling.x-k8s.io/plugins-1 '{.spec.minMember}'
until_same "pods of plugins" 3 count_pods plugins
same "label" "$(of pod/plugins-worker-0-0 \
    '{.metadata.labels.scheduling\.x-k8s\.io/pod-group}')" plugins-1
until_same "pods of kueue" 3 count_pods kueue
same "queue of kueue" "$(of pod/kueue-worker-0-0 '{.metadata.labels.kueue\.x-k8s\.io/queue-name}')" \
    research
same "total" "$(of pod/kueue-worker-0-0 \
    '{.metadata.annotations.kueue\.x-k8s\.io/pod-group-total-count}')" 3

# Somebody deletes a group that pods wait for: it comes back. That of a former world goes.
groups=podgroups.v1beta1.scheduling.volcano.sh
k delete $groups volcano-1 >/dev/null
until_same "the group again" 3 of $groups/volcano-1 '{.spec.minMember}'
k scale tj/volcano --replicas=2 >/dev/null
until_same "the group of the next world" 2 of $groups/volcano-2 '{.spec.minMember}'
group_names() { k get $groups -o 'jsonpath={.items[*].metadata.name}'; }
until_same "groups" volcano-2 group_names
# The queue changes while the job is suspended, and holds when it goes on.
k patch tj volcano --type=merge -p '{"spec":{"runPolicy":{"schedulingPolicy":{"queue":"late"}}}}' \
    >/dev/null 2>&1 && fail "the queue changes while the job runs"
k patch tj volcano --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
until_same "groups while suspended" "" group_names
k patch tj volcano --type=merge \
    -p '{"spec":{"runPolicy":{"suspend":false,"schedulingPolicy":{"queue":"late"}}}}' >/dev/null
until_same "the group of the other queue" late of $groups/volcano-3 '{.spec.queue}'
until_same "pods of the other queue" 2 count_pods volcano

# A template that no API server takes is said before anything is made.
await broken Failed
check "broken" "$(reason broken Failed)" "True InvalidTemplate: "
check "its sentence" "$(reason broken Failed)" "containers[0].name"
same "nothing of broken" "$(k get pods,services,configmaps,networkpolicies,secrets -o name \
    -l paceline.dev/job-name=broken)" ""

# A quota blocks; the job says so in the server's words, does not fail, and goes on by itself.
k wait tj/tight -n tight --for=condition=PodsBlocked --timeout=60s >/dev/null ||
    fail "tight is not blocked"
blocked=$(k get tj tight -n tight -o jsonpath='{.status.conditions[?(@.type=="PodsBlocked")].message}')
check "tight" "$blocked" "exceeded quota: two"
check "why, in the wide table" "$(k get tj tight -n tight -o wide --no-headers)" "exceeded quota: two"
lines=$(k get tj tight -n tight --no-headers)
case $lines in *quota*) fail "why, in the narrow table: $lines" ;; esac
k patch quota two -n tight --type=merge -p '{"spec":{"hard":{"pods":"5"}}}' >/dev/null
k wait tj/tight -n tight --for=condition=Running --timeout=60s >/dev/null || fail "tight does not run"
k wait tj/tight -n tight --for=condition=PodsBlocked=False --timeout=60s >/dev/null ||
    fail "tight is still blocked"

# Hands off what somebody else manages.
same "status of foreign" "$(of tj/foreign '{.status}')" ""
same "pods of foreign" "$(pods_of foreign)" ""

# The story, in order and once.
k delete pod rich-ps-0-0 --wait=false >/dev/null
until_same "ps is back" rich-ps-0-1 sh -c "kubectl get pods -o name | grep -o 'rich-ps.*'"
sleep 1 # events are told apart by the second
finish rich-chief-0-0 0
await rich Succeeded
story=$(k describe tj rich)
check "describe" "$story" "Events:"
events=$(events_of rich)
for reason in Created:1 Restarting:1 Running:2 Succeeded:1; do
    same "events ${reason%:*}" "$(grep -c " ${reason%:*} " <<<"$events")" "${reason#*:}"
done
first=$(sed -n 1p <<<"$events") last=$(tail -n 1 <<<"$events")
check "the first event" "$first" "Normal "
check "the last event" "$last" "Succeeded"
at_most "events of a small job" "$(wc -l <<<"$events")" 20
same "events speak of the job" "$(k get events --field-selector involvedObject.kind=TrainingJob \
    -o jsonpath='{.items[*].involvedObject.apiVersion}' | tr ' ' '\n' | sort -u)" paceline.dev/v1

# A CRD that is newer than the operator: what it does not know is no reason to refuse a job.
k patch crd trainingjobs.paceline.dev --type=json -p '[{"op": "add", "value": {"type": "string"},
    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/later"}]' >/dev/null
later="$(job later)
    worker: {replicas: 1, template: $(pod)}
  later: x"
served() { k apply --dry-run=server --validate=strict -f - <<<"$later" >/dev/null 2>&1; }
until_true served
apply <<<"$later"
await later Running
same "the new field" "$(of tj/later '{.spec.later}')" x

# A namespace with jobs in it can go.
k delete namespace tight --wait=false >/dev/null
until_true gone namespace tight

verdict
