#!/bin/bash
# The operator's memory among 1,000 objects of the greatest size of each kind, which a tenant made:
# in lists, in watches, and in the answers to its own requests. SHOW=1 prints the figures.
# OBJECTS=n takes another number.
# TIMEOUT: 900
set -uo pipefail
export LC_ALL=C
operator=${PACELINE_OPERATOR:?}
# grep reads to the end: with -q it would leave early, and pipefail would make that a failure of nm.
if nm "$operator" | grep -E '__[at]san_init' >/dev/null; then
    echo "sanitizers take memory of their own"
    exit 77
fi
objects=${OBJECTS:-1000}
bound_kib=$((60 * 1000000 / 1024)) # 60 MB, anonymous and shared memory
unset KUBECONFIG KUBERNETES_SERVICE_HOST
dir=$(mktemp -d)
export HOME=$dir
failed=0
server=
pid=
end() {
    if [ -n "$pid" ]; then kill -KILL "$pid" && wait "$pid"; fi
    if [ -n "$server" ]; then kill -KILL "$server" && wait "$server"; fi
    rm -rf "$dir"
} 2>/dev/null
trap end EXIT

fail() {
    echo "test_memory: $*"
    failed=1
}

# get PORT PATH: the body of a page; nothing when nobody answers.
get() {
    python3 - "$1" "$2" <<'PYTHON'
import sys, urllib.request
try:
    print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[2]}", timeout=20).read().decode())
except OSError:
    pass
PYTHON
}
state() { get "$port" /state | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

# at_least NAME N: waits until the server counts so many.
at_least() {
    local now=
    for _ in $(seq 1200); do
        now=$(state "$1")
        if [ "${now:-0}" -ge "$2" ]; then return; fi
        if ! kill -0 "$pid"; then break; fi
        sleep 0.25
    done
    fail "$what: $1 is ${now:-unknown}, want $2: $(tail -n 5 "$dir/log")"
}

field() { awk -v want="$2" '{ sub(":", "", $1) } $1 == want { print $2 }' "/proc/$pid/$1"; }

# measure WHAT PODS JOBS: begins a server and an operator. Then the caller waits, and calls measured.
measure() {
    what=$1
    exec {in}> >(exec python3 tests/operator/hostile_server.py "$objects" "$2" "$3" >"$dir/port" 2>"$dir/server")
    server=$!
    until [ -s "$dir/port" ]; do sleep 0.1; done
    port=$(cat "$dir/port")
    cat >"$dir/config" <<CONFIG
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: team}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:$port"}}]
users: [{name: u, user: {token: t}}]
CONFIG
    head -c 32 /dev/urandom >"$dir/key"
    PACELINE_MASTER_KEY_FILE=$dir/key "$operator" --kubeconfig "$dir/config" --all-namespaces \
        --no-leader-election --web-address none >"$dir/log" 2>&1 &
    pid=$!
}

# The peak of anonymous memory: the high-water mark without the pages of files.
measured() {
    local peak now file
    sleep 3 # what is still under way
    if ! kill -0 "$pid"; then fail "$what: the operator ended: $(tail -n 5 "$dir/log")"; fi
    file=$(field status RssFile)
    peak=$(($(field status VmHWM) - file))
    now=$(awk '/^(Anonymous|Pss_Shmem):/ { n += $2 } END { print n }' "/proc/$pid/smaps_rollup")
    echo "$what: $objects objects: peak $peak KiB, now $now KiB (anonymous and shared memory);" \
        "VmHWM $(field status VmHWM) KiB; CPU $(awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat") s"
    if [ "$peak" -gt $bound_kib ]; then fail "$what: peak $peak KiB, at most $bound_kib are allowed"; fi
    kill -TERM "$pid"
    wait "$pid" || fail "$what: exit $?"
    exec {in}>&-
    wait "$server"
    pid=
    server=
    rm "$dir/port"
}

measure "pods and services" hostile none
at_least listed $((2 * objects))
at_least watched $((2 * objects / 5))
at_least patched $((objects / 5)) # it asks for their jobs, which are not there, and lets them go
measured

measure "jobs that are refused" none refused
at_least listed "$objects"
at_least watched $((objects / 5))
at_least patched $((objects / 5)) # their status says why
measured

measure "the greatest jobs" none greatest
at_least listed "$objects"
at_least watched $((objects / 5))
at_least patched "$objects"
measured

if [ $failed -eq 0 ]; then echo "PASS test_memory"; else echo "FAIL test_memory"; fi
exit $failed
