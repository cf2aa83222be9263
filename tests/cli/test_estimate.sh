#!/bin/bash
# paceline estimate: each output, what it recommends, and bad input. The figures are those of
# tests/unit/test_estimate.c.
. tests/cli/lib.sh

google=(--t-grad 0.763 --t-comm 0.210)
estimate() { "$PACELINE" estimate "$@" 2>errors; }

same "single" "$(estimate "${google[@]}" --type sync-join --server central --output single)" 1.8017
same "single of 4" "$(estimate "${google[@]}" --type async --server central --workers 4 --output single)" 1.6743
same "csv" "$(estimate "${google[@]}" --type sync-split --server distributed --workers 3 --output csv)" \
    "1.0000;1.2899;1.4279"
# Tensors that are placed whole: one server has more than its share.
same "shards of a model" "$(estimate "${google[@]}" --type sync-join --server distributed --workers 2 \
    --model fashion-cnn --output single)" 1.2987

out=$(estimate "${google[@]}" --type async --server central)
check "best and worst" "$out" "at best  at worst  estimate"
check "fastest of one case" "$out" "fastest: 8 workers, async, central: 2.08 times one worker"
out=$(estimate "${google[@]}")
check "a column for each" "$out" "sync-join all-reduce"
if grep -q "async all-reduce" <<<"$out"; then fail "async all-reduce: there is no such thing"; fi
check "fastest of all" "$out" "fastest: 8 workers, sync-join, distributed: 5.40 times one worker"
out=$(estimate --t-grad 0.719 --t-comm 5.153 --workers 4)
check "nothing helps" "$out" "one worker alone, without transfers, is as fast"

estimate "${google[@]}" --output svg >plot.svg
python3 - <<'P' || fail "the drawing"
import xml.etree.ElementTree as t
root = t.parse("plot.svg").getroot()
marks = [e for e in root.iter() if e.get("class", "").startswith("mark")]
assert len(marks) == 8 * 8, len(marks)
P

# All-reduce by algorithm: what the workers of a power of two send.
for case in ring:2.6819 tree:2.6819 recursiveDoubling:2.4165 naive:2.0172; do
    same "$case" "$(estimate --t-grad 0.763 --t-comm 0.25 --type sync-join --server all-reduce --workers 4 \
        --algorithm ${case%:*} --output single)" "${case#*:}"
done

# Times measured here: of a gradient that sleeps, which takes no less; twice the samples, twice the time.
calibrate() { estimate --calibrate job.yaml --set debug.gradientSeconds=0.02 --threads 1 "$@"; }
out=$(calibrate --batch-size 128 --workers 3 --server central) || fail "calibrate: $(cat errors)"
check "what was measured" "$out" "of 64 samples on one worker"
check "what was sent" "$out" "KiB from rank to rank"
check "three workers" "$out" "fastest: "
awk '/^gradient/ { g = $2 } /128 samples/ { twice = $1 / g } /^transfer/ { c = $2 }
    END { exit !(g >= 0.02 && twice > 1.99 && twice < 2.01 && c > 0) }' <<<"$out" || fail "measured: $out"
same "one worker" "$(calibrate --type sync-join --server distributed --workers 1 --output single)" 1.0000
check "measured beside a single number" "$(cat errors)" "gradient  0."
same "nothing left behind" "$(TMPDIR=$PWD/tmp; mkdir tmp; export TMPDIR; calibrate >/dev/null; find tmp -name "paceline-*")" ""
fake
FAKE=error estimate --calibrate job.yaml
same "a failure, exit code" $? 4
check "a failure" "$(cat errors)" "paceline estimate: the loss is nan at step 3"
unset PACELINE_WORKER

bad() { # what, part of the sentence, arguments...
    local what=$1 part=$2
    shift 2
    estimate "$@" >out
    same "exit: $what" $? 2
    same "output: $what" "$(cat out)" ""
    check "$what" "$(cat errors)" "$part"
}
bad "no times" '--t-grad is missing; it takes seconds'
bad "no seconds" '--t-comm is "-1"' --t-grad 1 --t-comm -1
bad "a type" "it takes one of sync-join, sync-split, async" "${google[@]}" --type sync
bad "async all-reduce" "--type async has a server" "${google[@]}" --type async --server all-reduce
bad "no workers" '--workers is "0"; it takes 1 to 1024' "${google[@]}" --workers 0
bad "single of many" "--output single wants --type and --server" "${google[@]}" --output single
bad "a model" '--model is "x"' "${google[@]}" --model x
bad "measured and given" "--calibrate measures what --t-grad and --t-comm say" --calibrate job.yaml --t-comm 1
bad "a batch of nothing" "--threads, --batch-size and --set need --calibrate" "${google[@]}" --batch-size 3
bad "an algorithm" "takes one of tree, ring, recursiveDoubling, naive" "${google[@]}" --algorithm mpi
bad "an operand" "one argument too many: job.yaml" "${google[@]}" job.yaml

verdict
