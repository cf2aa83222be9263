#!/bin/bash
# Built-in jobs on a real cluster: to their end, through scaling, through losses. Whatever happens on
# the way, the weights are those of one machine.
# TIMEOUT: 1200
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
paceline_images
paceline_install
# Every pod of a built-in job keeps to the strictest Pod Security Standard.
k label namespace "$name" pod-security.kubernetes.io/enforce=restricted --overwrite >/dev/null

scaling_of() { of "tj/$1" '{range .status.scaling[*]}{.workers} {end}'; }
has_scaling() { [[ " $(scaling_of "$1")" == *" $2 "* ]]; }

# Two at once, to the end; one as a user that the image does not know, as OpenShift gives it.
apply <<<"$(train short 2 3 | sed 's/template: {spec: {/&securityContext: {runAsUser: 12345, runAsGroup: 0}, /')
$(train single 1 2)"
await short Succeeded
await single Succeeded
same "weights of short" "$(digest_of short)" "$(digest_here 2 3)"
same "weights of single" "$(digest_of single)" "$(digest_here 1 2)"
same "who short was" "$(of "pod/$(worker_pod short 0)" '{.spec.securityContext.runAsUser}:{.spec.securityContext.runAsGroup} {.spec.containers[0].securityContext.readOnlyRootFilesystem}')" "12345:0 true"
check "progress" "$(of tj/short '{.status.progress}')" '"epoch":3'
check "the story" "$(t describe tj/short)" "trains on 2 workers"
lacks "restarts" "$(of tj/short '{.status.restarts}')" 1
want=$(digest_here 1 120)

# 1 -> 2 -> 3 -> 1 while it trains: the pods that stay are the same ones.
apply <<<"$(train scaled 1 120)"
until_step scaled 200
zero=$(of "pod/$(worker_pod scaled 0)" '{.metadata.uid}')
for n in 2 3 1; do
    before=$(generation_of scaled)
    t scale tj/scaled --replicas=$n >/dev/null
    until_relaunched scaled "$before"
    until_true has_scaling scaled $n
done
same "worker 0 stayed" "$(of "pod/$(worker_pod scaled 0)" '{.metadata.uid}')" "$zero"
same "and was not restarted" "$(of "pod/$(worker_pod scaled 0)" '{.status.containerStatuses[0].restartCount}')" 0
patience=300 await scaled Succeeded
same "weights of scaled" "$(digest_of scaled)" "$want"
check "throughput by workers" "$(scaling_of scaled)" "1 2 3"

# The operator goes and comes: the training does not notice.
apply <<<"$(train unattended 2 30)"
until_step unattended 100
operator_killed
await unattended Succeeded
same "weights of unattended" "$(digest_of unattended)" "$(digest_here 1 30)"
same "its launches" "$(generation_of unattended)" 1

# Losses: a worker's pod, the chief's pod, a rank, mpirun, an agent.
lose() {
    case $1 in
    worker) t delete pod "$(worker_pod lossy 1)" --grace-period=0 --force >/dev/null 2>&1 ;;
    chief) t delete pod "$(worker_pod lossy 0)" --grace-period=0 --force >/dev/null 2>&1 ;;
    rank) kill_in "$(worker_pod lossy 1)" paceline-worker ;;
    mpirun) kill_in "$(worker_pod lossy 0)" prterun ;; # what mpirun of Open MPI 5 becomes
    agent) kill_in "$(worker_pod lossy 1)" paceline-agent ;;
    esac
}
apply <<<"$(train lossy 2 120)"
until_step lossy 100
for what in worker chief rank mpirun agent; do
    before=$(generation_of lossy)
    begin=$EPOCHREALTIME
    lose $what
    until_relaunched lossy "$before"
    echo "  lost: $what; training again after $(seconds "$begin") s"
    sleep 2 # for a checkpoint or two
done
patience=300 await lossy Succeeded
same "weights of lossy" "$(digest_of lossy)" "$want"

verdict
