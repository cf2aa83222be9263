#!/bin/bash
# TIMEOUT: 600
# Open MPI over agents, in three pods made of namespaces: no ssh, no name server. Trains to the bytes
# of `paceline run`; then a rank, mpirun, an agent and a network are lost in turn, and the pods that
# live train the job to its end.
. tests/agent/lib.sh
. "$repo/tests/agent/netns.sh"
pods_skip
engine='orted|prted|mpirun|prterun|paceline-worker'
pods_begin "$dir"
trap 'pods_end; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

# job STEPS: a TrainingJob on one line.
job() {
    echo '{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"launch"},' \
        '"spec":{"model":{"name":"mlp","hidden":[256,128]},' \
        "\"dataset\":{\"name\":\"idx\",\"path\":\"$dir/data\"}," \
        "\"training\":{\"epochs\":1000,\"steps\":$1,\"batchSize\":64,\"threads\":1}," \
        '"replicas":{"worker":{"replicas":3}}}}' | tr -d '\n'
}

# pods_world GENERATION STEPS POD...: the message.
pods_world() {
    local hosts="" i
    for i in "${@:3}"; do
        hosts+=",{\"pod\":\"w-$i-0\",\"host\":\"w-$i\",\"address\":\"$(pod_address "$i")\"}"
    done
    echo "{\"type\":\"world\",\"generation\":$1,\"job\":$(job "$2"),\"hosts\":[${hosts#,}]}"
}

serve() {
    pod_start "$1" "$agent" serve --key "$dir/ours.key" --certificate "$dir/ours.crt" \
        --state "$dir/own/state" --scratch "$dir/own/run" --pod "w-$1-0" \
        --worker "$PACELINE_WORKER" --termination-log "$dir/own/record" 2>"$dir/agent$1.log"
}

chief() { at_bridge "$client" "$(pod_address 0)" 7420 "$dir/$1.key" "$dir/$1.crt" control "${@:2}"; }

# begin GENERATION STEPS END POD...: sends the world; the operator ($operator) stays until END.
begin() {
    local pods
    pods=$(printf ',"w-%s-0"' "${@:4}")
    said=$dir/said$1
    : >"$said"
    begun="\"generation\":$1,\"pods\":[${pods:1}],\"phase\":"
    pods_world "$1" "$2" "${@:4}" | chief ours --until "$begun\"$3\"" >"$said" 2>&1 &
    operator=$!
}

heard() { grep -qF "$1" "$said" || ! kill -0 $operator 2>/dev/null; }

# came NAME: the run has come to the end that begin was told.
came() {
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

last() { ls "$1"/checkpoint-*.safetensors | tail -1; }

# same_weights NAME STEPS: of the chief as of three workers on one host.
same_weights() {
    job "$2" >local.json
    "$PACELINE" run local.json --workers 3 --out "local$2" >local.log 2>&1 ||
        fail "$1: paceline run: $(tail -n 3 local.log)"
    cmp "$(last "local$2")" "$(last pod0/state)" || fail "$1: the weights differ"
}

# Rank i is in pod i, and listens on no port of its network but those that are documented.
check_ranks() {
    local i pid
    for i in 0 1 2; do
        pid=$(pod_pids "$i" '^[^ ]*paceline-worker')
        same "rank in pod $i" "$(tr '\0' '\n' <"/proc/$pid/environ" |
            sed -n 's/^OMPI_COMM_WORLD_RANK=//p')" "$i"
        same "ports in pod $i" "$(in_pod "$i" ss -tlnH | awk '$4 !~ /^(127\.|\[::1\])/ {
            sub(/.*:/, "", $4); if ($4 < 7420 || $4 > 7999) print $4 }')" ""
    done
}

mkdir data
python3 "$repo/tests/cli/make_idx.py" data 6400 64 || exit 1
for i in 0 1 2; do serve $i; done

echo '{"type":"kill","generation":1}' | chief foreign --until type >stranger.out 2>&1 &&
    fail "a stranger with another key got $(cat stranger.out)"
grep -q '"type"' stranger.out && fail "a stranger with another key got $(cat stranger.out)"

begin 1 60 "done" 0 1 2
came "three pods"
echo "launch: $(sed -n 's/.*"firstStep".*"seconds":\([0-9.]*\).*/\1/p' "$said") s" \
    "from the world to the first step"
survivors "three pods" 1 2
wait "${pods_holder[0]}" || fail "the chief's agent ended with $?"
same_weights "three pods" 60
rm -rf pod?/state pod?/run
serve 0

# lose GENERATION NAME COMMAND...: runs it when the world trains.
lose() {
    begin "$1" 3000 failed 0 1 2
    until_true heard "$begun\"training\""
    if [ "$1" = 2 ]; then check_ranks; fi
    "${@:3}"
    came "$2"
    echo "$2: $(grep -F "$begun\"failed\"" "$said" | sed 's/.*"message":/message: /')"
    survivors "$2" 0 1
}
kill_in() { pod_pids "$1" "$2" | xargs kill -9; }
lose 2 "a rank is killed" kill_in 1 '^[^ ]*paceline-worker'
survivors "a rank is killed" 2
lose 3 "mpirun is killed" kill_in 0 '^(mpirun|prterun)'
survivors "mpirun is killed" 2
lose 4 "an agent is killed" kill -9 "$(pod_pid 2)"
pod_end 2
rm -rf pod2/run
serve 2
lose 5 "a network is cut" pod_cut 2
survivors "a network is cut" 2

begin 6 3000 "done" 0 1
came "two pods"
same_weights "two pods, after four losses" 3000
verdict
