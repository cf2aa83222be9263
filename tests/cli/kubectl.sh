# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh has repo and dir
# Sourced after lib.sh by tests of what asks kubectl: a fake one, first in PATH.
mkdir -p "$dir/bin" "$dir/fake"
ln -s "$repo/tests/cli/fake_kubectl.py" "$dir/bin/kubectl"
export PATH=$dir/bin:$PATH FAKE_KUBECTL=$dir/fake

# calls: how kubectl was called since the last `answers`, one line each, without input.
calls() { python3 -c '
import json, sys
for line in open(sys.argv[1]):
    print(*json.loads(line)["args"])' fake/calls.jsonl; }
# called NAME FIELD: of the only call, or the last one.
called() { python3 -c '
import json, sys
print([c for c in map(json.loads, open("fake/calls.jsonl")) if c["name"] == sys.argv[1]][-1][sys.argv[2]])' "$@"; }
# answers: none from now on.
answers() { rm -f fake/*; }
# status STATE STEP [RATE]: what a job says of itself.
conditions() {
    local type=$1 status=$2 message=$3
    echo "\"conditions\":[{\"type\":\"Created\",\"status\":\"True\",\"message\":\"accepted\"},
        {\"type\":\"$type\",\"status\":\"$status\",\"message\":\"$message\"}]"
}
# tj FILE CONDITION STATUS MESSAGE [STEP RATE]
tj() {
    echo "{\"kind\":\"TrainingJob\",\"spec\":{\"model\":{\"name\":\"mlp\"}${spec:+,$spec}},\"status\":{
        $(conditions "$2" "$3" "$4"), \"launch\":{\"generation\":${generation:-1}}, \"progress\":{
        \"epoch\":1,\"epochs\":5,\"step\":${5:-0},\"samplesPerSecond\":${6:-0},\"etaSeconds\":65}}}" >"fake/$1"
}
