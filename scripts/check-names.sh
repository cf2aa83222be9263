#!/bin/bash
# One name, one thing, so that grep finds the one that is meant: no struct, union or enum is defined in two
# files, and no static function of the programs either. Tests may have functions of the same name: each is a
# program of its own, and nobody looks for its helpers from outside. Each deliberate bug of tests/sim has its place.
# Relies on clang-format: a definition is on one line, from its beginning to the brace or parenthesis.
set -euo pipefail
cd "$(dirname "$0")/.."

# Defined by a test in the place of the program's own.
fakes=' agent_link kube_call '

twice() { # WHAT: lines "NAME FILE" of a definition each
    sort -u | awk -v what="$1" -v fakes="$fakes" '
        $1 == name && !index(fakes, " " name " ") {
            printf "%s %s is defined in %s and in %s\n", what, name, file, $2
            bad = 1
        }
        { name = $1; file = $2 }
        END { exit bad }'
}

bad=0
git grep -nE '\b(struct|union|enum) \w+ \{' -- '*.c' '*.h' |
    sed -nE 's/^([^:]+):[0-9]+:[a-z_ ]*\b(struct|union|enum) (\w+) \{.*/\3 \1/p' | twice tag || bad=1
git grep -nE '^(__attribute__.*\)\) )?static [^=;]*\w\(' -- '*.c' ':!tests' ':!bench' |
    sed -nE 's/__attribute__\(\(([^()]|\([^()]*\))*\)\) ?//; s/^([^:]+):[0-9]+:static [^=;(]*\b(\w+)\(.*/\2 \1/p' |
    twice 'static function' || bad=1
python3 tests/sim/mutate.py || bad=1
exit $bad
