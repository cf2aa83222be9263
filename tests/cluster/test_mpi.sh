#!/bin/bash
# Another MPI program, compiled on this machine, in an image that brings Open MPI and nothing of ours that
# is used: its workers are launched, lost, scaled and done; images without Open MPI say so.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
cluster_debian
paceline_images
paceline_install

t create configmap program --from-file=program="${BUILD:?}/tests/agent/program" >/dev/null || exit 1

# program JOB WORKERS IMAGE WORD...: a job whose program is given these arguments.
program() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  mpi: {ranksPerWorker: 2}
  replicas:
    worker:
      replicas: $2
      template:
        spec:
          securityContext: {runAsUser: 1234, runAsGroup: 0}
          containers:
          - name: solver
            image: $3
            command: [/program/program, "\$(PACELINE_JOB)"]
            args: [$4]
            env: [{name: COLOR, value: green}]
            volumeMounts: [{name: program, mountPath: /program}]
            resources: {requests: {cpu: 50m, memory: 64Mi}}
          volumes: [{name: program, configMap: {name: program, defaultMode: 0555}}]
JOB
}
base=paceline-worker:$paceline_version # Debian's Open MPI 5; the program was linked with this machine's

begin=$EPOCHREALTIME
apply <<<"$(program sum 2 "$base" end)"
await sum Succeeded && echo "  apply to Succeeded: $(seconds "$begin") s"
same "what its ranks say" "$(t logs "$(worker_pod sum 0)" -c solver | grep '^rank' | sort)" \
    "$(for i in 0 1 2 3; do
        echo "rank $i of 4: sum 6, host sum-worker-$((i / 2)), color green, arguments [sum] [end]"
    done)"
until_same "its record" "{\"uid\":\"$(of tj/sum '{.metadata.uid}')\",\"generation\":1}" \
    of "pod/$(worker_pod sum 0)" '{.status.containerStatuses[0].state.terminated.message}' # it ends after the job

# Every loss is a new generation, from the program's beginning, on the pods that live.
apply <<<"$(program lossy 2 "$base" wait)"
until_true wait_training lossy || show lossy
ranks() { t logs "$(worker_pod lossy 0)" -c solver | grep -c "^rank .* of $1:"; }
ranks_are() { [ "$(ranks "$1")" -ge "$2" ]; }
until_true ranks_are 4 4 || show lossy
chief=$(worker_pod lossy 0)
lost() {
    local before begin=$EPOCHREALTIME
    before=$(generation_of lossy)
    "${@:2}"
    until_relaunched lossy "$before" || show lossy
    echo "  lost: $1; running again after $(seconds "$begin") s"
}
quietly() { "$@" >/dev/null 2>&1; }
lost "a worker's pod" quietly t delete pod "$(worker_pod lossy 1)" --grace-period=0 --force
until_true ranks_are 4 8
lost "a rank" kill_in "$chief" program
until_true ranks_are 4 12
lost "Open MPI's daemon" kill_in "$(worker_pod lossy 1)" prted
until_true ranks_are 4 16
lost "scaled to 3" quietly t scale tj/lossy --replicas=3
until_true ranks_are 6 6 || show lossy
same "the chief" "$(worker_pod lossy 0) $(of "pod/$chief" '{.status.containerStatuses[0].restartCount}')" "$chief 0"
same "conditions of a job without a model" "$(of tj/lossy '{.status.conditions[?(@.type=="Durable")].reason}')" ""
t delete tj lossy --wait=false >/dev/null

# A rank that fails for good: backoffLimit counts generations.
apply <<<"$(program fails 2 "$base" exit3)
  runPolicy: {backoffLimit: 1}"
await fails Failed
check "why it failed" "$(of tj/fails '{.status.conditions[?(@.type=="Failed")].message}')" \
    "the program ended with exit code 3; launches in a row without progress: 2, backoffLimit: 1"

# The agent runs in an image that has none of its libraries, and says what the image lacks.
apply <<<"$(program bare 1 "$cluster_image" end)"
await bare Failed
check "an image without Open MPI" "$(of tj/bare '{.status.conditions[?(@.type=="Failed")].message}')" \
    "this image has no mpirun: cannot start mpirun: No such file or directory; spec.mpi needs Open MPI 4 or 5"

program silent 1 "$base" end | sed '/command:/d' | t apply -f - >"$dir/out" 2>&1
check "no command" "$(<"$dir/out")" "needed with spec.mpi: its command, for what an image runs by itself is not known"
verdict
