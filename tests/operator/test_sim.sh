#!/bin/bash
# A few hundred simulated histories of the operator, and that a seed is a history, byte for byte.
set -uo pipefail
sim=${PACELINE_BUILD:?}/tests/sim/sim
[ -x "$sim" ] || {
    echo "$sim is not built"
    exit 77
}
"$sim" --seeds 1-400 --jobs 2 || exit
first=$("$sim" --seeds 1-20 --hash) second=$("$sim" --seeds 1-20 --hash)
if [ "$first" != "$second" ]; then
    echo "the same seeds gave other histories:"
    diff <(echo "$first") <(echo "$second")
    exit 1
fi
