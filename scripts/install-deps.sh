#!/bin/bash
# Installs the Debian packages that are missing: nothing to do, nothing said.
#   scripts/install-deps.sh build    what building and running needs
#   scripts/install-deps.sh test     that, and what the tests and static checks need
#   scripts/install-deps.sh cluster  what `make cluster` and `make images` need
# `a|b`: either will do; the first that this release knows is installed.
set -euo pipefail

build=(gcc make libc6-dev libopenmpi-dev openmpi-bin libcjson-dev libyaml-dev zlib1g-dev
    libdeflate-dev 'libjpeg62-turbo-dev|libjpeg-turbo8-dev' libpng-dev dataset-fashion-mnist libcurl4-openssl-dev libwebsockets-dev libssl-dev)
test=(clang clang-tidy clang-format 'libclang-rt-14-dev|libclang-rt-dev' libopenblas-dev python3
    gcovr shellcheck openssl ca-certificates)
cluster=(containerd runc iptables nftables conntrack socat ipset ebtables iproute2 util-linux curl
    openssl ca-certificates python3 gcc libc6-dev buildah mmdebstrap)

case "${1:-}" in
build) wanted=("${build[@]}") ;;
test) wanted=("${build[@]}" "${test[@]}") ;;
cluster) wanted=("${cluster[@]}") ;;
*)
    echo "usage: $0 build|test|cluster" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "$0: no apt here; these must be installed by hand (Debian names): ${wanted[*]}" >&2
    exit 0
fi

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }
known() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# tests/api and the cluster build Kubernetes with Go. 1.21 fetches the version it needs; an older one
# (Debian 12's) is of no use, and those tests then say that they skip.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p'; }
go_helps() {
    [ "$1" != build ] && ! command -v go >/dev/null &&
        dpkg --compare-versions "$(candidate golang-go)" ge 2:1.21 2>/dev/null
}

missing=()
for want in "${wanted[@]}"; do
    IFS='|' read -ra either <<<"$want"
    for package in "${either[@]}"; do
        installed "$package" && continue 2
    done
    missing+=("$want")
done
if go_helps "$1"; then missing+=(golang-go); fi
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "$0: missing ${missing[*]}; as root: apt-get install ${missing[*]%%|*}" >&2
        exit 1
    fi
    root=(sudo)
    echo "missing packages are installed with sudo: ${missing[*]}"
else
    echo "installing missing packages: ${missing[*]}"
fi

"${root[@]}" apt-get update -qq
# Before the update nothing may have been known about it.
if [[ " ${missing[*]} " != *" golang-go "* ]] && go_helps "$1"; then missing+=(golang-go); fi
chosen=()
for want in "${missing[@]}"; do
    IFS='|' read -ra either <<<"$want"
    choice=${either[0]}
    for package in "${either[@]}"; do
        if known "$package"; then
            choice=$package
            break
        fi
    done
    chosen+=("$choice")
done
"${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${chosen[@]}" </dev/null >/dev/null
