#!/bin/bash
# tests/fuzz.sh TARGET...: runs each libFuzzer target for FUZZ_SECONDS, two at a time. It begins with its
# seeds in tests/fuzz/corpus and with what former runs have found, which is kept in FUZZ_KEPT, a folder
# per target, and at the end it keeps what it has found itself. A crash leaves its input in
# build/fuzz/NAME-crash-... and fails the run; a run that fails keeps nothing.
#
# tests/fuzz.sh --bring TARGET...: copies finds into tests/fuzz/corpus, to be committed: of those that are
# kept the inputs that reach code that the seeds do not reach.
#
# Of FUZZ_SECONDS a quarter, at most, goes into reducing what is kept: each input has to reach something
# that no smaller one reaches. Of the rest only the smallest FUZZ_KEPT_FILES and FUZZ_KEPT_BYTES stay.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
seconds=${FUZZ_SECONDS:-30}
kept=${FUZZ_KEPT:-${XDG_CACHE_HOME:-${HOME:-build}/.cache}/paceline/fuzz}
found=${FUZZ_FOUND:-build/fuzz}
corpus=${FUZZ_CORPUS:-tests/fuzz/corpus}
most_files=${FUZZ_KEPT_FILES:-1000} most_bytes=${FUZZ_KEPT_BYTES:-4194304}
limits=(-timeout=10 -rss_limit_mb=2048)

name_of() {
    local name=${1##*/}
    echo "${name#fuzz_}"
}

# copy FROM TO: the files of a folder, if it is there; TO is made.
copy() {
    mkdir -p "$2"
    if [ -d "$1" ]; then find "$1" -maxdepth 1 -type f -exec cp -t "$2" {} +; fi
}

# beyond DIR: the names of the files that are too many or too large, in a folder sorted by size.
beyond() {
    find "$1" -type f -printf '%s %p\n' | sort -n |
        awk -v files="$most_files" -v bytes="$most_bytes" '{ sum += $1 }
            NR > files || sum > bytes { sub(/^[0-9]+ /, ""); print }'
}

# reduce TARGET SECONDS TO FROM...: what FROM has beyond the seeds, to the new folder TO.
reduce() {
    local target=$1 limit=$2 to=$3 seeds
    seeds=$corpus/$(name_of "$target")
    shift 3
    rm -rf "$to"
    copy "$seeds" "$to"
    "$target" -merge=1 -max_total_time="$limit" "${limits[@]}" "$to" "$@" >"$to.log" 2>&1 </dev/null || return
    for seed in "$seeds"/*; do rm -f "$to/${seed##*/}"; done
}

# keep TARGET NEW: one run at a time. One that finds another one here keeps nothing.
keep() {
    local name
    name=$(name_of "$1")
    mkdir -p "$kept/$name"
    (
        flock -n 9 || exit 0
        rm -rf "$kept/$name.next" "$kept/$name.old"
        reduce "$1" $((seconds / 4 + 1)) "$kept/$name.next" "$kept/$name" "$2" || exit 0
        beyond "$kept/$name.next" | tr '\n' '\0' | xargs -0r rm -f
        mv "$kept/$name" "$kept/$name.old" && mv "$kept/$name.next" "$kept/$name"
        rm -rf "$kept/$name.old" "$kept/$name.next.log"
    ) 9>"$kept/$name.lock"
}

fuzz_one() {
    local target=$1 name log
    name=$(name_of "$target")
    log=$found/$name.log
    rm -rf "${found:?}/$name" "$found/$name.kept"
    mkdir -p "$found/$name"
    copy "$kept/$name" "$found/$name.kept"
    local inputs=("$found/$name" "$found/$name.kept")
    if [ -d "$corpus/$name" ]; then inputs+=("$corpus/$name"); fi
    if "$target" -max_total_time=$((seconds - seconds / 4)) "${limits[@]}" \
        -artifact_prefix="$found/$name-" "${inputs[@]}" >"$log" 2>&1 </dev/null; then
        keep "$target" "$found/$name"
        echo "ok    fuzz $name: $(grep -o 'Done [0-9]* runs' "$log"), $(find "$kept/$name" -type f | wc -l) kept"
    else
        echo "FAIL  fuzz $name"
        tail -n 40 "$log" | sed 's/^/      /'
        return 1
    fi
}

bring_one() {
    local name new=$found/bring
    name=$(name_of "$1")
    mkdir -p "$found" "$corpus/$name"
    reduce "$1" 600 "$new" "$kept/$name" || return
    echo "$name: $(find "$new" -type f | wc -l) new seeds in $corpus/$name"
    copy "$new" "$corpus/$name"
}

if [ "${1:-}" = --bring ]; then
    for target in "${@:2}"; do bring_one "$target" || exit; done
    exit
fi
mkdir -p "$found" && rm -f "$found/failed"
for target in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    fuzz_one "$target" || touch "$found/failed" &
done
wait
[ ! -e "$found/failed" ]
