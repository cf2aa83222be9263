#!/bin/bash
# TIMEOUT: 300
# Checkpoints of a world of several hosts, each with a folder of its own: the second copy, and which
# of them a run continues from. Hosts are made of PACELINE_HOST, a folder per rank by a wrapper.
# LANE: waiting
. tests/cli/lib.sh

idx_job mirror 2 "everyEpochs: 0, everySteps: 2, keep: 1"
# HOSTS says on which host each rank is; host x has the folder x.
cat >on_host <<'WRAPPER'
#!/bin/bash
set -- $HOSTS -- "$@"
shift "${OMPI_COMM_WORLD_RANK:-0}"
export PACELINE_HOST=$1
while [ "$1" != -- ]; do shift; done
shift
exec "$PACELINE_WORKER" run --spec "${JOB:-job.yaml}" --out "$PACELINE_HOST" "$@"
WRAPPER
chmod +x on_host
# engine HOSTS ARGUMENT...: one rank per host named; the events go to events, the log to log.
engine() {
    export HOSTS=$1
    # shellcheck disable=SC2086
    set -- "$(wc -w <<<"$HOSTS")" "$@"
    ranks "$1" ./on_host "${@:3}" >events 2>log
}
files() { (cd "$1" 2>/dev/null && ls) | sed 's/checkpoint-0*//; s/.safetensors//' | sort -n | xargs; }
# stopped HOSTS ARGUMENT...: one step of it.
# shellcheck disable=SC2154 # lib.sh has dir
stopped() { PACELINE_STOP_FILE=$dir/job.yaml engine "$@"; }
resumed() { sed -n 's/.*"resumedStep":\([0-9]*\).*/\1/p' events; }

engine a
want=$(sha256sum <a/checkpoint-00000010.safetensors)
rm -rf a

# One host: no second copy. Two and three: one, on the lowest rank that is elsewhere.
engine "a a" --mirror
same "one host" "$?$(files a)" "0best 8 10"
case $(cat events) in *mirrorRank*) fail "one host has a mirror" ;; esac
rm -rf a
engine "a a b c" --mirror
same "three hosts" "$?$(files a),$(files b),$(files c)" "0best 8 10,best 8 10,"
check "three hosts" "$(cat events)" '"mirrorRank":2,'
same "the copy" "$(sha256sum <b/checkpoint-00000010.safetensors)" "$want"
same "the original" "$(sha256sum <a/checkpoint-00000010.safetensors)" "$want"
rm -rf a b c
engine "a b"
same "not asked for" "$?$(files b)" 0
rm -rf a b

# The first host is lost after four steps; the training goes on from the copy, on other hosts too.
for _ in 1 2 3 4; do stopped "a b" --mirror --resume-if-any; done
same "four steps" "$(last_field event) $(last_field step) $(files a)" "stopped 4 3 4"
rm -rf a
cp -a b b.4
for hosts in "a b" "c b" "b" "c d b"; do
    rm -rf a b c d
    cp -a b.4 b
    engine "$hosts" --mirror --resume-if-any
    same "on $hosts" "$?$(resumed) $(last_field event)" "04 done"
    same "on $hosts, bytes" \
        "$(sha256sum <"${hosts%% *}/checkpoint-00000010.safetensors")" "$want"
done

# The newest of all ranks counts.
rm -rf a b c d
mkdir a
cp b.4/checkpoint-00000003.safetensors a
cp -a b.4 b
engine "a b" --resume
same "the newest" "$?$(resumed) $(last_field event)" "04 done"

# A damaged one is skipped, for the copy of the same step, else for the one before.
damage() {
    case $1 in
    cut) truncate -s -40 "$2" ;;
    empty) truncate -s 0 "$2" ;;
    flipped) printf X | dd of="$2" bs=1 seek=20000 conv=notrunc status=none ;;
    esac
}
for how in cut empty flipped; do
    rm -rf a b
    cp -a b.4 a
    cp -a b.4 b
    damage $how a/checkpoint-00000004.safetensors
    engine "a b" --resume-if-any
    same "$how, the copy" "$?$(resumed) $(last_field event)" "04 done"
    check "$how, the copy" "$(cat log)" "skipped a checkpoint: a/checkpoint-00000004.safetensors: "
    same "$how, the copy, bytes" "$(sha256sum <a/checkpoint-00000010.safetensors)" "$want"
    rm -rf a b
    cp -a b.4 b
    damage $how b/checkpoint-00000004.safetensors
    engine "a b b" --resume-if-any
    same "$how, the one before" "$?$(resumed) $(last_field event)" "03 done"
    same "$how, the one before, bytes" "$(sha256sum <a/checkpoint-00000010.safetensors)" "$want"
    rm -rf a b
    cp -a b.4 b
    damage $how b/checkpoint-00000004.safetensors
    damage $how b/checkpoint-00000003.safetensors
    engine "a b" --resume-if-any
    same "$how, all of them" "$?$(resumed) $(last_field event)" "00 done"
    same "$how, all of them, bytes" "$(sha256sum <a/checkpoint-00000010.safetensors)" "$want"
    rm -rf a b
    cp -a b.4 b
    damage $how b/checkpoint-00000004.safetensors
    engine "a b" --resume
    same "$how, not skipped" "$?$(last_field code)" 33
    check "$how, not skipped" "$(cat events)" "b/checkpoint-00000004.safetensors: "
done

# Another job's is never skipped; nothing at all is refused by --resume alone.
rm -rf a b
cp -a b.4 b
sed 's/batchSize: 64/batchSize: 32/' job.yaml >other.yaml
JOB=other.yaml engine "a b" --resume-if-any
same "another job" "$?$(last_field code)" 22
check "another job" "$(cat events)" "written with spec.training.batchSize 64, but the job has 32"
rm -rf a b
engine "a b" --resume
same "nothing" "$?$(last_field code)" 33
check "nothing" "$(cat events)" "no checkpoint to resume from"

# A copy that cannot be written is not the end; what a killed writer left behind goes.
rm -rf a b
touch b
mkdir a
touch a/checkpoint-00000004.safetensors.tmp.123 a/mine.tmp.123 a/best.safetensors.tmp.4
touch -d '2 hours ago' a/best.safetensors.tmp.1 a/model.safetensors.tmp.2 a/other.safetensors.tmp.3
engine "a b" --mirror
same "no second copy" "$?$(last_field event)" 0done
check "no second copy" "$(cat log)" "no second copy of the checkpoint: b/checkpoint-00000002"
same "left over" "$(find a -name '*.tmp.*' | sort | xargs)" \
    "a/best.safetensors.tmp.4 a/mine.tmp.123 a/other.safetensors.tmp.3"

# A network that is split: its tensors come to both who write, and a copy that cannot be written is no
# reason to stop.
cat job.yaml - >split.yaml <<'JOB'
  strategy: {type: ModelParallel, microBatches: 2}
  replicas: {worker: {replicas: 2}}
JOB
rm -rf a b
JOB=split.yaml engine "a b" --mirror
same "split" "$? $(sha256sum <a/checkpoint-00000010.safetensors)" "0 $want"
same "split: the copy" "$(sha256sum <b/checkpoint-00000010.safetensors)" "$want"
rm -rf a b
touch b
JOB=split.yaml engine "a b" --mirror
same "split, no copy" "$? $(sha256sum <a/checkpoint-00000010.safetensors)" "0 $want"
check "split, no copy" "$(cat log)" "no second copy of the checkpoint"
verdict
