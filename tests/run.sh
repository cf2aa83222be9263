#!/bin/bash
# Runs the tests named on the command line and ends with `N passed, N failed[, N skipped]`.
#   BUILD=build/gcc tests/run.sh build/gcc/tests/unit/common/test_err tests/cli/test_run.sh ...
# The kind follows from the folder: unit tests and fuzz targets (each replays its corpus) run side
# by side, tests/mpi under mpirun once per rank count in `// MPI:`, scripts by bash, in three lanes. Exit
# code 77 skips. Output is shown for failures only, and of all with SHOW=1; `TIMEOUT: N` in a test's source
# changes its time limit.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

export PACELINE="$PWD/${BUILD:?}/bin/paceline" PACELINE_WORKER="$PWD/$BUILD/bin/paceline-worker"
export PACELINE_OPERATOR="$PWD/$BUILD/bin/paceline-operator"
export PACELINE_BUILD="$PWD/$BUILD"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1
export PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1"
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1

# LeakSanitizer itself crashes in some ranks that end ("Tracer caught signal 11"; why is not known, threads
# that are just ending are suspected), so it looks at ranks that are alone only: what mpirun starts gets this.
if [[ $BUILD == *-address ]]; then
    export OMPI_MCA_mca_base_env_list="ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1"
    export PRTE_MCA_mca_base_env_list="$OMPI_MCA_mca_base_env_list"
fi

case "$BUILD" in
*-address | *-thread | *-coverage | *-fuzzer) slower=6 ;;
*) slower=1 ;;
esac
# ThreadSanitizer of gcc 12 and clang 14 cannot start with much address randomisation.
fixed=()
if [[ $BUILD == *-thread ]] && setarch -R true 2>/dev/null; then fixed=(setarch -R); fi

# Of each test: the time on the clock, and the time of CPU of the processes that it waited for.
TIMEFORMAT="%1R s, CPU %1U+%1S s"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'touch "$dir/stop"; wait; exit 130' INT TERM # what runs is let end, and cleans up
touch "$dir/results"

option() { sed -n "s/^\(\/\/\|#\) $2: *//p" "$1" | head -1; }

# run_test NAME SOURCE COMMAND...: one line of verdict, the output only when it failed.
run_test() {
    local name=$1 source=$2 out status took times limit
    shift 2
    limit=$(option "$source" TIMEOUT)
    out="$dir/$BASHPID"
    took="$dir/took.$BASHPID"
    {
        # bash's own line about a signal goes to /dev/null, the times of `time` to a file
        { time timeout -k 5 $((${limit:-300} * slower)) "${fixed[@]}" "$@" >"$out" 2>&1 </dev/null; } 2>"$took"
    } 2>/dev/null
    status=$?
    times=$(tail -n 1 "$took")
    case $status in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    *) verdict=failed ;;
    esac
    {
        flock 9
        echo "$verdict" >>"$dir/results"
        case $verdict in
        passed)
            echo "ok    $name ($times)"
            if [ -n "${SHOW:-}" ]; then sed 's/^/      /' "$out"; fi
            ;;
        skipped) echo "skip  $name: $(tail -1 "$out")" ;;
        failed)
            if [ $status -eq 124 ] || [ $status -eq 137 ]; then status="$status, out of time"; fi
            echo "FAIL  $name (exit $status, $times)"
            tail -n 60 "$out" | sed 's/^/      /'
            ;;
        esac
    } 9>"$dir/lock"
    rm -f "$out" "$took"
}

jobs_max=$(nproc)
for test in "$@"; do
    source=${test#"$BUILD/"}
    case $source in
    tests/unit/*) command=("$test") ;;
    tests/fuzz/*)
        shopt -s nullglob
        command=("$test" tests/fuzz/corpus/"${source##*/fuzz_}"/*)
        shopt -u nullglob
        ;;
    *) continue ;;
    esac
    while [ "$(jobs -rp | wc -l)" -ge "$jobs_max" ]; do wait -n; done
    run_test "${source#tests/}" "$source.c" "${command[@]}" &
done
wait

# A lane runs its tests one after the other: `training` what starts ranks, which load the machine, `api` what
# has an API server, `waiting` the scripts that mostly wait, for agents and for each other. A script of
# tests/cli chooses it with `LANE: waiting`.
lane_of() {
    case $1 in
    tests/mpi/*) echo training ;;
    tests/cli/*.sh) lane=$(option "$1" LANE) && echo "${lane:-training}" ;;
    tests/api/*.sh) echo api ;;
    *.sh) echo waiting ;;
    esac
}

run_lane() {
    local lane=$1 test source
    shift
    for test in "$@"; do
        source=${test#"$BUILD/"}
        if [ "$(lane_of "$source")" != "$lane" ]; then continue; fi
        if [ -e "$dir/stop" ] || ! kill -0 $$ 2>/dev/null; then break; fi
        case $source in
        tests/mpi/*)
            for n in $(option "$source.c" MPI); do
                run_test "${source#tests/}, $n ranks" "$source.c" \
                    mpirun --oversubscribe --bind-to none -np "$n" "$test"
            done
            ;;
        *) run_test "${source#tests/}" "$source" bash "$source" ;;
        esac
    done
    return 0
}
died=0
lanes=()
for lane in training api waiting; do
    run_lane $lane "$@" &
    lanes+=($!)
done
for lane in "${lanes[@]}"; do wait "$lane" || died=1; done

count() { grep -c "$1" "$dir/results"; }
passed=$(count passed) failed=$(count failed) skipped=$(count skipped)
line="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then line+=", $skipped skipped"; fi
if [ $died -ne 0 ]; then echo "a lane of tests died: not all were run"; fi
echo "$line"
[ $died -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
