# shellcheck shell=bash
# A real Kubernetes on this machine: one node with kubelet, containerd, kube-proxy, CNI and CoreDNS,
# in pid, mount and network namespaces of its own. Sourced by scripts/cluster.sh and by
# tests/cluster/lib.sh; needs root.
#
#   cluster_up NAME             KUBECONFIG is then set; with a cluster of that name up, only that
#   cluster_down NAME [keep]    removes every trace; keep: the images stay for the next cluster_up
#   cluster_attach NAME         KUBECONFIG and what the rest needs; fails when it is not up
#   cluster_import FILE.tar...  docker-archives into the node's containerd
#   cluster_node COMMAND...     runs it inside the node (nft, ctr, ip, ...)
#   cluster_signal COMPONENT SIGNAL     kubelet, containerd, kube-apiserver, etcd, ...: see the
#                               folder pid/. One that ends is started again after a second, so KILL
#                               is a restart; STOP and CONT are a node that hangs.
#   cluster_memory              resident MiB of each component
#   k ARGS...                   kubectl as administrator
#
# Outside the namespaces there are: a cgroup, a veth pair with two routes (so that programs of this
# machine reach pods, Services and the API server, and pods reach node_host_ip), and files. Nothing in
# them has a route beyond this machine. Set before, if wanted: CLUSTER_APISERVER_FLAGS,
# CLUSTER_CONTROLLER_FLAGS, CLUSTER_POLICY=0 (NetworkPolicies are then not enforced).
# After a new CRD send kube-controller-manager a KILL: its garbage collector looks for new kinds only
# every 30 s.
cluster_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/api/cluster.sh
source "$cluster_here/../api/cluster.sh"
cluster_cache=${XDG_CACHE_HOME:-$HOME/.cache}/paceline
# Debian's names: the program that shows it is there, and its package.
cluster_packages=(containerd:containerd runc:runc iptables:iptables nft:nftables
    conntrack:conntrack ip:iproute2 nsenter:util-linux curl:curl openssl:openssl gcc:gcc
    buildah:buildah mmdebstrap:mmdebstrap)

# cluster_needs: what a cluster takes is here, or a sentence on standard output and exit code 77.
cluster_needs() {
    local pair missing=
    if [ "$(id -u)" -ne 0 ]; then
        echo "a node needs root: namespaces, mounts and cgroups are made"
        return 77
    fi
    for pair in "${cluster_packages[@]}"; do
        command -v "${pair%:*}" >/dev/null || missing+=" ${pair#*:}"
    done
    if [ -n "$missing" ]; then
        echo "not installed:$missing; scripts/install-deps.sh cluster installs it"
        return 77
    fi
    if [ ! -e /proc/sys/net/bridge ] && ! modprobe br_netfilter 2>/dev/null; then
        echo "this kernel has no br_netfilter: Services would not work between pods of one node"
        return 77
    fi
    cluster_tools || return
    node_tools=$("$cluster_root/scripts/kube-tools.sh" --node) || {
        local status=$?
        echo "$node_tools"
        return $status
    }
    PATH=$node_tools:$PATH
}

# cluster_names NAME: what belongs to the cluster of that name.
cluster_names() {
    if ! [[ $1 =~ ^[a-z][a-z0-9]{0,9}$ ]]; then
        echo "the cluster's name is \"$1\"; allowed are at most 10 small letters and digits" >&2
        return 2
    fi
    node_id=paceline-$1
    node_link=pl-$1
    cluster_dir=$cluster_cache/cluster/$1
    case $cluster_dir in
    /run/* | /var/run/* | /var/lib/* | /var/log/*)
        echo "$cluster_dir would be hidden inside the node; set XDG_CACHE_HOME to another place" >&2
        return 2
        ;;
    esac
    if [ ${#cluster_dir} -gt 80 ]; then
        echo "$cluster_dir is too long for the paths of sockets; set XDG_CACHE_HOME" >&2
        return 2
    fi
}

# cluster_addresses N: the networks of the N-th cluster of this machine.
cluster_addresses() {
    node_host_ip=10.243.$1.1 node_ip=10.243.$1.2
    node_pods=10.244.$1 node_services=10.245.$1
}

cluster_is_up() {
    [ -e "$cluster_dir/up" ] && grep -qx "$(cat "$cluster_dir/init.pid")" < <(cluster_processes)
}

cluster_attach() {
    cluster_names "$1" || return
    cluster_is_up || return
    cluster_addresses "$(cat "$cluster_dir/up")"
    export KUBECONFIG=$cluster_dir/admin.conf
}

cluster_node() { nsenter -t "$(cat "$cluster_dir/init.pid")" -m -p -n -- "$@"; }

cluster_signal() { cluster_node kill -s "$2" "$(cat "$cluster_dir/pid/$1")"; }

# The hierarchies that are mounted: one each on cgroup v1 and mixed systems, one on v2.
cluster_hierarchies() {
    local tasks
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        echo /sys/fs/cgroup
        return
    fi
    for tasks in /sys/fs/cgroup/*/cgroup.procs; do realpath "${tasks%/*}"; done | sort -u
}

