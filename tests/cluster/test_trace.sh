#!/bin/bash
# TIMEOUT: 900
# A cluster leaves nothing behind: neither one that was taken down, nor one that was killed on its
# way up. While it is up this machine's own rules, mounts and sysctls are as they were.
export CLUSTER=trace
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "$0")/lib.sh"
cluster_needs >"$dir/needs" || {
    status=$?
    tail -n 1 "$dir/needs"
    exit $status
}

# machine: what must be the same before, while and after.
machine() {
    grep -E 'kubelet|containerd|/proc/sys/|paceline/cluster' /proc/self/mounts
    nft list ruleset
    (cd /proc/sys && grep -r . net/ipv4/ip_forward net/bridge vm/overcommit_memory kernel/panic*)
}
# traces: all that a cluster of this name has on this machine.
traces() {
    cluster_processes
    ip -brief link show "$node_link" 2>/dev/null
    ip route show | grep -w "$node_link"
    find /sys/fs/cgroup -maxdepth 2 -name "$node_id"
    ls -d "$cluster_dir" 2>/dev/null
}

cluster_names trace
cluster_down trace
same "traces before" "$(traces)" ""
before=$(machine)

trap 'cluster_down trace; rm -rf "$dir"' EXIT
cluster_up trace || fail "no cluster"
same "this machine while the cluster is up" "$(machine)" "$before"
check "a cluster that is up has traces" "$(traces)" "$node_link"
cluster_up trace || fail "up twice"
kill -s KILL "$(cat "$cluster_dir/init.pid")"
cluster_attach trace && fail "a dead cluster is taken for one that is up"
cluster_up trace || fail "no cluster after a crash"
same "the node after a crash" "$(k get nodes -o name)" "node/$node_id"
cluster_down trace
same "traces after" "$(traces)" ""

# Killed on its way up: the shell that starts it and all it has started so far.
setsid bash -c 'source tests/cluster/cluster.sh; cluster_needs && cluster_up trace' \
    </dev/null >"$dir/half" 2>&1 &
half=$!
until_true test -s "$cluster_dir/pid/etcd"
kill -s KILL -- "-$half"
wait "$half" 2>/dev/null
check "a half cluster has traces" "$(traces)" "$node_id"
cluster_down trace
same "traces after a half start" "$(traces)" ""
same "this machine afterwards" "$(machine)" "$before"
verdict
