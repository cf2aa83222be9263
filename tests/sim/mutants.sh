#!/bin/bash
# Deliberate bugs in the operator: each patch of tests/sim/mutants is applied to a copy of the
# tree, built, and must break an invariant within SEEDS seeds that hold without it.
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

# hunt: the first seed that only the patched operator breaks
hunt() {
    local first=1 seed what
    while [ $first -le "$seeds" ]; do
        while read -r seed what; do
            if "$copy/sim" --seed "$seed" --brief >/dev/null; then
                echo "seed $seed: $what"
                return 0
            fi
            echo "seed $seed breaks without a patch as well" >&2
        done < <(broken "$copy/$BUILD/tests/sim/sim" $first | sort -n)
        first=$((first + step))
    done
    return 1
}

caught=0 missed=0
for patch in tests/sim/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    if ! patch -s -p1 -d "$copy" <"$patch" >/dev/null ||
        ! make -s -C "$copy" CC=gcc "$BUILD/tests/sim/sim" >"$copy/log" 2>&1; then
        echo "STALE   $name: does not apply or build any more"
        missed=$((missed + 1))
    elif found=$(hunt); then
        echo "caught  $name: $found"
        caught=$((caught + 1))
    else
        echo "MISSED  $name: $seeds seeds hold"
        missed=$((missed + 1))
    fi
    file=$(sed -n 's|^+++ b/operator/||p' "$patch")
    find "$copy/operator" \( -name '*.rej' -o -name '*.orig' \) -delete
    cp "$copy/as-is/$file" "$copy/operator/$file" # not -p: it is newer than its object
done
echo "sim-mutants: $caught caught, $missed missed"
[ $missed -eq 0 ] && [ $caught -gt 0 ]
