# shellcheck shell=bash
# A Kubernetes of our own on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
# and kwok's fake nodes, in one folder, ended by pid. Sourced by tests/api/lib.sh, by
# scripts/operator-demo.sh and by bench/operator/run.sh.
#
#   cluster_start DIR [NODES]   DIR/admin.conf is then a kubeconfig (KUBECONFIG is set to it)
#   cluster_stop                ends what cluster_start and cluster_run started; for a trap on EXIT
#   k ARGS...                   kubectl as administrator
#
# Set before, if wanted: KUBERNETES (a folder of tests/tools), CLUSTER_APISERVER_FLAGS,
# cluster_manifests (files, applied before the controller-manager starts: its garbage collector looks
# for new kinds only every 30 s).
cluster_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
declare -A cluster_pids=()
cluster_manifests=()

# cluster_tools: the folder of the programs, or exit code 77 and a sentence on standard output.
cluster_tools() {
    local name
    cluster_bin=$("$cluster_root/scripts/kube-tools.sh" "${KUBERNETES:-kubernetes}") || {
        local status=$?
        echo "$cluster_bin"
        return $status
    }
    PATH=$cluster_bin:$PATH
    for name in kube-controller-manager kube-scheduler kwok; do
        command -v "$name" >/dev/null || {
            echo "$name is neither in KUBEBUILDER_ASSETS nor in PATH"
            return 77
        }
    done
    for name in openssl python3; do
        command -v "$name" >/dev/null || {
            echo "$name is not installed"
            return 77
        }
    done
}

# cluster_run NAME COMMAND...: in the background, in its own session, so that Ctrl-C does not reach
# it; it ends with this shell even when that is killed.
cluster_run() {
    local name=$1
    shift
    setsid setpriv --pdeathsig KILL "$@" </dev/null >>"$cluster_dir/log/$name" 2>&1 &
    cluster_pids[$name]=$!
}

# cluster_kill NAME [SIGNAL]: ends it and waits until it has ended.
cluster_kill() {
    local pid=${cluster_pids[$1]:-}
    [ -n "$pid" ] || return 0
    kill -s "${2:-KILL}" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    unset "cluster_pids[$1]"
    return 0
}

cluster_stop() {
    local name
    for name in "${!cluster_pids[@]}"; do
        kill -s KILL "${cluster_pids[$name]}" 2>/dev/null
    done
    for name in "${!cluster_pids[@]}"; do wait "${cluster_pids[$name]}" 2>/dev/null; done
    cluster_pids=()
}

# cluster_ports N: N free ports, below those that outgoing connections are given.
cluster_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randrange(20000, 32000)))
        held.append(s)
    except OSError:
        s.close()
print(*(s.getsockname()[1] for s in held))
PYTHON
}

cluster_certificates() {
    local name subject
    cat >"$cluster_dir/pki/extensions" <<'EXTENSIONS'
[server]
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, DNS:kubernetes.default.svc, IP:127.0.0.1
[client]
extendedKeyUsage = clientAuth
EXTENSIONS
    (
        cd "$cluster_dir/pki" || exit
        umask 077
        for name in ca server client sa; do
            openssl ecparam -name prime256v1 -genkey -noout -out $name.key || exit
        done
        openssl ec -in sa.key -pubout -out sa.pub &&
            openssl req -x509 -new -key ca.key -days 30 -subj /CN=paceline-test-ca -out ca.crt
        for name in server client; do
            subject=/CN=kube-apiserver
            if [ $name = client ]; then subject=/O=system:masters/CN=admin; fi
            openssl req -new -key $name.key -subj $subject -out $name.csr &&
                openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 \
                    -extfile extensions -extensions $name -out $name.crt || exit
        done
    ) >"$cluster_dir/log/openssl" 2>&1
}

# cluster_kubeconfig FILE CREDENTIALS [SERVER [CA]]: e.g. "token: x"
cluster_kubeconfig() {
    cat >"$1" <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: ${3:-$cluster_url}
    certificate-authority-data: $(base64 -w0 "${4:-$cluster_dir/pki/ca.crt}")
contexts:
- name: test
  context:
    cluster: test
    user: test
users:
- name: test
  user:
    $2
KUBECONFIG
    chmod 600 "$1"
}

k() { kubectl --kubeconfig "$cluster_dir/admin.conf" "$@"; }

