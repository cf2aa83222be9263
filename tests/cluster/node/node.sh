#!/bin/bash
# The node's first process, in namespaces of its own (pid, mount, net): prepares them, starts the
# components and becomes pause. Started by tests/cluster/cluster.sh, whose names these are.
set -uo pipefail
: "${node_dir:?}" "${node_id:?}" "${node_ip:?}" "${node_host_ip:?}" "${node_services:?}"
: "${node_policy:?}" "${node_apiserver_flags?}" "${node_controller_flags?}"
here=$(cd "$(dirname "$0")" && pwd)
pki=$node_dir/pki

# /proc is still the host's here, so this is the pid that the host knows.
read -r pid _ </proc/self/stat
echo "$pid" >"$node_dir/init.pid"

# The kubelet insists on these values for the whole machine. It leaves alone what has them already.
sysctls=(vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000)

mounts() {
    local sysctl file
    mount --make-rshared / &&
        mount -t proc proc /proc &&
        mount -t tmpfs -o mode=755 tmpfs /run &&
        mount -t tmpfs tmpfs /var/log &&
        mount -t tmpfs tmpfs /var/lib &&
        mkdir -p /run/{netns,lock,containerd} /var/lib/kubelet &&
        mount --bind "$node_dir/kubelet" /var/lib/kubelet &&
        mount --make-rshared /var/lib/kubelet || return
    # No resolver: an image that is not there is missed at once.
    mount --bind "$node_dir/etc/resolv.conf" /etc/resolv.conf || return
    for sysctl in "${sysctls[@]}"; do
        file=/run/sysctl/${sysctl%=*}
        mkdir -p "${file%/*}"
        echo "${sysctl#*=}" >"$file"
        mount --bind "$file" "/proc/sys/${sysctl%=*}" || return
    done
}

# There is no default route: nothing here reaches beyond this machine. Programs of the node that ask
# for a Service need a route before the rules of kube-proxy apply.
network() {
    until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
    ip link set lo up &&
        ip address add "$node_ip/30" dev eth0 &&
        ip link set eth0 up &&
        ip route add "$node_services.0/24" via "$node_host_ip" &&
        echo 1 >/proc/sys/net/ipv4/ip_forward &&
        echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
}

# component NAME COMMAND...: kept running; one that ends is back after a second.
component() {
    local name=$1
    shift
    while :; do
        "$@" >>"$node_dir/log/$name" 2>&1 &
        echo $! >"$node_dir/pid/$name"
        wait $!
        sleep 1
    done &
}

answers() {
    curl -sf --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" \
        "https://$node_ip:6443/readyz"
}

cd "$node_dir" && mounts && network || exit 1

component etcd etcd --name=e --data-dir="$node_dir/etcd" --unsafe-no-fsync --log-level=warn \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380 \
    --initial-advertise-peer-urls=http://127.0.0.1:2380 --initial-cluster=e=http://127.0.0.1:2380
component containerd containerd --config "$node_dir/etc/containerd.toml" --log-level warn
# shellcheck disable=SC2086 # flags are words
component kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
    --bind-address="$node_ip" --advertise-address="$node_ip" --secure-port=6443 \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --client-ca-file="$pki/ca.crt" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --service-cluster-ip-range="$node_services.0/24" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --allow-privileged=true --profiling=false \
    --kubelet-client-certificate="$pki/apiserver-kubelet.crt" \
    --kubelet-client-key="$pki/apiserver-kubelet.key" \
    --kubelet-certificate-authority="$pki/ca.crt" \
    --kubelet-preferred-address-types=InternalIP \
    --audit-policy-file="$here/audit.yaml" --audit-log-path="$node_dir/log/audit" \
    $node_apiserver_flags
until answers >/dev/null 2>&1; do sleep 0.1; done

# With the default rate the controllers start one after the other for six seconds.
# shellcheck disable=SC2086 # flags are words
component kube-controller-manager kube-controller-manager --kubeconfig="$pki/controllers.conf" \
    --secure-port=0 --leader-elect=false --profiling=false --use-service-account-credentials \
    --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
    --kube-api-qps=300 --kube-api-burst=600 $node_controller_flags
component kube-scheduler kube-scheduler --kubeconfig="$pki/scheduler.conf" --secure-port=0 \
    --leader-elect=false --profiling=false
component kube-proxy kube-proxy --config="$node_dir/etc/kube-proxy.yaml"
if [ "$node_policy" = 1 ]; then
    component policy python3 "$here/policy.py" "https://$node_ip:6443" "$pki"
fi
# A sandbox that finds no image waits for ten seconds.
until [ -e "$node_dir/images.ready" ]; do sleep 0.05; done
component kubelet kubelet --config="$node_dir/etc/kubelet.yaml" \
    --kubeconfig="$pki/kubelet.conf" --hostname-override="$node_id" --node-ip="$node_ip" \
    --cert-dir="$pki"

exec "$node_dir/pause"
