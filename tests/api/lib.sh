# shellcheck shell=bash
# Sourced by the tests against a real API server. It starts one (api_start), then operators
# (operator_start) with the rights of manifests/ and nothing more, and ends all of it on EXIT.
# The operator to test is PACELINE_OPERATOR; KEEP=1 leaves the logs.
set -uo pipefail
export LC_ALL=C TERM=dumb
name=$(basename "$0" .sh)
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo" || exit
# shellcheck source=tests/api/cluster.sh
source "$repo/tests/api/cluster.sh"
# shellcheck source=tests/api/check.sh
source "$repo/tests/api/check.sh"
dir=$(mktemp -d)
declare -A operator_ports=()

api_end() {
    local status=$?
    cluster_stop
    if [ -n "${KEEP:-}" ]; then echo "logs: $dir"; else rm -rf "$dir"; fi
    exit $status
}
trap api_end EXIT
trap 'exit 130' INT TERM

verdict() {
    local operator
    for operator in "${!operator_ports[@]}"; do operator_stop "$operator"; done
    if [ $failed -ne 0 ]; then tail -n 15 "$dir"/cluster/log/operator-* 2>/dev/null; fi
    if [ $failed -eq 0 ]; then echo "PASS $name"; else echo "FAIL $name"; fi
    exit $failed
}

# api_start [NODES]: Kubernetes with our CRD, our rights, a kubeconfig for the operator. The
# operator's is DIR/operator.conf: a token of the ServiceAccount that manifests/ give rights to.
api_start() {
    local sentence file
    [ -x "${PACELINE_OPERATOR:-}" ] || {
        echo "PACELINE_OPERATOR names no program; run this by make check TESTS=$0"
        exit 1
    }
    cluster_tools >"$dir/tools" || {
        local status=$?
        sentence=$(tail -n 1 "$dir/tools")
        echo "$sentence"
        exit $status
    }
    for file in manifests/*.yaml tests/api/podgroups.yaml; do
        if ! grep -q '^kind: Deployment' "$file"; then cluster_manifests+=("$file"); fi
    done
    cluster_start "$dir/cluster" "${1:-4}" || {
        echo "Kubernetes did not start"
        exit 1
    }
    operator_kubeconfig "$dir/operator.conf"
}

# operator_kubeconfig FILE [SERVER [CA]]
operator_kubeconfig() {
    operator_namespace=$(k get serviceaccounts -A -o \
        jsonpath='{.items[?(@.metadata.name=="paceline-operator")].metadata.namespace}')
    cluster_kubeconfig "$1" \
        "token: $(k create token paceline-operator -n "$operator_namespace" --duration=2h)" \
        "${@:2}"
}

# http PORT PATH: the answer of a web server on loopback, head and body.
http() {
    local line
    {
        exec {web}<>"/dev/tcp/127.0.0.1/$1"
    } 2>/dev/null || return
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&"$web"
    while IFS= read -r -t 10 line <&"$web" || [ -n "$line" ]; do printf '%s\n' "${line%$'\r'}"; done
    exec {web}>&-
}
ready() { [[ $(http "$1" /readyz) == *" 200 "* ]]; }

# metric OPERATOR TEXT: the value of the metric that begins with TEXT.
metric() { http "${operator_ports[$1]}" /metrics | sed -n "s/^$2[^ ]* //p" | head -1; }

# operator_start NAME [FLAGS...]: and waits until it has seen what is there.
operator_start() {
    local operator=$1 port
    shift
    port=$(cluster_ports 1)
    cluster_run "operator-$operator" "$PACELINE_OPERATOR" --kubeconfig "$dir/operator.conf" \
        --all-namespaces --operator-namespace "$operator_namespace" \
        --web-address "127.0.0.1:$port" --identity "$operator" \
        --lease-duration 4s --renew-deadline 3s --retry-period 500ms "$@"
    operator_ports[$operator]=$port
    until_true ready "$port"
}

# operator_kill NAME: without a word.
operator_kill() {
    cluster_kill "operator-$1" KILL
    unset "operator_ports[$1]"
}

# operator_stop NAME: as Kubernetes does it; it gives the lease back and exits with 0.
operator_stop() {
    local pid=${cluster_pids[operator-$1]:-} status
    unset "operator_ports[$1]"
    [ -n "$pid" ] || return
    kill -s TERM "$pid" 2>/dev/null
    wait "$pid"
    status=$?
    unset "cluster_pids[operator-$1]"
    same "exit code of operator $1" $status 0
}

# pod [BEHAVIOUR...]: a pod template on one line, e.g. `pod exit=0 exit-after=2s` (stages.yaml).
pod() {
    local behaviour annotations=
    for behaviour in "$@"; do
        annotations+="${annotations:+, }paceline.test/${behaviour%%=*}: \"${behaviour#*=}\""
    done
    echo "{metadata: {annotations: {$annotations}}, spec: {containers: [{name: trainer, image: train:1}]}}"
}

# job NAME [RUN_POLICY]: the head of a TrainingJob; its replicas follow, indented by four.
job() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  runPolicy: {${2:-}}
  replicas:
JOB
}
apply() { k apply -f - >"$dir/apply" 2>&1 || fail "kubectl apply: $(cat "$dir/apply")"; }

# await JOB CONDITION[=False]: until the job says so.
await() {
    k wait "tj/$1" --for="condition=$2" --timeout="${patience:-60}s" >/dev/null 2>&1 && return
    fail "job $1 is not $2: $(k get tj "$1" -o jsonpath='{.status}' 2>&1)"
    return 1
}

# of OBJECT PATH: kubectl's jsonpath. reason JOB CONDITION: "True JobSucceeded: message"
of() { k get "$1" -o "jsonpath=$2"; }
reason() {
    of "tj/$1" "{range .status.conditions[?(@.type==\"$2\")]}{.status} {.reason}: {.message}{end}"
}
# pods_of JOB: names, sorted. phases_of JOB: "worker-0 Running" lines, sorted, without incarnations.
pods_of() {
    k get pods -l "paceline.dev/job-name=$1" \
        -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' | sort
}
phases_of() {
    k get pods -l "paceline.dev/job-name=$1" -o jsonpath='{range .items[*]}{.metadata.labels.paceline\.dev/role}-{.metadata.labels.paceline\.dev/index} {.status.phase}{"\n"}{end}' | sort
}
count_pods() { pods_of "$1" | grep -c .; }
# finish POD CODE: its program ends.
finish() { k annotate pod "$1" paceline.test/exit="$2" --overwrite >/dev/null; }
# events_of JOB: "Normal Reason message", in the order in which they happened.
events_of() {
    k get events --field-selector "involvedObject.kind=TrainingJob,involvedObject.name=$1" \
        --sort-by=.firstTimestamp \
        -o jsonpath='{range .items[*]}{.type} {.reason} {.message}{"\n"}{end}'
}
gone() { [ -z "$(k get "$@" 2>/dev/null)" ]; }
