#!/bin/bash
# How jobs end: success by chief, by worker 0, by all workers; failures, restarts, limits, clean-up.
# TIMEOUT: 300
source tests/api/lib.sh
api_start
operator_start one

# Everything at once: the jobs do not know of each other, and the test takes as long as the longest.
apply <<JOBS
$(job by-chief)
    chief: {replicas: 1, template: $(pod exit=0 exit-after=1s)}
    worker: {replicas: 2, template: $(pod)}
$(job by-worker-0)
    worker: {replicas: 2, template: $(pod)}
$(job by-all 'successPolicy: AllWorkers')
    worker: {replicas: 2, template: $(pod)}
$(job never)
    worker: {replicas: 2, template: $(pod exit=3)}
$(job ps-fails)
    worker: {replicas: 1, template: $(pod)}
    ps: {replicas: 1, template: $(pod exit=1 exit-after=1s)}
$(job evaluator-fails)
    worker: {replicas: 1, template: $(pod)}
    evaluator: {replicas: 1, template: $(pod exit=1)}
$(job by-code)
    worker: {replicas: 1, restartPolicy: ExitCode, template: $(pod)}
$(job limited 'backoffLimit: 2')
    worker: {replicas: 1, restartPolicy: ExitCode, template: $(pod exit=137)}
$(job kubelet 'backoffLimit: 2')
    worker: {replicas: 1, restartPolicy: OnFailure, template: $(pod restarts=3)}
$(job late 'activeDeadlineSeconds: 3')
    worker: {replicas: 1, template: $(pod)}
$(job brief 'ttlSecondsAfterFinished: 1')
    worker: {replicas: 1, template: $(pod exit=0)}
$(job keeps 'cleanPodPolicy: None')
    chief: {replicas: 1, template: $(pod exit=0 exit-after=2s)}
    worker: {replicas: 1, template: $(pod)}
$(job sweeps 'cleanPodPolicy: All')
    chief: {replicas: 1, template: $(pod exit=0 exit-after=2s)}
    worker: {replicas: 1, template: $(pod)}
$(job evicted)
    worker: {replicas: 1, template: $(pod)}
$(job again)
    worker: {replicas: 1, template: $(pod)}
$(job stays)
    worker: {replicas: 1, template: $(pod exit=0)}
JOBS

# Success. The other pods go, the one that finished stays for its logs.
await by-chief Succeeded
until_same "pods after the chief" "chief-0 Succeeded" phases_of by-chief
await by-worker-0 Running
finish by-worker-0-worker-1-0 0
until_same "one worker done" 1 of tj/by-worker-0 '{.status.replicaStatuses.worker.succeeded}'
same "worker 1 alone" "$(reason by-worker-0 Succeeded)" ""
finish by-worker-0-worker-0-0 0
await by-worker-0 Succeeded
await by-worker-0 Running=False
await by-all Running
finish by-all-worker-0-0 0
until_same "one of all" 1 of tj/by-all '{.status.replicaStatuses.worker.succeeded}'
same "not yet all" "$(reason by-all Succeeded)" ""
finish by-all-worker-1-0 0
await by-all Succeeded

# Failure says who and why.
await never Failed
check "never" "$(reason never Failed)" "True ReplicaFailed: "
check "its exit code" "$(reason never Failed)" "3"
same "never: restarts" "$(of tj/never '{.status.restarts}')" "$(of tj/by-all '{.status.restarts}')"
await ps-fails Failed
check "ps" "$(reason ps-fails Failed)" "ps-0"
await evaluator-fails Failed

# ExitCode: from 128 on again, below never.
await by-code Running
finish by-code-worker-0-0 137
until_same "the next incarnation" by-code-worker-0-1 pods_of by-code
await by-code Running
same "counted" "$(of tj/by-code '{.status.restarts}')" 1
finish by-code-worker-0-1 127
await by-code Failed
check "permanent" "$(reason by-code Failed)" ReplicaFailed

# backoffLimit, over pods that we replace and containers that the kubelet restarts.
await limited Failed
check "limited" "$(reason limited Failed)" "True BackoffLimitExceeded: "
same "restarts of limited" "$(of tj/limited '{.status.restarts}')" 2
await kubelet Failed
check "kubelet" "$(reason kubelet Failed)" "True BackoffLimitExceeded: "

await late Failed
check "late" "$(reason late Failed)" "True DeadlineExceeded: "
until_true gone pods -l paceline.dev/job-name=late
until_true gone tj brief
for kind in pods services configmaps networkpolicies secrets; do
    until_true gone $kind -l paceline.dev/job-name=brief
done

await keeps Succeeded
await sweeps Succeeded
until_true gone pods -l paceline.dev/job-name=sweeps
same "cleanPodPolicy None" "$(phases_of keeps)" "chief-0 Succeeded
worker-0 Running"

# An eviction is not the program's fault: with restartPolicy Never the pod comes back, and counts.
await evicted Running
k patch pod evicted-worker-0-0 --subresource=status --type=merge \
    -p '{"status":{"phase":"Failed","reason":"Evicted","message":"the node was low on memory"}}' >/dev/null
until_same "evicted comes back" evicted-worker-0-1 pods_of evicted
await evicted Running
same "and counts" "$(of tj/evicted '{.status.disruptions}')" 1

# The same name again, at once.
await again Running
first=$(of pod/again-worker-0-0 '{.metadata.uid}')
k delete tj again --wait=false >/dev/null
k wait tj/again --for=delete --timeout=60s >/dev/null 2>&1 || fail "again is not deleted"
apply <<JOBS
$(job again)
    worker: {replicas: 1, template: $(pod)}
JOBS
await again Running
lacks "a pod of the new job" "$(of pod/again-worker-0-0 '{.metadata.uid}')" "$first"

# What has ended stays so, whatever happens to it, and no pod of ours is stuck by our finalizer.
await stays Succeeded
k delete pod stays-worker-0-0 --wait=false >/dev/null
until_true gone pods -l paceline.dev/job-name=stays
k scale tj/stays --replicas=3 >/dev/null
k patch tj stays --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
until_same "seen" "$(of tj/stays '{.metadata.generation}')" of tj/stays '{.status.observedGeneration}'
check "stays" "$(reason stays Succeeded)" "True "
same "no pods" "$(pods_of stays)" ""
for job in by-chief by-worker-0 never limited late keeps; do
    same "terminal conditions of $job" "$(of "tj/$job" \
        '{range .status.conditions[?(@.status=="True")]}{.type}{"\n"}{end}' |
        grep -cE '^(Succeeded|Failed)$')" 1
    same "$job runs" "$(reason "$job" Running | cut -d' ' -f1)" False
done
k delete pods --all --wait=false >/dev/null
until_true gone pods -l paceline.dev/job-name=keeps

verdict