# cluster_wait SECONDS COMMAND...: until it succeeds.
cluster_wait() {
    local end=$((${EPOCHREALTIME%.*} + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "${EPOCHREALTIME%.*}" -lt "$end" ] || return 1
        sleep 0.05
    done
}

cluster_running() { kill -0 "${cluster_pids[$1]:-0}" 2>/dev/null; }

cluster_etcd_and_apiserver() {
    local etcd_port peer_port port pki=$cluster_dir/pki
    read -r etcd_port peer_port port <<<"$(cluster_ports 3)"
    cluster_url=https://127.0.0.1:$port
    cluster_run etcd etcd --name=e --data-dir="$cluster_dir/etcd" --unsafe-no-fsync \
        --listen-client-urls="http://127.0.0.1:$etcd_port" \
        --advertise-client-urls="http://127.0.0.1:$etcd_port" \
        --listen-peer-urls="http://127.0.0.1:$peer_port" \
        --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" \
        --initial-cluster="e=http://127.0.0.1:$peer_port" --log-level=warn
    # shellcheck disable=SC2086 # flags are words
    cluster_run kube-apiserver kube-apiserver --etcd-servers="http://127.0.0.1:$etcd_port" \
        --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$port" \
        --endpoint-reconciler-type=none --tls-cert-file="$pki/server.crt" \
        --tls-private-key-file="$pki/server.key" --client-ca-file="$pki/ca.crt" \
        --token-auth-file="$pki/tokens" --authorization-mode=RBAC \
        --service-account-issuer=https://kubernetes.default.svc \
        --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
        --service-cluster-ip-range=10.0.0.0/20 --profiling=false \
        --default-not-ready-toleration-seconds=2 --default-unreachable-toleration-seconds=2 \
        ${CLUSTER_APISERVER_FLAGS:-}
    cluster_kubeconfig "$cluster_dir/admin.conf" "token: admin"
    cluster_kubeconfig "$cluster_dir/certificate.conf" "client-certificate-data: $(
        base64 -w0 "$pki/client.crt"
    )
    client-key-data: $(base64 -w0 "$pki/client.key")"
    cluster_wait 60 cluster_answers
}

# A server that has died will not answer any more.
cluster_answers() {
    if ! cluster_running kube-apiserver || ! cluster_running etcd; then return 0; fi
    k get --raw /readyz
}

cluster_nodes() {
    local i
    for i in $(seq "$1"); do
        cat <<NODE
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-$i",
 "annotations": {"kwok.x-k8s.io/node": "fake"},
 "labels": {"kubernetes.io/hostname": "node-$i", "kubernetes.io/os": "linux"}},
 "status": {"capacity": {"cpu": "1000", "memory": "4Ti", "pods": "1000"},
 "allocatable": {"cpu": "1000", "memory": "4Ti", "pods": "1000"}}}
NODE
    done | k create -f - >/dev/null
}

cluster_schedulable() {
    local nodes
    nodes=$(k get nodes -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {.spec.taints}{"\n"}{end}')
    [ -n "$nodes" ] && ! grep -qv '^True $' <<<"$nodes"
}

cluster_start() {
    local try nodes=${2:-4}
    cluster_dir=$1
    mkdir -p "$cluster_dir"/{pki,log,etcd}
    chmod 700 "$cluster_dir/etcd"
    printf '%s,%s,%s,"%s"\n' admin admin admin system:masters \
        alice alice alice team-a >"$cluster_dir/pki/tokens"
    cluster_certificates || return
    for try in 1 2 3; do # somebody may take a port between our look and our use
        cluster_etcd_and_apiserver && cluster_running kube-apiserver && cluster_running etcd && break
        if [ $try = 3 ]; then
            tail -n 5 "$cluster_dir/log"/{etcd,kube-apiserver} >&2
            return 1
        fi
        cluster_stop
        rm -rf "$cluster_dir/etcd/member"
    done
    export KUBECONFIG=$cluster_dir/admin.conf
    if [ ${#cluster_manifests[@]} -gt 0 ]; then
        k apply "${cluster_manifests[@]/#/-f=}" >/dev/null || return
        # A CRD without a status yet is an error to kubectl wait, so it is asked again.
        cluster_wait 30 k wait --for=condition=Established crd --all --timeout=5s || return
    fi
    cluster_run kube-controller-manager kube-controller-manager --kubeconfig="$KUBECONFIG" \
        --secure-port=0 --leader-elect=false --profiling=false \
        --service-account-private-key-file="$cluster_dir/pki/sa.key" \
        --root-ca-file="$cluster_dir/pki/ca.crt" --kube-api-qps=1000 --kube-api-burst=2000 \
        --concurrent-gc-syncs=20 --node-eviction-rate=10 --secondary-node-eviction-rate=10 \
        --horizontal-pod-autoscaler-sync-period=1s
    cluster_run kube-scheduler kube-scheduler --kubeconfig="$KUBECONFIG" --secure-port=0 \
        --leader-elect=false --kube-api-qps=1000 --kube-api-burst=2000 --profiling=false
    cluster_run kwok kwok --kubeconfig="$KUBECONFIG" --manage-all-nodes=false \
        --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --node-ip=127.0.0.1 \
        --cidr=10.128.0.0/14 --node-lease-duration-seconds=40 \
        --config="$cluster_root/tests/api/stages.yaml"
    cluster_nodes "$nodes" || return
    cluster_wait 60 k get serviceaccount default -n default || return
    cluster_wait 60 cluster_schedulable
}
