#!/bin/bash
# Makes Debian's slim image in the store of scripts/buildah.sh, once, and prints its full name, so
# that `FROM debian:trixie-slim` needs no registry:
#   scripts/base-image.sh debian:trixie-slim     any suite that the Debian mirror has
#   scripts/base-image.sh --again NAME           with the packages of today
# Packages come from the mirror that apt is configured with.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)

again=
if [ "${1:-}" = --again ]; then
    again=1
    shift
fi
if ! [[ ${1:-} =~ ^debian:([a-z]+)-slim$ ]]; then
    echo "usage: $0 [--again] debian:SUITE-slim" >&2
    exit 2
fi
suite=${BASH_REMATCH[1]}
image=docker.io/library/$1
store=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/images

there() { [ -z "$again" ] && "$scripts/buildah.sh" inspect --type image "$image" >/dev/null 2>&1; }
mkdir -p "$store"
exec 9>"$store/base.lock"
flock 9 # whoever comes second finds it
if there; then
    echo "$image"
    exit 0
fi
command -v mmdebstrap >/dev/null || {
    echo "$0: mmdebstrap is not installed; scripts/install-deps.sh cluster installs it" >&2
    exit 77
}

# mirror LABEL: where apt gets that part of Debian from.
mirror() {
    local uri
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Label: $1" | head -1)
    if [ -z "$uri" ]; then
        echo "$0: apt knows no mirror of $1: run apt-get update" >&2
        exit 1
    fi
    echo "$uri"
}
debian=$(mirror Debian)
security=$(mirror Debian-Security)

options=(--quiet --variant=apt --format=tar)
for path in doc man info locale lintian; do
    options+=(--dpkgopt="path-exclude=/usr/share/$path/*")
done
options+=(--dpkgopt='path-include=/usr/share/doc/*/copyright')
while read -r line; do options+=(--aptopt="$line"); done < <(
    apt-config dump | grep -E '^Acquire::https?::(Proxy|Verify)' || true
)

rootfs=$(mktemp "$store/rootfs.XXXXXX")
trap 'rm -f "$rootfs"' EXIT
trap 'exit 130' INT TERM
echo "making $image from $debian (once; half a minute)" >&2
mmdebstrap "${options[@]}" "$suite" - >"$rootfs" <<SOURCES
deb $debian $suite main
deb $debian $suite-updates main
deb $security $suite-security main
SOURCES
container=$("$scripts/buildah.sh" from scratch)
"$scripts/buildah.sh" add -q "$container" "$rootfs" / >/dev/null
"$scripts/buildah.sh" config --cmd /bin/bash "$container"
"$scripts/buildah.sh" commit -q --rm "$container" "$image" >/dev/null
echo "$image"
