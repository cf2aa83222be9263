#!/bin/bash
# Makes the peers' virtual environments, .venv-torch, .venv-tensorflow and .venv-pillow, from the lock files:
# in the repository root, or in the folder that BENCH_VENVS names. Quiet when they are up to date.
# A peer that cannot be installed is left out (the bench then says "not compared").
#   bench/peers/install.sh [torch] [tensorflow] [pillow]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venvs=${BENCH_VENVS:-$here/../..}

install_peer() {
    local peer=$1 module=${1/pillow/PIL} lock="$here/requirements-$1.lock" venv="$venvs/.venv-$1"
    if cmp -s "$lock" "$venv/installed.lock"; then return; fi
    echo "installing $peer into $venv"
    python3 -m venv --clear "$venv" &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$lock" &&
        "$venv/bin/python" -c "import $module" 2>/dev/null &&
        cp "$lock" "$venv/installed.lock"
}

if [ $# -eq 0 ]; then set -- torch tensorflow pillow; fi
for peer in "$@"; do
    case $peer in
    torch | tensorflow | pillow) ;;
    *)
        echo "usage: $0 [torch] [tensorflow] [pillow]" >&2
        exit 2
        ;;
    esac
    install_peer "$peer" || echo "$peer could not be installed: it will not be compared" >&2
done
