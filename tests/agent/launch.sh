# shellcheck shell=bash
# Sourced by tests that launch Open MPI in pods made of namespaces (netns.sh).
# shellcheck source=tests/agent/lib.sh disable=SC1091
. tests/agent/lib.sh
# shellcheck source=tests/agent/netns.sh disable=SC1091,SC2154
. "$repo/tests/agent/netns.sh"
pods_skip
engine='orted|prted|mpirun|prterun|paceline-worker'
pods_begin "$dir"
trap 'pods_end; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# job STEPS: a TrainingJob on one line, with what tests have in these two.
roles='"worker":{"replicas":3}' sections=
job() {
    echo '{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"launch"},' \
        "\"spec\":{$sections" '"model":{"name":"mlp","hidden":[256,128]},' \
        "\"dataset\":{\"name\":\"idx\",\"path\":\"$dir/data\"}," \
        "\"training\":{\"epochs\":1000,\"steps\":$1,\"batchSize\":64,\"threads\":1}," \
        "\"replicas\":{$roles}}}" | tr -d '\n'
}

# pods_world GENERATION STEPS POD...: the message.
pods_world() {
    local hosts="" i
    for i in "${@:3}"; do
        hosts+=",{\"pod\":\"w-$i-0\",\"host\":\"w-$i\",\"address\":\"$(pod_address "$i")\"}"
    done
    echo "{\"type\":\"world\",\"generation\":$1,\"job\":$(job "$2"),\"hosts\":[${hosts#,}]}"
}

# serve I: the agent of pod I, started by the command in "as" where there is one.
as=()
serve() {
    pod_start "$1" "${as[@]}" "$agent" serve --key "$dir/ours.key" \
        --state "$dir/own/state" --scratch "$dir/own/run" --pod "w-$1-0" \
        --worker "$PACELINE_WORKER" --termination-log "$dir/own/record" 2>"$dir/agent$1.log"
}

chief() { at_bridge "$client" "$(pod_address 0)" 7420 "$dir/$1.key" control "${@:2}"; }

# begin GENERATION STEPS END POD...: sends the world; the operator ($operator) stays until END.
begin() {
    local pods
    pods=$(printf ',"w-%s-0"' "${@:4}")
    said=$dir/said$1
    : >"$said"
    begun="\"generation\":$1,\"pods\":[${pods:1}],\"phase\":"
    awaited="$begun\"$3\""
    pods_world "$1" "$2" "${@:4}" | chief ours --until "$awaited" >"$said" 2>&1 &
    operator=$!
}

heard() { grep -qF "$1" "$said" || ! kill -0 $operator 2>/dev/null; }

over() {
    grep -qF -e "$begun\"done\"" -e "$begun\"stopped\"" -e "$begun\"failed\"" "$said" ||
        ! kill -0 $operator 2>/dev/null
}

# came NAME: the run has come to the end that begin was told, and to no other.
came() {
    until over; do sleep 0.05; done
    grep -qF "$awaited" "$said" || kill $operator 2>/dev/null
    wait $operator || fail "$1: $(tail -n 3 "$said") $(tail -n 5 "$dir"/agent?.log)"
}

clean() { [ -z "$(pod_pids "$1" "$engine")" ] && [ -z "$(ls "$dir/pod$1/run")" ]; }

# survivors NAME POD...: nothing of the run is left there.
survivors() {
    local i
    for i in "${@:2}"; do
        until_true clean "$i" || fail "$1: pod $i still has $(pod_pids "$i" "$engine")"
    done
}

# memory NAME POD: prints what the pod's agent takes, and checks that it is at most 4 MB (a
# sanitizer's own memory would be counted with it).
memory() {
    local pid kib
    case $PACELINE_BUILD in
    *-address | *-thread) return ;;
    esac
    pid=$(pod_pid "$2")
    kib=$(awk '/^(Anonymous|Pss_Shmem):/ { n += $2 } END { print n }' "/proc/$pid/smaps_rollup")
    echo "$1: the agent takes $kib KiB, at most $(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" \
        "KiB with all libraries"
    if [ "$kib" -gt 4096 ]; then fail "$1: the agent takes $kib KiB"; fi
}

last() { printf '%s\n' "$1"/checkpoint-*.safetensors | tail -1; } # the newest one
