# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh has cluster_cache, dir and the checks
# Sourced after lib.sh by tests of Paceline on the cluster: its images, its operator, its jobs.
# shellcheck disable=SC2034 # used by tests that source this
paceline_version=$(sed -n 's/^#define PACELINE_VERSION "\(.*\)"/\1/p' include/paceline/version.h)

# paceline_images: of this tree, built when it has changed, in the cluster's containerd; or what is in
# the folder PACELINE_IMAGES.
paceline_images() {
    local hash folder=${PACELINE_IMAGES:-}
    if [ -n "$folder" ]; then
        cluster_import "$folder"/paceline-{operator,worker}.tar
        return
    fi
    hash=$(find Makefile LICENSE cli common images include operator wire agent worker -type f -print0 |
        sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
    folder=$cluster_cache/images/paceline-$hash
    (
        flock 9
        [ -e "$folder" ] && exit
        rm -rf "$cluster_cache"/images/paceline-*
        echo "building the images (minutes)" >&2
        scripts/images.sh --local-base --save "$folder.new" >"$dir/images" 2>&1 &&
            mv "$folder.new" "$folder"
    ) 9>"$cluster_cache/images/paceline.lock" || {
        tail -n 20 "$dir/images"
        echo "the images could not be built"
        exit 1
    }
    cluster_import "$folder"/paceline-{operator,worker}.tar
}

# paceline_install: CRD, rights and the operator, as manifests/ have them; waits until it is ready.
paceline_install() {
    local file
    for file in manifests/namespace.yaml manifests/crd.yaml manifests/rbac.yaml manifests/admission.yaml; do
        k apply -f "$file" >/dev/null || exit 1
    done
    k wait --for=condition=Established crd/trainingjobs.paceline.dev --timeout=30s >/dev/null || exit 1
    cluster_signal kube-controller-manager KILL # or its garbage collector knows jobs only later
    k apply -f manifests/operator.yaml >/dev/null || exit 1
    # On a cluster that was up before, the image has changed under the same name.
    k -n paceline-system rollout restart deployment/paceline-operator >/dev/null
    k -n paceline-system rollout status deployment/paceline-operator --timeout=120s >/dev/null || {
        k -n paceline-system describe pods | tail -n 30
        k -n paceline-system logs deployment/paceline-operator --tail=20
        echo "the operator does not start"
        exit 1
    }
}

# train NAME WORKERS EPOCHS [POLICY]: a job that trains a small network on a part of Fashion-MNIST. Its
# chief ends with it, or stays with the model for keep_seconds.
train() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model: {name: mlp, hidden: [512, 512]}
  dataset: {name: fashion-mnist, limit: 8192}
  output: {keepSeconds: ${keep_seconds:-0}}
  training: {epochs: $3, batchSize: 64, threads: 1}
  checkpoint: {everyEpochs: 0, everySeconds: 1, best: false}
  replicas:
    worker:
      replicas: $2
      template: {spec: {containers: [{resources: {requests: {cpu: 50m, memory: 64Mi}}}]}}
  runPolicy: {${4:-}}
JOB
}
apply() { t apply -f - >"$dir/apply" 2>&1 || fail "kubectl apply: $(cat "$dir/apply")"; }
of() { t get "$1" -o "jsonpath=$2"; }

# digest_here WORKERS EPOCHS: of the final weights, by `paceline run` on this machine.
digest_here() { train here "$1" "$2" | digest_of_run; }
# digest_of_run <JOB: the same of any job.
digest_of_run() {
    rm -rf "$dir/here"
    cat >"$dir/here.yaml"
    "$PACELINE" run "$dir/here.yaml" --out "$dir/here" --json 2>"$dir/here.log" |
        sed -n 's/.*"event":"done".*"digest":"\([0-9a-f]*\)".*/\1/p'
}
# checkpoint_in FOLDER: the newest one.
checkpoint_in() { printf '%s\n' "$1"/checkpoint-*.safetensors | tail -n 1; }
# digest_of JOB: of its completion record, in the chief's termination message.
digest_of() {
    ended() { # the job has succeeded when the chief says so: its pod ends after that
        t get pods -l "paceline.dev/job-name=$1,paceline.dev/index=0" -o \
            jsonpath='{range .items[*]}{.status.containerStatuses[0].state.terminated.message}{"\n"}{end}' |
            sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' | tail -n 1 >"$dir/digest"
        [ -s "$dir/digest" ]
    }
    until_true ended "$1"
    cat "$dir/digest"
}
step_of() { of "tj/$1" '{.status.progress.step}'; }
# until_step JOB STEP: until the training has come so far.
until_step() {
    reached() { [ "$(step_of "$1")" -ge "$2" ] 2>/dev/null; }
    until_true reached "$1" "$2" || show "$1"
}
await() {
    t wait "tj/$1" --for="condition=$2" --timeout="${patience:-60}s" >/dev/null 2>&1 && return
    fail "job $1 is not $2: $(of "tj/$1" '{.status}')"
    show "$1"
    return 1
}
# show JOB: what there is to know when it goes wrong.
show() {
    t describe "tj/$1" | tail -n 30
    t get pods -l "paceline.dev/job-name=$1" -o wide
    t logs -l "paceline.dev/job-name=$1" --prefix --tail=15
    k -n paceline-system logs deployment/paceline-operator --tail=20
}

# worker_pod JOB INDEX: the newest pod of that worker.
worker_pod() {
    t get pods -l "paceline.dev/job-name=$1,paceline.dev/role=worker,paceline.dev/index=$2" \
        --sort-by=.metadata.creationTimestamp -o name | tail -n 1 | sed 's|^pod/||'
}
# pod_processes POD [PROGRAM]: the node's pids of what runs in the pod.
pod_processes() {
    local uid process
    uid=$(t get pod "$1" -o 'jsonpath={.metadata.uid}')
    [ -n "$uid" ] || return
    for process in $(cluster_node sh -c "grep -lE 'pod$uid' /proc/[0-9]*/cgroup" 2>/dev/null |
        sed 's|/proc/\([0-9]*\)/cgroup|\1|'); do
        if [ $# -eq 1 ] ||
            [ "$(cluster_node cat "/proc/$process/comm" 2>/dev/null)" = "${2:0:15}" ]; then
            echo "$process"
        fi
    done
}
# kill_in POD PROGRAM: SIGKILL to the processes of a pod that run the program.
kill_in() {
    local process
    for process in $(pod_processes "$1" "$2"); do cluster_node kill -KILL "$process"; done
}
# pod_network POD COMMAND...: in the pod's network, with the node's programs.
pod_network() {
    local pid
    pid=$(pod_processes "$1" | head -n 1)
    cluster_node nsenter -t "$pid" -n -- "${@:2}"
}

generation_of() { of "tj/$1" '{.status.launch.generation}'; }
next_generation() { [ "$(generation_of "$1")" -gt "$2" ] 2>/dev/null; }
wait_training() { [ "$(of "tj/$1" '{.status.conditions[?(@.type=="Running")].reason}')" = Training ]; }
# until_relaunched JOB GENERATION: until a later one trains.
until_relaunched() { until_true next_generation "$1" "$2" && until_true wait_training "$1"; }
# seconds SINCE: of EPOCHREALTIME, with one digit.
seconds() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $1 }"; }
operator_killed() {
    k -n paceline-system delete pod -l app.kubernetes.io/name=paceline-operator --grace-period=0 \
        --force >/dev/null 2>&1
}
