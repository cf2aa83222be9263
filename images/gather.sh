#!/bin/bash
# Makes the root folder of an image without a distribution in it:
#   images/gather.sh ROOT PATH...
# The files and folders named, what links lead to, the libraries that programs load, accounts,
# certificates, and for each Debian package that something came from its entry and its licence
# (var/lib/dpkg/status.d, usr/share/doc), which is where scanners of images look.
set -euo pipefail
root=$1
shift

# spot PATH: its name where / has no linked folders (/lib is /usr/lib).
spot() { echo "$(realpath "$(dirname "$1")")/$(basename "$1")"; }

# take PATH: copies it, and what it leads to if it is a link.
take() {
    local path
    path=$(spot "$1")
    if [ -d "$path" ] && ! [ -L "$path" ]; then
        while read -r -d '' path; do take "$path"; done < <(find "$path" ! -type d -print0)
        return
    fi
    [ -e "$root$path" ] || [ -L "$root$path" ] && return
    mkdir -p "$root$(dirname "$path")"
    cp -a "$path" "$root$path"
    if [ -L "$path" ]; then take "$(cd "$(dirname "$path")" && spot "$(readlink "$path")")"; fi
}

# needs: what ldd says of all programs and libraries in the root. It fails on what is neither.
needs() {
    find "$root" -type f \( -perm /111 -o -name '*.so*' \) -print0 |
        xargs -0 ldd 2>/dev/null || true
}
libraries() { needs | sed -n 's/^\t\(.* => \)\?\(\/[^ ]*\) .*/\2/p' | sort -u; }

packages() { # the packages that what is in the root came from
    find "$root" ! -type d -printf '/%P\n' | while read -r path; do
        dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null || true
    done | grep -v '^diversion' | sed 's/: .*//; s/, /\n/g' | sort -u
}

mkdir -p "$root"/{etc,tmp,var/lib/dpkg/status.d}
chmod 1777 "$root/tmp"
for link in /bin /sbin /lib /lib64; do
    if [ -L $link ]; then cp -a $link "$root"; fi
done
for path in "$@" /etc/{os-release,nsswitch.conf} /etc/ssl/certs/ca-certificates.crt \
    /usr/share/doc/paceline; do
    take "$path"
done
libraries | while read -r path; do take "$path"; done
echo "paceline:x:65532:65532::/tmp:/sbin/nologin" >"$root/etc/passwd"
echo "paceline:x:65532:" >"$root/etc/group"

for package in $(packages); do
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/${package%%:*}"
    take "/usr/share/doc/${package%%:*}/copyright"
done
if missing=$(needs | grep 'not found'); then
    echo "$0: $missing" >&2
    exit 1
fi
