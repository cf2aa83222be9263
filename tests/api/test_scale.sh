#!/bin/bash
# Jobs that change while they run: scale up and down, suspend and resume.
# TIMEOUT: 300
source tests/api/lib.sh
api_start
operator_start one

apply <<JOBS
$(job fixed 'backoffLimit: 1')
    worker: {replicas: 2, template: $(pod term-exit=0)}
$(job moving 'scalePolicy: Dynamic')
    worker: {replicas: 2, template: $(pod)}
$(job paused 'suspend: true')
    worker: {replicas: 2, template: $(pod)}
$(job bounded)
    worker: {replicas: 2, minReplicas: 2, maxReplicas: 3, template: $(pod)}
JOBS

# Recreate: the set of roles restarts, which is no failure and no success.
await fixed Running
k scale tj/fixed --replicas=3 >/dev/null || fail "kubectl scale"
three() { [ "$(phases_of fixed | grep -c Running)" = 3 ] && [ "$(count_pods fixed)" = 3 ]; }
until_true three
lacks "new pods" "$(pods_of fixed)" "fixed-worker-0-0"
await fixed Running
same "no restart" "$(of tj/fixed '{.status.restarts}')" "$(of tj/moving '{.status.restarts}')"
same "not done by exit code 0 after SIGTERM" "$(reason fixed Succeeded)" ""
until_same "one ConfigMap of this generation" 1 \
    of configmaps '{range .items[?(@.metadata.labels.paceline\.dev/job-name=="fixed")]}1{end}'

# Dynamic: the others stay, the highest index goes, and its name is not used again.
await moving Running
zero=$(of pod/moving-worker-0-0 '{.metadata.uid}')
k scale tj/moving --replicas=3 >/dev/null
until_same "moving up" "worker-0 Running
worker-1 Running
worker-2 Running" phases_of moving
k scale tj/moving --replicas=1 >/dev/null
until_same "moving down" "moving-worker-0-0" pods_of moving
k scale tj/moving --replicas=2 >/dev/null
until_same "moving up again" "moving-worker-0-0
moving-worker-1-1" pods_of moving
same "worker 0 ran on" "$(of pod/moving-worker-0-0 '{.metadata.uid}')" "$zero"

# The story in its order, even of one second and of one millisecond.
story_of() { k describe tj "$1" | sed '1,/^Events:/d' | awk 'NR > 2 { print $2 }' | head -n "$2" | xargs; }
until_same "the story of moving" "Created Running Scaled" story_of moving 3
until_same "the story of paused" "Created Suspended" story_of paused 2

# What an autoscaler reads.
scale_of() {
    k get --raw "/apis/paceline.dev/v1/namespaces/default/trainingjobs/$1/scale" |
        python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["spec"]["replicas"],
s["status"]["replicas"], s["status"]["selector"].split(",")[0])'
}
until_same "scale" "2 2 paceline.dev/job-name=moving" scale_of moving
check "maxReplicas" "$(k scale tj/bounded --replicas=4 2>&1)" maxReplicas
check "minReplicas" "$(k scale tj/bounded --replicas=1 2>&1)" minReplicas
# A real autoscaler. Nobody measures anything here, but two workers are fewer than its minimum.
apply <<HPA
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: bounded}
spec:
  minReplicas: 3
  maxReplicas: 3
  scaleTargetRef: {apiVersion: paceline.dev/v1, kind: TrainingJob, name: bounded}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
HPA
until_same "scaled by the autoscaler" 3 of tj/bounded '{.spec.replicas.worker.replicas}'
until_same "and it runs" 3 of tj/bounded '{.status.replicaStatuses.worker.active}'

# A job that was created suspended makes nothing at all.
await paused Suspended
same "pods of paused" "$(pods_of paused)" ""
same "objects of paused" "$(k get services,configmaps,networkpolicies,secrets -o name \
    -l paceline.dev/job-name=paused)" ""
k patch tj paused --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}' >/dev/null
await paused Running
check "resumed" "$(reason paused Suspended)" "False Resumed"

# While a job is suspended its deadline waits.
apply <<JOBS
$(job pausing 'activeDeadlineSeconds: 15')
    worker: {replicas: 2, template: $(pod)}
JOBS
await pausing Running
k patch tj pausing --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
await pausing Suspended
until_true gone pods -l paceline.dev/job-name=pausing
await pausing Running=False
sleep 16
same "the clock stood" "$(reason pausing Failed)" ""
k patch tj pausing --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}' >/dev/null
await pausing Running
await pausing Failed
check "the clock went on" "$(reason pausing Failed)" DeadlineExceeded

verdict
