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

# on_terminal COMMAND...: the bytes that a terminal gets.
on_terminal() {
    python3 - "$@" <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.environ["LC_ALL"] = "C.UTF-8"
    os.execv(sys.argv[1], sys.argv[1:])
data = b""
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:
        part = b""
    if not part:
        break
    data += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(data)
PY
}

# harmless NAME TEXT: beside line ends and the bar's own commands, no byte that a terminal obeys.
harmless() {
    printf '%s' "$2" | python3 -c '
import re, sys
text = sys.stdin.buffer.read().decode().rstrip("\r")  # fails where it is no UTF-8
text = re.sub(r"\r\x1b\[K|\x1b\[(0|1|2|32)m|\r\n", "", text)
bad = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
sys.exit(f"control characters: {bad}" if bad else 0)' || fail "$1: harmful"
}

# timeless: events without when they were sent, which is all that may differ between two equal runs.
timeless() { sed 's/,"time":"[^"]*"}$/}/'; }

# ranks N COMMAND...: runs it as N ranks.
ranks() {
    mpirun --oversubscribe --bind-to none -np "$@"
}

# idx_data: images to learn from quickly, in data: 270, and 40 to test with.
idx_data() {
    mkdir data
    python3 "$repo/tests/cli/make_idx.py" data 270 40 || exit 1
}

# idx_job NAME EPOCHS CHECKPOINT: job.yaml over idx_data; five batches in an epoch.
idx_job() {
    idx_data
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model: {name: mlp, hidden: [20]}
  dataset: {name: idx, path: data}
  training: {epochs: $2, batchSize: 64, lanes: 8, threads: 1, optimizer: {name: adam}}
  checkpoint: {$3}
JOB
}

# words_data: a text in which each word but the first of a line follows from the one before it, in data.
words_data() {
    mkdir data
    python3 "$repo/tests/cli/make_words.py" data || exit 1
}

# words_job NAME CHECKPOINT: job.yaml over words_data.
words_job() {
    words_data
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model:
    layers:
      - {type: embedding, vocabulary: 12, units: 18}
      - {type: tanh}
      - {type: lstm, units: 19}
      - {type: dropout, rate: 0.1}
      - {type: lstm, units: 16, forgetBias: 1}
      - {type: dense, units: 12}
  dataset: {name: text, path: data, steps: 7}
  training: {epochs: 3, batchSize: 12, lanes: 4, threads: 1, clipNorm: 5,
             optimizer: {name: sgd, momentum: 0, learningRate: 0.5}}
  checkpoint: {$2}
JOB
}

# conv_job NAME [LINE]: job.yaml of layers of many kinds over idx_data; nine batches in an epoch. LINE goes
# into its spec.
conv_job() {
    idx_data
    cat >job.yaml <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  model:
    layers:
      - {type: conv, filters: 20, kernel: 5, padding: same}
      - {type: relu}
      - {type: maxpool, kernel: 2, stride: 2}
      - {type: flatten}
      - {type: dense, units: 70}
      - {type: relu}
      - {type: dropout, rate: 0.4}
      - {type: dense, units: 4}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 32, lanes: 8, threads: 1}
  checkpoint: {best: false}
  ${2:-}
JOB
}

# result NAME [ENV=VALUE...] ARGUMENTS...: trains job.yaml into the folder NAME; the digest of its last
# checkpoint.
result() {
    local out=$1 extra=()
    shift
    while [[ ${1:-} =~ ^[A-Z_]+= ]]; do extra+=("$1") && shift; done
    env "${extra[@]}" "$PACELINE" run job.yaml --out "$out" "$@" >"$out.log" 2>&1 ||
        { local code=$?; cat "$out.log"; echo "exit code $code"; return; }
    sha256sum <"$(find "$out" -name 'checkpoint-*.safetensors' | sort | tail -1)"
}

# one_order [ARGUMENTS...]: job.yaml trains to the same file on 1 to 4 ranks, 1 and 2 threads and every
# instruction set, ARGUMENTS being options of all of these runs; its sum becomes `want`.
one_order() {
    local n isa got
    want=$(result base "$@")
    check "the first run" "$want" "  -"
    for n in 2 3 4; do same "$n ranks" "$(result "ranks$n" --workers $n "$@")" "$want"; done
    same "2 threads" "$(result threads --set training.threads=2 "$@")" "$want"
    for isa in c avx2 avx512 neon; do
        got=$(result "isa-$isa" "PACELINE_ISA=$isa" "$@")
        case $got in *"PACELINE_ISA=$isa"*) echo "this CPU has no $isa" ;; *) same "$isa" "$got" "$want" ;; esac
    done
}

# free_strategies [ARGUMENTS...]: job.yaml trains to its end where workers are not alike, too.
free_strategies() {
    local s
    for s in "type: ParameterServer, mode: async" "type: LocalSGD" "type: ElasticAveraging"; do
        check "$s" "$(result "free-${s//[^A-Za-z]/}" --workers 2 --set "strategy={$s}" \
            --set "replicas.ps.replicas=$([[ $s = *async* ]] && echo 1 || echo 0)" "$@")" "  -"
    done
}

# last_field NAME: of the last event in the file events.
last_field() { tail -1 events | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

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
