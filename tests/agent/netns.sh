# shellcheck shell=bash
# Sourced by tests that need pods: network, UTS, IPC, PID and mount namespaces of their own, joined
# by a bridge in one more namespace, where the test itself talks to them. Nothing has a name outside
# and no name server is there; all of it ends with the processes that pods_end ends.
#   pods_begin FOLDER          makes the bridge; what pod I sees as FOLDER/own is FOLDER/podI
#   pod_start I COMMAND...     pod I, address 10.99.0.(I+1), host name w-I; COMMAND is its process 1
#   pod_pid I, pod_pids I PATTERN, pod_cut I, pod_join I, pod_end I, at_bridge COMMAND...
pods_skip() {
    if [ "$(id -u)" -ne 0 ] || ! unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null; then
        echo "namespaces cannot be made: this needs root"
        exit 77
    fi
    if ! command -v ip >/dev/null || ! command -v nsenter >/dev/null; then
        echo "ip (iproute2) and nsenter (util-linux) are not both installed"
        exit 77
    fi
}

pods_begin() {
    pods_dir=$1
    pods_holder=() pods_init=()
    : >"$pods_dir/empty"
    unshare --net sleep infinity &
    pods_bridge=$!
    pods_unshared "$pods_bridge"
    at_bridge ip link add br0 type bridge
    at_bridge ip address add 10.99.0.254/24 dev br0
    at_bridge ip link set br0 up
    at_bridge ip link set lo up
}

# Waits until the process has a network of its own.
pods_unshared() {
    until [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
}

at_bridge() { nsenter --net="/proc/$pods_bridge/ns/net" "$@"; }

pod_address() { echo "10.99.0.$(($1 + 1))"; }

# Waits for its network, and parts from what pods do not share.
pod_main() {
    local i=$1
    shift
    until ip link show eth0 >/dev/null 2>&1; do sleep 0.01; done
    hostname "w-$i"
    ip address add "$(pod_address "$i")/24" dev eth0
    ip link set eth0 address "02:00:00:00:00:0$i" up # a new pod I is found at once
    ip link set lo up
    mount -t tmpfs tmpfs /dev/shm
    mkdir -p "$pods_dir/own" "$pods_dir/pod$i"
    mount --bind "$pods_dir/pod$i" "$pods_dir/own"
    for file in /etc/resolv.conf /etc/hosts; do
        if [ -e $file ]; then mount --bind "$pods_dir/empty" $file; fi
    done
    exec "$@"
}

pod_start() {
    local i=$1
    shift
    export pods_dir
    export -f pod_main pod_address
    unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc \
        bash -c 'pod_main "$@"' pod "$i" "$@" &
    pods_holder[i]=$!
    pods_unshared "${pods_holder[i]}"
    until pods_init[i]=$(cat "/proc/${pods_holder[i]}/task/${pods_holder[i]}/children") &&
        [ -n "${pods_init[i]}" ]; do
        sleep 0.01
    done
    pods_init[i]=${pods_init[i]% }
    at_bridge ip link add "pod$i" type veth peer name eth0 netns "${pods_holder[i]}"
    at_bridge ip link set "pod$i" master br0 up
}

pod_pid() { echo "${pods_init[$1]}"; }
# Processes of pod I whose command line matches; its process 1 is not one of them.
pod_pids() { pgrep --ns "${pods_init[$1]}" --nslist pid -f "$2" | grep -vx "${pods_init[$1]}"; }
# All that it sends and gets is lost; nothing is killed.
pod_cut() { at_bridge ip link set "pod$1" down; }
pod_join() { at_bridge ip link set "pod$1" up; }
in_pod() {
    local init=${pods_init[$1]}
    shift
    nsenter --target "$init" --net --uts --mount --pid "$@"
}

pod_end() {
    kill -9 "${pods_holder[$1]}" "${pods_init[$1]}" 2>/dev/null
    wait "${pods_holder[$1]}" 2>/dev/null
    at_bridge ip link delete "pod$1" 2>/dev/null # else its name is free when the kernel finds the time
    unset "pods_holder[$1]"
}

pods_end() {
    local i
    for i in "${!pods_holder[@]}"; do pod_end "$i"; done
    kill -9 "$pods_bridge" 2>/dev/null
    wait "$pods_bridge" 2>/dev/null
}
