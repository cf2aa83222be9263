#!/bin/bash
# Jobs that cannot start say why: the sentence of whoever refuses them stands in `kubectl describe tj`, and
# what a pod waits for in the column Why of `kubectl get tj -o wide`, too.
# Prints after how many seconds.
# TIMEOUT: 900
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
cluster_debian
paceline_images
paceline_install

# built NAME CONTAINER [POD [DATASET]]: a job of the built-in engine, with more in its pods.
built() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model: {name: mlp}
  dataset: {${4:-name: fashion-mnist}}
  replicas:
    worker: {template: {spec: {${3:-} containers: [{resources: {requests: {cpu: 50m}}, $2}]}}}
JOB
}
# any NAME CONTAINER [POD]: a job of a Debian image.
any() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  replicas:
    worker:
      template: {spec: {${3:-} containers: [{name: any, image: "$cluster_image", $2}]}}
JOB
}
user='securityContext: {runAsUser: 1000},'
folder='volumes: [{name: data, hostPath: {path: /nowhere/at/all, type: Directory}}],'
secret='volumes: [{name: data, secret: {secretName: nothing}}],'
claim='volumes: [{name: data, persistentVolumeClaim: {claimName: nothing}}],'

# What each says, as a regular expression.
declare -A says=(
    [image]='worker 0 waits: ErrImageNeverPull: .*absent:1'
    [data]='Message: .*/nowhere'
    [resources]='worker 0 waits: Unschedulable: .*Insufficient cpu'
    [account]='serviceaccount "nobody" not found'
    [priority]='no PriorityClass with name nobody was found'
    [claim]='worker 0 waits: Unschedulable: .*persistentvolumeclaim "nothing" not found'
    [hostpath]='worker 0 waits: FailedMount: .*hostPath type check failed: /nowhere/at/all'
    [secret]='worker 0 waits: FailedMount: .*secret "nothing" not found'
    [configmap]='worker 0 waits: CreateContainerConfigError: .*configmap "nothing" not found'
    [root]='worker 0 waits: CreateContainerConfigError: .*image will run as root'
    [command]='exec: "nonsense": executable file not found'
)
begin=$EPOCHREALTIME
apply <<JOBS
$(built image 'image: "absent:1", imagePullPolicy: Never')
$(built data 'name: trainer' '' 'name: idx, path: /nowhere')
$(built resources 'name: trainer, resources: {requests: {cpu: "1000"}}' | sed 's/resources: {requests: {cpu: 50m}}, //')
$(built account 'name: trainer' 'serviceAccountName: nobody,')
$(built priority 'name: trainer' 'priorityClassName: nobody,')
$(built claim 'volumeMounts: [{name: data, mountPath: /data}]' "$claim" 'name: idx, path: /data')
$(built hostpath 'volumeMounts: [{name: data, mountPath: /data}]' "$folder" 'name: idx, path: /data')
$(any secret 'volumeMounts: [{name: data, mountPath: /data}]' "$user $secret")
$(any configmap 'envFrom: [{configMapRef: {name: nothing}}]' "$user")
$(any root 'command: [sleep, "1000"]')
$(any command 'command: [nonsense]' "$user")
JOBS

told() { t describe "tj/$1" >"$dir/$1" && grep -qE "${says[$1]}" "$dir/$1"; }
# Whoever has said it is asked no more.
told_all() {
    local job left=1
    for job in "${!says[@]}"; do
        [ -e "$dir/$job.told" ] && continue
        if told "$job"; then
            seconds "$begin" >"$dir/$job.told"
        else
            left=0
        fi
    done
    [ $left = 1 ]
}
cluster_wait 120 told_all
for job in "${!says[@]}"; do
    if [ -e "$dir/$job.told" ]; then
        echo "  $job: told after $(<"$dir/$job.told") s: $(grep -oEm 1 "${says[$job]}" "$dir/$job" | cut -c1-100)"
    else
        fail "$job does not say why it cannot start: $(sed -n '/^Status/,$p' "$dir/$job")"
    fi
done
t get tj -o wide >"$dir/wide"
check "the last column" "$(head -n 1 "$dir/wide") " " WHY "
for job in "${!says[@]}"; do
    if [[ ${says[$job]} = worker* ]]; then
        row=$(grep "^$job " "$dir/wide")
        [[ $row =~ ${says[$job]} ]] || fail "the column Why of $job: $row"
        n_wide=$((${n_wide:-0} + 1))
    fi
done
at_least "jobs whose pods wait" "${n_wide:-0}" 5
same "what trying again cannot mend" "$(of tj/data '{.status.conditions[?(@.type=="Failed")].status}')" True
same "what may still come" "$(of tj/image '{.status.conditions[?(@.type=="Failed")].status}')" ""

# Refused before there is a job.
refused() { # NAME FROM TO SENTENCE
    local said
    said=$(train refused 1 1 | sed "s/$2/$3/" | t apply -f - 2>&1) && fail "$1 was taken"
    check "$1" "$said" "$4"
}
refused "a strategy that is none" 'training:' 'strategy: {type: Gossip}\n  training:' \
    'spec.strategy.type: Unsupported value: "Gossip": supported values: "AllReduce"'
refused "servers without parameters" 'replicas:$' 'replicas:\n    ps: {replicas: 1}' \
    'allowed with spec.model: 0, or strategy.type ParameterServer'

# What was missing comes: the job starts by itself.
k create priorityclass nobody --value=1 >/dev/null
t create serviceaccount nobody >/dev/null
for job in account priority; do
    running() { [ "$(of "tj/$job" '{.status.replicaStatuses.worker.active}')" = 1 ]; }
    until_true running
done
k delete priorityclass nobody >/dev/null
verdict