# On v1 a new cpuset is empty; on v2 a cgroup gives its children only what it is told to.
cluster_cgroups() {
    local top group controller
    for top in $(cluster_hierarchies); do
        mkdir -p "$top/$node_id/node" || return
        for group in "$top/$node_id" "$top/$node_id/node"; do
            if [ -e "$top/cpuset.cpus" ] && [ -e "$top/cpuset.mems" ]; then
                cat "$top/cpuset.cpus" >"$group/cpuset.cpus" &&
                    cat "$top/cpuset.mems" >"$group/cpuset.mems" || return
            fi
        done
        for group in "$top" "$top/$node_id"; do
            for controller in $(cat "$group/cgroup.controllers" 2>/dev/null); do
                echo "+$controller" >"$group/cgroup.subtree_control" || return
            done
        done
    done
}

cluster_processes() {
    local top
    for top in $(cluster_hierarchies); do
        find "$top/$node_id" -name cgroup.procs -exec cat {} + 2>/dev/null
    done | sort -un
}

# Kubernetes' certificates: file, subject, use, names. All files of one cluster live as long as it.
cluster_pki() {
    local file subject use names pki=$cluster_dir/pki
    [ -e "$pki/done" ] && return
    (
        umask 077
        mkdir -p "$pki" && cd "$pki" || exit
        key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
        key ca && key sa && openssl ec -in sa.key -pubout -out sa.pub &&
            openssl req -x509 -new -key ca.key -days 365 -subj /CN=paceline-cluster -out ca.crt ||
            exit
        while read -r file subject use names; do
            printf 'extendedKeyUsage = %s\n' "$use" >extensions
            if [ -n "$names" ]; then printf 'subjectAltName = %s\n' "$names" >>extensions; fi
            key "$file" &&
                openssl req -new -key "$file.key" -subj "$subject" -out "$file.csr" &&
                openssl x509 -req -in "$file.csr" -CA ca.crt -CAkey ca.key -CAcreateserial \
                    -days 365 -extfile extensions -out "$file.crt" || exit
        done <<TABLE
apiserver /CN=kube-apiserver serverAuth DNS:kubernetes.default.svc,DNS:kubernetes.default,DNS:kubernetes,IP:$node_services.1,IP:$node_ip
apiserver-kubelet /O=system:masters/CN=kube-apiserver clientAuth
admin /O=system:masters/CN=admin clientAuth
controllers /CN=system:kube-controller-manager clientAuth
scheduler /CN=system:kube-scheduler clientAuth
proxy /CN=system:kube-proxy clientAuth
kubelet /O=system:nodes/CN=system:node:$node_id clientAuth
kubelet-server /O=system:nodes/CN=system:node:$node_id serverAuth DNS:$node_id,IP:$node_ip
TABLE
    ) >"$cluster_dir/log/openssl" 2>&1 || return
    for file in admin controllers scheduler proxy kubelet; do
        cluster_kubeconfig "$pki/$file.conf" "client-certificate-data: $(
            base64 -w0 "$pki/$file.crt"
        )
    client-key-data: $(base64 -w0 "$pki/$file.key")" "https://$node_ip:6443" "$pki/ca.crt"
    done
    touch "$pki/done"
}

