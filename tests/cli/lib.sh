# shellcheck shell=bash
# Sourced by the tests of the commands: a folder of their own, a small job, checks, a verdict.
# PACELINE and PACELINE_WORKER name the programs; the fake worker fails on demand (fake).
set -uo pipefail
export LC_ALL=C TERM=dumb
name=$(basename "$0" .sh)
repo=$PWD
dir=$(mktemp -d)
failed=0
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "$name: $*"
    failed=1
}

# check NAME TEXT PART: PART is in TEXT.
check() {
    case $2 in
    *"$3"*) ;;
    *) fail "$1: \"$2\" lacks \"$3\"" ;;
    esac
}

# same NAME GOT WANT
same() {
    if [ "$2" != "$3" ]; then fail "$1: got \"$2\", want \"$3\""; fi
}

# until_true COMMAND...: waits for it; a test must end, so it gives up after a minute.
until_true() {
    for _ in $(seq 1200); do
        if "$@"; then return 0; fi
        sleep 0.05
    done
    fail "gave up waiting for: $*"
    return 1
}

# gone PID...: none is alive (a zombie is not).
gone() {
    local pid
    for pid in "$@"; do
        case $(ps -o stat= -p "$pid") in
        '' | Z*) ;;
        *) return 1 ;;
        esac
    done
}

# ranks N COMMAND...: runs it as N ranks.
ranks() {
    mpirun -q --oversubscribe --bind-to none -np "$@"
}

fake() { export PACELINE_WORKER="$repo/tests/cli/fake_worker.py"; }

verdict() {
    if [ $failed -eq 0 ]; then echo "PASS $name"; else echo "FAIL $name"; fi
    exit $failed
}

cat >"$dir/job.yaml" <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: small}
spec:
  model: {name: mlp, hidden: [32]}
  dataset: {name: fashion-mnist, limit: 2000}
  training: {epochs: 2, batchSize: 64}
JOB
cd "$dir" || exit
