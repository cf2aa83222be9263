#!/bin/bash
# TIMEOUT: 600
# Open MPI over agents, in three pods made of namespaces: no ssh, no name server. Trains to the bytes
# of `paceline run`; then a rank, mpirun, an agent and a network are lost in turn, and the pods that
# live train the job to its end.
. tests/agent/launch.sh

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
        check "pod $i's port to be tried" "$(in_pod "$i" ss -tlnH)" ":7500 "
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

# lose GENERATION NAME COMMAND...: runs it when the world trains and has saved something; it has twenty seconds
# of training before it on any machine.
sections='"debug":{"gradientSeconds":0.02},'
lose() {
    begin "$1" 3000 failed 0 1 2
    until_true heard '"event":"checkpoint"'
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
check "who was silent" "$(grep -F "$begun\"failed\"" "$said")" '"silent":"w-2-0"'
survivors "a network is cut" 2

sections=
begin 6 3000 "done" 0 1
came "two pods"
check "from where" "$(grep '"event":"start"' "$said" | sed 's/"resumedStep":0[,}]/anew/')" '"resumedStep":'
same_weights "two pods, after four losses" 3000
verdict
