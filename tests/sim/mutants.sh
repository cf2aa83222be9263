#!/bin/bash
# Deliberate bugs in the operator: each of tests/sim/mutants.txt is made in a copy of the tree,
# built, and must break an invariant within SEEDS seeds that hold without it.
#   tests/sim/mutants.sh [NAME...]      default: all
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
seeds=${SEEDS:-2000}
step=100
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM

BUILD=build/gcc
make -s CC=gcc "$BUILD/tests/sim/sim" >/dev/null || exit
mkdir -p "$copy/$BUILD/tests" "$copy/tests/unit"
cp -a Makefile common include operator wire "$copy"
cp -a operator "$copy/as-is" # the tree may be worked on meanwhile
cp -a tests/sim "$copy/tests"
cp -a tests/unit/*.h "$copy/tests/unit"
for part in common operator tests/sim; do cp -a "$BUILD/$part" "$copy/$BUILD/$part"; done
make -s -C "$copy" CC=gcc "$BUILD/tests/sim/sim" >/dev/null || exit
cp "$copy/$BUILD/tests/sim/sim" "$copy/sim"

# broken SIM FIRST: the seeds from FIRST on that break, and what
broken() {
    "$1" --seeds "$2-$(($2 + step - 1))" --jobs "$(nproc)" --brief |
        sed -n 's/^seed \([0-9]*\) broke an invariant: /\1 /p; s/^a simulation crashed.*/0 &/p'
}

# hunt: the first seed that only the changed operator breaks
hunt() {
    local first=1 seed what
    while [ $first -le "$seeds" ]; do
        while read -r seed what; do
            if "$copy/sim" --seed "$seed" --brief >/dev/null; then
                echo "seed $seed: $what"
                return 0
            fi
            echo "seed $seed breaks without the bug as well" >&2
        done < <(broken "$copy/$BUILD/tests/sim/sim" $first | sort -n)
        first=$((first + step))
    done
    return 1
}

caught=0 missed=0
for name in $(sed -n 's/^\([a-z0-9-]*\):$/\1/p' tests/sim/mutants.txt); do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    if ! files=$(python3 tests/sim/mutate.py "$name" "$copy") ||
        ! make -s -C "$copy" CC=gcc "$BUILD/tests/sim/sim" >"$copy/log" 2>&1; then
        echo "STALE   $name: cannot be made or built any more"
        missed=$((missed + 1))
    elif found=$(hunt); then
        echo "caught  $name: $found"
        caught=$((caught + 1))
    else
        echo "MISSED  $name: $seeds seeds hold"
        missed=$((missed + 1))
    fi
    for file in $files; do
        cp "$copy/as-is/${file#operator/}" "$copy/$file" # not -p: it is newer than its object
    done
done
echo "sim-mutants: $caught caught, $missed missed"
[ $missed -eq 0 ] && [ $caught -gt 0 ]
