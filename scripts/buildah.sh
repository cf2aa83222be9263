#!/bin/bash
# buildah with a store of our own, so that neither the user's images nor a registry is looked at:
#   scripts/buildah.sh bud --pull=never -t docker.io/library/NAME:TAG -f FILE .
#   scripts/buildah.sh push -q NAME docker-archive:FILE:NAME
# The store lies in the user's cache; --purge removes it. No container runtime is needed.
set -euo pipefail
store=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/images

command -v buildah >/dev/null || {
    echo "$0: buildah is not installed; scripts/install-deps.sh cluster installs it" >&2
    exit 77
}
if [ "${1:-}" = --purge ]; then
    [ -d "$store" ] || exit 0
    "$0" rm --all >/dev/null
    rm -rf "$store"
    exit 0
fi
mkdir -p "$store"
# chroot: RUN lines need neither runc nor namespaces, which a container or a CI machine may refuse.
export BUILDAH_ISOLATION=chroot
exec buildah --root "$store/root" --runroot "$store/run" --storage-driver overlay "$@"
