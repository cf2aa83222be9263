#!/bin/bash
# TIMEOUT: 300
# Strangers who open connections as fast as they can, from one address: they push out nobody from
# another one, hold few descriptors, and a launch goes on. Prints by how much it is later.
. tests/agent/lib.sh
ROUNDS=7
start_agent --worker "$PACELINE_WORKER"
mkdir data
python3 "$repo/tests/cli/make_idx.py" data 640 64 || exit 1

# A connection that is there first and silent, 300 that begin TLS and 300 silent ones from elsewhere:
# it then gets its hello. A stranger has two seconds: a try that took longer says nothing.
cat >first.py <<'PYTHON'
import os, socket, subprocess, sys, threading, time
sys.path.insert(0, sys.argv[3])
client = sys.argv[4]
sys.argv[3:] = ["silent", "0"]
from flood import client_hello, connect
port = int(sys.argv[2])


def relay(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def hello(agent):
    """What the agent says to the client that has the key and speaks through this connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [client, "127.0.0.1", str(server.getsockname()[1]), "ours.key", "control", "--until", "hello"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            ours, _ = server.accept()
            for pair in ((agent, ours), (ours, agent)):
                threading.Thread(target=relay, args=pair, daemon=True).start()
            return process.communicate()[0]


def answer(deadline):
    first = socket.create_connection(("127.0.0.1", port))
    crowd = []
    for _ in range(300):
        crowd.append(connect("127.0.0.1", port))
        time.sleep(0.0005)
        try:
            crowd[-1].send(client_hello())
        except OSError:
            pass
    crowd += [connect("127.0.0.1", port) for _ in range(300)]
    said = hello(first)
    if time.monotonic() > deadline:
        return None
    print(said)
    print("descriptors", len(os.listdir(f"/proc/{sys.argv[1]}/fd")))
    return said


if not any(answer(time.monotonic() + 1.9) for _ in range(50)):
    print("the machine is too busy for 600 connections in two seconds")
PYTHON
out=$(python3 first.py "$agent_pid" "$port" "$repo/tests/agent" "$client" 2>&1)
check "who came first" "$out" '"type":"hello"'
held=$(sed -n 's/^descriptors //p' <<<"$out")
# Its own dozen, PENDING_CONNS_PER_SOURCE, SERVER_PER_SOURCE, and some that a step has just accepted.
if [ "${held:-999}" -gt 60 ]; then fail "strangers of one address hold $held descriptors"; fi

job='{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"flood"},"spec":{"model":'
job+='{"name":"mlp","hidden":[32]},"dataset":{"name":"idx","path":"'$dir'/data"},"training":'
job+='{"epochs":1000000,"threads":1},"replicas":{"worker":{"replicas":1}}}}'
generation=0
launch() { # appends the seconds from connecting to the first step's report to the file $1
    local begin=$EPOCHREALTIME
    generation=$((generation + 1))
    talk "$(phase $generation training)" "{\"type\":\"world\",\"generation\":$generation,\"job\":$job,\"hosts\":[{\"pod\":\"p-0\",\"host\":\"h\",\"address\":\"127.0.0.1\"}]}" >/dev/null
    awk "BEGIN { print $EPOCHREALTIME - $begin }" >>"$1"
    talk "$(phase $generation failed)" "$(order kill $generation)" >/dev/null
}
median() { sort -g "$1" | sed -n $((ROUNDS / 2 + 1))p; }

# The same flood at another agent takes the same share of the machine.
own_pid=$agent_pid own_port=$port
start_agent --pod p-1 --state "$dir/other" --scratch "$dir/other"
other_pid=$agent_pid other_port=$port agent_pid=$own_pid port=$own_port
flood=
trap 'kill -9 $other_pid $flood; stop_agent; rm -rf "$dir"' EXIT
flooded() { # PORT FILE: launches while the port is flooded
    nice -n 10 python3 "$repo/tests/agent/flood.py" 127.0.0.1 "$1" "$how" 1000000 &
    flood=$!
    for _ in $(seq $ROUNDS); do launch "$2"; done
    kill $flood
    wait $flood 2>/dev/null
    flood=
}

launch warm
for how in silent hello; do
    flooded "$other_port" other.$how
    flooded "$port" own.$how
    rate=$(python3 "$repo/tests/agent/flood.py" 127.0.0.1 "$port" $how 1)
    own=$(median own.$how) other=$(median other.$how)
    echo "$how, $rate connections per second: launch in $own s, in $other s when another agent" \
        "gets them, ratio $(awk "BEGIN { printf \"%.2f\", $own / $other }")"
done
verdict
