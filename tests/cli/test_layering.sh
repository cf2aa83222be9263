#!/bin/bash
# The layers, proved on the objects: each folder uses symbols of its own and of the folders named
# here; MPI is called by worker/comm alone, curl by operator/kube, libwebsockets by operator/web; the
# pure folders ask neither clock nor system (ARCHITECTURE.md).
set -euo pipefail
build=${PACELINE_BUILD:?}

# folder: the folders below it whose symbols it may use
data="worker/data worker/data/batch worker/data/image worker/data/store worker/data/format"
layers="
common:
worker/kernels:       common
worker/threads:       common worker/kernels
worker/lanes:         common
worker/layers:        common worker/kernels worker/threads worker/lanes
worker/model:         common worker/kernels worker/threads worker/lanes worker/layers
worker/optim:         common worker/kernels
worker/data/batch:    common worker/kernels
worker/data/image:    common
worker/data/store:    common worker/data/batch worker/data/image
worker/data/format:   common worker/kernels worker/data/batch worker/data/image worker/data/store
worker/data:          common worker/kernels $data
worker/checkpoint:    common
worker/comm:          common worker/kernels worker/lanes
worker/train/telemetry: common worker/threads worker/checkpoint
worker/train:         common worker/kernels worker/lanes worker/threads worker/model worker/layers worker/optim $data worker/checkpoint worker/comm worker/train/telemetry
worker/train/checkpoint: common worker/threads worker/model worker/optim $data worker/checkpoint worker/comm worker/train worker/train/telemetry
worker/train/loop:    common worker/kernels worker/lanes worker/threads worker/model worker/optim $data worker/checkpoint worker/comm worker/train worker/train/telemetry worker/train/checkpoint
worker/strategy:      common worker/kernels worker/lanes worker/model worker/optim $data worker/comm worker/train worker/train/telemetry
worker:               common worker/kernels worker/threads worker/lanes worker/model worker/layers worker/optim $data worker/checkpoint worker/comm worker/train worker/train/telemetry worker/train/checkpoint worker/train/loop worker/strategy
cli/base:             common
cli/crd:              common operator/api
cli/report:           common cli/base
cli/run:              common cli/base cli/report worker/kernels worker/threads worker/lanes worker/layers worker/model $data worker/checkpoint
cli/cluster:          common cli/base cli/run
cli/data:             common cli/base cli/run
cli/init:             common cli/base $data
cli/study:            common cli/base cli/report cli/run
cli/commands:         common cli/base cli/crd cli/report cli/run cli/cluster cli/data cli/init cli/study worker/kernels worker/threads worker/lanes worker/layers worker/model $data worker/checkpoint operator/api
cli:                  common cli/base cli/commands
wire:                 common
agent:                common wire
operator/api:         common
operator/reconcile:   common operator/api
operator/objects:     common operator/api
operator/core:        common operator/api
operator/kube:        common
operator/agents:      common wire operator/objects operator/core
operator/web:         common
operator/controller:  common operator/api operator/reconcile operator/objects operator/core operator/web
operator:             common operator/core operator/controller operator/kube operator/agents operator/web
"

list=$(mktemp) objects=$(mktemp)
trap 'rm -f "$list" "$objects"' EXIT
# The objects of sources that are still there; then one line per symbol: folder, T (defined) or U (used), symbol.
for folder in common worker cli wire agent operator; do
    find "$folder" -name '*.c' -printf '%P\n' | while read -r source; do
        ls "$build/$folder/${source%.c}".o "$build/$folder/${source%.c}".*.o 2>/dev/null || true
    done
done >"$objects"
xargs nm -gA <"$objects" | awk -v skip=$((${#build} + 2)) '
    {
        at = index($0, ".o:")
        object = substr($0, skip, at - skip)
        sub("/[^/]*$", "", object)
        n = split(substr($0, at + 3), word, " ")
    }
    n == 2 && word[1] == "U" { print object, "U", word[2] }
    n == 3 { print object, "T", word[3] }' >"$list"

awk '
    function program(folder) { sub("/.*", "", folder); return folder }
    FNR == NR { # the table
        if (split($0, row, ":") == 2) {
            folder = row[1]
            known[folder] = 1
            n = split(row[2], below, " ")
            for (i = 1; i <= n; i++)
                allowed[folder, below[i]] = 1
        }
        next
    }
    !($1 in known) { print $1 " is in no layer"; bad = 1; known[$1] = 1 }
    # Programs may share a name: each has its own.
    $2 == "T" { home[$3] = home[program($1), $3] = $1; own[$3, $1] = 1; defined++ }
    $2 == "U" { use[$1 " " $3] = 1 }
    END {
        pure["operator/api"] = pure["operator/reconcile"] = pure["operator/objects"] = 1
        pure["operator/core"] = 1
        for (u in use) {
            split(u, part, " ")
            from = part[1]; symbol = part[2]
            if (symbol ~ /^P?MPI_/ && from != "worker/comm") {
                print from " calls " symbol ": only worker/comm may"
                bad = 1
            }
            if (symbol ~ /^curl_/ && from != "operator/kube") {
                print from " calls " symbol ": only operator/kube may"
                bad = 1
            }
            if (symbol ~ /^lws_/ && from != "operator/web") {
                print from " calls " symbol ": only operator/web may"
                bad = 1
            }
            if (pure[from] && symbol ~ /^(clock_gettime|time|rand|random|getenv|open|fopen|printf|fprintf|log_at|getrandom)$/) {
                print from " calls " symbol ": it is a function of its arguments"
                bad = 1
            }
            if (!(symbol in home))
                continue
            of = (program(from), symbol) in home ? home[program(from), symbol] : home[symbol]
            if (!((symbol, from) in own) && !((from, of) in allowed)) {
                print from " uses " symbol " of " of
                bad = 1
            }
        }
        if (defined < 50) { print "only " defined + 0 " symbols found"; bad = 1 }
        exit bad
    }' <(echo "$layers") "$list"

# Headers too: naming mpi.h elsewhere would not show in the symbols.
if grep -rlE '#include *[<"]mpi\.h' common worker cli include --include='*.[ch]' | grep -v '^worker/comm/'; then
    echo "includes mpi.h outside worker/comm"
    exit 1
fi
