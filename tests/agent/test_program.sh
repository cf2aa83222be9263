#!/bin/bash
# TIMEOUT: 600
# Another MPI program over agents, in three pods made of namespaces. What it prints is the chief's
# log; its end, a rank's failure and a lost daemon are told apart, whatever mpirun exits with. And
# the agent that is put into images that are not ours, in a root with nothing else.
. tests/agent/launch.sh
program=$PACELINE_BUILD/tests/agent/program
engine='orted|prted|mpirun|prterun|tests/agent/program'

# serve I WORD...: the agent of pod I, whose program is given these arguments.
serve() {
    local i=$1
    shift
    pod_start "$i" env COLOR="blue$i" OMPI_MCA_mpi_show_mca_params=0 "${with[@]}" "$agent" serve \
        --key "$dir/ours.key" --scratch "$dir/own/run" --pod "w-$i-0" \
        --termination-log "$dir/own/record" -- "$program" "$@" >"$dir/out$i" 2>"$dir/agent$i.log"
}

# again WORD...: three new pods.
again() {
    pods_stop
    for i in 0 1 2; do serve "$i" "$@"; done
}
pods_stop() {
    local i
    for i in "${!pods_holder[@]}"; do pod_end "$i"; done
    rm -rf "$dir"/pod?
}

# said NAME TEXT: the run's last message has it.
said() { check "$1" "$(grep -F "$begun\"failed\"" "$said")" "$2"; }

# Two ranks in each pod: the first two in the chief's.
with=(PACELINE_RANKS=2)
again "two words" end
begin 1 0 "done" 0 1 2
came "a program"
check "its phase" "$(<"$said")" "$begun\"training\",\"stage\":\"\""
check "its record" "$(<"$said")" '"record":{"uid":"","generation":1}'
[ -e failed ] || wait "${pods_holder[0]}" || fail "the chief's agent ended with $?: $(<agent0.log)"
same "the termination message" "$(<pod0/record)" '{"uid":"","generation":1}'
same "its log" "$(sort out0)" "$(for i in 0 1 2 3 4 5; do
    echo "rank $i of 6: sum 15, host w-$((i / 2)), color blue$((i / 2)), arguments [two words] [end]"
done)"
survivors "a program" 1 2
with=()

# One pod is no other case.
again end
begin 1 0 "done" 0
came "one pod"
check "one pod" "$(<out0)" "rank 0 of 1: sum 0, host w-0"

again exit3
begin 1 0 failed 0 1 2
came "a rank that fails"
said "a rank that fails" '"exit":3,"message":"the program ended with exit code 3"'
survivors "a rank that fails" 0 1 2

# The agent is there for the next generation.
begin 2 0 failed 0 2
came "the next generation"
check "the next generation" "$(<out0)" "rank 1 of 2: sum 1, host w-2"
survivors "the next generation" 0 2

prints() { grep -q "$1" out0; }
kill_in() { pod_pids "$1" "$2" | xargs kill -9; }
# lose NAME COMMAND...: while it waits.
lose() {
    again wait
    begin 1 0 failed 0 1 2
    until_true prints 'rank 2'
    "${@:2}"
    came "$1"
    echo "$1: $(grep -F "$begun\"failed\"" "$said" | sed 's/.*"exit":/exit: /')"
    survivors "$1" 0 1
}
# mpirun of Open MPI 5 exits with 0 then.
lose "a daemon is killed" kill_in 2 '^[^ ]*(orted|prted)'
lose "mpirun is killed" kill_in 0 '^(mpirun|prterun)'
said "mpirun is killed" '"exit":137'
lose "a network is cut" pod_cut 2
said "who was silent" '"silent":"w-2-0"'
lose "a rank is killed" kill_in 1 'tests/agent/program'

# Stopped: each rank is asked by SIGUSR1. One that does not know it ends by it.
stop() {
    local out
    again "$2"
    out=$({
        pods_world 1 0 0 1 2
        until_true prints 'rank 2' >&2
        order stop 1
    } | chief ours --until '"phase":"stopped"')
    check "$1" "$out" '"phase":"stopping"'
    check "$1" "$out" '"message":"the program was stopped"'
    survivors "$1" 0 1 2
}
stop "a program that can be asked" patient
same "ranks that were asked" "$(grep -c 'was asked to stop' out0)" 3
stop "a program that cannot be asked" wait

# What is no Open MPI 4 or 5 is refused by name, before anything is started.
refused() {
    local code
    printf '#!/bin/sh\n%s\n' "$2" >fake/mpirun
    PATH=$dir/fake:$PATH timeout 60 "$agent" serve --listen 127.0.0.1:0 --key ours.key \
        --scratch "$dir/scratch" --pod p-0 --termination-log "$dir/refused" -- true 2>/dev/null
    code=$?
    same "$1: exit code" "$code" 2
    check "$1" "$(<refused)" "$3"
}
mkdir fake
printf '' >fake/mpirun && chmod +x fake/mpirun
refused "MPICH" "echo 'HYDRA build details:'; echo '    Version: 4.2.0'" \
    "this image's mpirun is MPICH's or one made from it (Hydra): spec.mpi needs Open MPI 4 or 5"
refused "an old one" "echo 'mpirun (Open MPI) 3.1.6'" "this image's mpirun is Open MPI 3.1.6: spec.mpi needs"
refused "a stranger" "exit 1" "is of no known MPI"

# The portable agent: its loader and libraries are its own, whatever the image has of that name, also for
# a user who is nobody.
mkdir -p root/{paceline,tmp,dev,proc,theirs}
for library in libc.so.6 libssl.so.3 libcrypto.so.3; do echo theirs >root/theirs/$library; done
"$agent" install "$dir/root/paceline" || exit 1
chmod 1777 root/tmp
chmod 755 "$dir" root
LD_LIBRARY_PATH=/theirs unshare --mount bash -c 'mount --rbind /dev root/dev && mount --rbind /proc root/proc && exec "$@"' in \
    chroot --userspec=4321:0 root /paceline/paceline-agent serve --termination-log /tmp/log -- /bin/program \
    2>portable.log
same "an agent in an empty root" $? 2
check "an agent in an empty root" "$(cat root/tmp/log)" "this image has no mpirun: cannot start mpirun"
verdict
