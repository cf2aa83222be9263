#!/bin/bash
# The whole program where no API server answers: it lives, says so, is not ready, tries again and
# ends when told to.
set -uo pipefail
export LC_ALL=C
operator=${PACELINE_OPERATOR:?}
unset PACELINE_MASTER_KEY_FILE KUBECONFIG KUBERNETES_SERVICE_HOST
dir=$(mktemp -d)
export HOME=$dir
failed=0
declare -A pids=() # that were not waited for
end() {
    for pid in "${!pids[@]}"; do
        kill -KILL "$pid" && wait "$pid" # wait: or bash would tell of it
    done 2>/dev/null
    rm -rf "$dir"
}
trap end EXIT

fail() {
    echo "test_web: $*"
    failed=1
}

until_true() {
    for _ in $(seq 600); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    fail "gave up waiting for: $*"
    return 1
}

# A port that is free, and one that nobody answers on.
ports=$(python3 - <<'PYTHON'
import socket
held = [socket.socket() for _ in range(2)]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))
PYTHON
)
read -r port dead <<<"$ports"

cat >"$dir/config" <<CONFIG
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: team}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:$dead"}}]
users: [{name: u, user: {token: not-a-secret-but-must-not-be-logged}}]
CONFIG

# start ARGS...: in the background; its pid in pid.
start() {
    "$operator" --kubeconfig "$dir/config" --web-address "127.0.0.1:$port" "$@" >"$dir/log" 2>&1 &
    pid=$!
    pids[$pid]=1
}

# status PATH [METHOD]
status() {
    python3 - "$port" "$1" "${2:-GET}" <<'PYTHON'
import http.client, sys
try:
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    c.request(sys.argv[3], sys.argv[2])
    r = c.getresponse()
    print(r.status, r.read().decode())
except OSError as e:
    print(0, e)
PYTHON
}
answers() { [[ $(status "$1") == "$2 "* ]]; }
said() { grep -q -- "$1" "$dir/log"; }

# exits STATUS PID
exits() {
    wait "$2"
    local got=$?
    unset "pids[$2]"
    if [ $got -ne "$1" ]; then fail "exit $got, want $1: $(cat "$dir/log")"; fi
}

start --log-level debug
until_true answers /healthz 200
[[ $(status /readyz) == "503 not every kind"* ]] || fail "readyz: $(status /readyz)"
[[ $(status /metrics) == "200 "*"paceline_synced 0"* ]] || fail "metrics: $(status /metrics)"
[[ $(status /metrics POST) == "405 "* ]] || fail "POST: $(status /metrics POST)"
[[ $(status /) == "404 "* ]] || fail "/: $(status /)"
until_true said "master key: cannot read Secret team/paceline-operator-key"
if said not-a-secret; then fail "the token is in the log"; fi

# The control loop publishes each second and the web thread takes it: ThreadSanitizer must see some.
for _ in $(seq 12); do
    answers /metrics 200 || fail "metrics: $(status /metrics)"
    sleep 0.25
done

# A second one cannot have the address, and says which.
"$operator" --kubeconfig "$dir/config" --web-address "127.0.0.1:$port" >"$dir/second" 2>&1
got=$?
if [ $got -ne 5 ] || ! grep -q "127.0.0.1:$port.*in use" "$dir/second"; then
    fail "address in use: exit $got: $(cat "$dir/second")"
fi
kill -HUP "$pid" # ignored
until_true answers /healthz 200
kill -TERM "$pid"
exits 0 "$pid"

# With the key in a file it needs no Secret; SIGINT ends it too.
head -c 32 /dev/urandom >"$dir/key"
PACELINE_MASTER_KEY_FILE=$dir/key start
until_true answers /healthz 200
kill -INT "$pid"
exits 0 "$pid"
if said paceline-operator-key; then fail "asked for the Secret though there is a file"; fi

# Files that cannot be a key.
head -c 31 "$dir/key" >"$dir/short"
start --master-key-file "$dir/short"
exits 2 "$pid"
said "$dir/short has fewer than 32 bytes" || fail "short key: $(cat "$dir/log")"
start --master-key-file "$dir/none"
exits 3 "$pid"

# An API server that takes requests and never answers: the Lease is asked for when the signal comes,
# and the second signal does not wait for it.
python3 - "$dead" "$dir/asked" "$dir/listens" <<'PYTHON' &
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[3], "w").close()
held = []
while True:
    held.append(server.accept()[0])
    held[-1].recv(1)
    open(sys.argv[2], "w").close()
PYTHON
pids[$!]=1
until_true test -e "$dir/listens"
rm -f "$dir/asked"
start --master-key-file "$dir/key" --lease-duration 60s --renew-deadline 50s --retry-period 40s \
    --request-timeout 40s
until_true test -e "$dir/asked"
kill -TERM "$pid"
until_true said stopping
kill -TERM "$pid"
exits 130 "$pid"
# One signal waits for at most 10 s.
rm -f "$dir/asked"
start --master-key-file "$dir/key" --lease-duration 60s --renew-deadline 50s --retry-period 40s \
    --request-timeout 40s
until_true test -e "$dir/asked"
kill -TERM "$pid"
exits 0 "$pid"
said "stopping took longer" || fail "did not wait: $(cat "$dir/log")"

# Without a web thread nothing listens.
start --web none
until_true said starting
answers /healthz 0 || fail "--web none serves: $(status /healthz)"
kill -TERM "$pid"
exits 0 "$pid"

if [ $failed -eq 0 ]; then echo "PASS test_web"; fi
exit $failed