# cluster_fill FILE: a template of tests/cluster/node on standard output.
cluster_fill() {
    sed "s|@DIR@|$cluster_dir|g; s|@TOOLS@|$node_tools|g; s|@ID@|$node_id|g
        s|@NODE_IP@|$node_ip|g; s|@PODS@|$node_pods|g; s|@SERVICES@|$node_services|g" \
        "$cluster_here/node/$1"
}

# cluster_images: pause and CoreDNS as archives, from our own binaries, once.
cluster_images() {
    local name
    node_images=$cluster_cache/node-images/$(basename "$node_tools")-$(
        sha256sum <"$cluster_here/node/pause.c" | cut -c1-8
    )
    [ -d "$node_images" ] && return
    (
        set -e
        mkdir -p "$cluster_cache/node-images"
        new=$(mktemp -d "$cluster_cache/node-images/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        gcc -Os -static -s -o "$new/pause" "$cluster_here/node/pause.c"
        cp "$node_tools/coredns" "$new/coredns"
        for name in pause coredns; do
            image=$("$cluster_root/scripts/buildah.sh" from scratch)
            "$cluster_root/scripts/buildah.sh" add -q "$image" "$new/$name" /"$name" >/dev/null
            "$cluster_root/scripts/buildah.sh" config --entrypoint "[\"/$name\"]" "$image"
            "$cluster_root/scripts/buildah.sh" commit -q --rm "$image" "localhost/$name:1" >/dev/null
            "$cluster_root/scripts/buildah.sh" push -q "localhost/$name:1" \
                "docker-archive:$new/$name.tar:localhost/$name:1"
        done
        rm "$new/coredns"
        mv -T "$new" "$node_images"
    )
}

# cluster_import FILE...: those that were not imported before.
cluster_import() {
    local file mark
    mkdir -p "$cluster_dir/containerd/imported"
    for file in "$@"; do
        mark=$cluster_dir/containerd/imported/$(basename "$file").$(stat -c %s-%Y "$file")
        [ -e "$mark" ] && continue
        ctr -a "$cluster_dir/containerd.sock" -n k8s.io images import "$file" >>"$cluster_dir/log/import" &&
            touch "$mark" || return
    done
}

cluster_node_start() {
    local top pid
    (
        for top in $(cluster_hierarchies); do
            echo "$BASHPID" >"$top/$node_id/node/cgroup.procs" || exit
        done
        # Nothing else of our environment: a proxy would be a way out.
        exec setsid env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 node_dir="$cluster_dir" \
            node_id="$node_id" node_ip="$node_ip" node_host_ip="$node_host_ip" \
            node_services="$node_services" node_policy="${CLUSTER_POLICY:-1}" \
            node_apiserver_flags="${CLUSTER_APISERVER_FLAGS:-}" \
            node_controller_flags="${CLUSTER_CONTROLLER_FLAGS:-}" \
            unshare --mount --pid --net --fork --kill-child --propagation private \
            "$cluster_here/node/node.sh" 9>&-
    ) </dev/null >"$cluster_dir/log/node" 2>&1 &
    cluster_wait 10 test -s "$cluster_dir/init.pid" || return
    pid=$(cat "$cluster_dir/init.pid")
    ip link add "$node_link" type veth peer name eth0 netns "$pid" &&
        ip address add "$node_host_ip/30" dev "$node_link" &&
        ip link set "$node_link" up &&
        ip route add "$node_pods.0/24" via "$node_ip" &&
        ip route add "$node_services.0/24" via "$node_ip"
}

# cluster_number: the first whose networks nobody on this machine has a route to.
cluster_number() {
    local n net
    for n in $(seq 0 254); do
        for net in 10.243 10.244 10.245; do
            ip -4 route show match "$net.$n.1" | grep -qv '^default' && continue 2
        done
        echo "$n"
        return
    done
    echo "no free networks: 10.243, 10.244 and 10.245 are all routed" >&2
    return 1
}

cluster_prepare() {
    mkdir -p "$cluster_dir"/{etc/cni,log,pid,etcd,kubelet,containerd} || return
    chmod 700 "$cluster_dir/etcd"
    local file
    for file in containerd.toml kubelet.yaml kube-proxy.yaml coredns.yaml; do
        cluster_fill $file >"$cluster_dir/etc/$file" || return
    done
    cluster_fill cni.conflist >"$cluster_dir/etc/cni/10-pods.conflist"
    : >"$cluster_dir/etc/resolv.conf"
    cluster_images && cp "$node_images/pause" "$cluster_dir/pause" && cluster_pki &&
        cp "$cluster_dir/pki/admin.conf" "$cluster_dir/admin.conf" && cluster_cgroups
}

cluster_runtime_answers() { ctr -a "$cluster_dir/containerd.sock" version; }

# A Service's rules come a second after its endpoints.
cluster_dns_answers() { timeout 2 bash -c ": <>/dev/tcp/$node_services.10/53"; }

cluster_policies_hold() {
    [ "${CLUSTER_POLICY:-1}" != 1 ] || cluster_node nft list table ip network_policy
}

# cluster_begin: everything but the lock and the way back.
cluster_begin() {
    local number
    number=$(cluster_number) || return
    cluster_addresses "$number"
    export KUBECONFIG=$cluster_dir/admin.conf
    cluster_prepare && cluster_node_start &&
        cluster_wait 60 cluster_runtime_answers &&
        cluster_import "$node_images"/{pause,coredns}.tar && touch "$cluster_dir/images.ready" &&
        cluster_wait 120 k get --raw /readyz &&
        k apply -f "$cluster_dir/etc/coredns.yaml" >/dev/null &&
        cluster_wait 60 k get node "$node_id" &&
        k wait --for=condition=Ready "node/$node_id" --timeout=60s >/dev/null &&
        cluster_wait 60 k get serviceaccount default -n default &&
        k rollout status -n kube-system deployment/coredns --timeout=60s >/dev/null &&
        cluster_wait 60 cluster_dns_answers && cluster_wait 30 cluster_policies_hold &&
        echo "$number" >"$cluster_dir/up"
}

cluster_up() {
    cluster_names "$1" || return
    mkdir -p "$cluster_cache/cluster"
    (
        flock 9
        cluster_is_up && exit
        cluster_down "$1" keep # what a crash has left
        cluster_begin && exit
        echo "the cluster did not start; the last lines of its logs:" >&2
        tail -n 4 "$cluster_dir"/log/{node,etcd,containerd,kube-apiserver,kubelet} >&2 2>/dev/null
        cluster_down "$1" keep
        exit 1
    ) 9>"$cluster_cache/cluster.lock" || return
    cluster_attach "$1"
}

cluster_groups_removed() {
    local top left=0
    for top in $(cluster_hierarchies); do
        [ -d "$top/$node_id" ] || continue
        find "$top/$node_id" -depth -type d -exec rmdir {} + 2>/dev/null
        [ -d "$top/$node_id" ] && left=1
    done
    return $left
}

cluster_processes_ended() {
    local pids
    mapfile -t pids < <(cluster_processes)
    [ ${#pids[@]} -eq 0 ] && return
    kill -s KILL "${pids[@]}" 2>/dev/null
    return 1
}

cluster_down() {
    cluster_names "$1" || return
    # A disk that is busy holds them up: they end when it has written.
    cluster_wait 120 cluster_processes_ended ||
        echo "processes of $node_id do not end: $(cluster_processes | tr '\n' ' ')" >&2
    ip link delete "$node_link" 2>/dev/null # gone with the namespace, unless there was no node yet
    cluster_wait 30 cluster_groups_removed || echo "cgroups of $node_id are still in use" >&2
    if [ "${2:-}" = keep ] && [ -d "$cluster_dir/containerd" ]; then
        find "$cluster_dir" -mindepth 1 -maxdepth 1 ! -name containerd -exec rm -rf {} +
    else
        rm -rf "$cluster_dir"
    fi
    ! ip link show "$node_link" >/dev/null 2>&1
}

cluster_memory() {
    local file
    for file in "$cluster_dir"/pid/*; do
        printf '%s %s\n' "$(basename "$file")" \
            "$(cluster_node awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$(cat "$file")/status")"
    done
}
