#!/bin/bash
# Runs each libFuzzer target for FUZZ_SECONDS, two at a time, from its seeds in tests/fuzz/corpus.
# A crash leaves its input in build/fuzz/X-crash... and fails the run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1

fuzz_one() {
    local target=$1 name log found=build/fuzz
    name=$(basename "$target")
    name=${name#fuzz_}
    log=$found/$name.log
    mkdir -p "$found/$name"
    local seeds=()
    if [ -d "tests/fuzz/corpus/$name" ]; then seeds=("tests/fuzz/corpus/$name"); fi
    if "$target" -max_total_time="${FUZZ_SECONDS:-30}" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$found/$name-" "$found/$name" "${seeds[@]}" >"$log" 2>&1 </dev/null; then
        echo "ok    fuzz $name: $(grep -o 'Done [0-9]* runs' "$log")"
    else
        echo "FAIL  fuzz $name"
        tail -n 40 "$log" | sed 's/^/      /'
        return 1
    fi
}

mkdir -p build/fuzz && rm -f build/fuzz/failed
for target in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    fuzz_one "$target" || touch build/fuzz/failed &
done
wait
[ ! -e build/fuzz/failed ]
