#!/bin/bash
# The images as they were built: their size, what is and is not in them, who runs them, and that they
# work with a read-only root and a user that no account knows.
#   tests/images/test_images.sh [FOLDER]   with the files that scripts/images.sh --save FOLDER writes
# TIMEOUT: 900
set -uo pipefail
export LC_ALL=C
name=test_images
cd "$(dirname "$0")/../.." || exit
# shellcheck source=tests/api/check.sh
source tests/api/check.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
skip() {
    echo "$*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "only root may look into images"
for tool in python3 unshare ip; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
folder=${1:-}
if [ -z "$folder" ]; then
    folder=$dir/saved
    scripts/images.sh --local-base --save "$folder" >"$dir/log" 2>&1 || {
        status=$?
        tail -n 20 "$dir/log"
        exit $status
    }
fi
for image in operator worker; do
    [ -e "$folder/paceline-$image.tar" ] || {
        echo "$folder has no paceline-$image.tar"
        exit 1
    }
done

# open_image NAME: its layers in DIR/NAME, its configuration in DIR/NAME.json, its size in `size`.
open_image() {
    mkdir "$dir/$1" "$dir/$1.tar"
    tar -xf "$folder/paceline-$1.tar" -C "$dir/$1.tar"
    size=$(python3 - "$dir/$1.tar" "$dir/$1" "$dir/$1.json" <<'PYTHON'
import json, os, shutil, subprocess, sys
archive, root, out = sys.argv[1:]
(manifest,) = json.load(open(f"{archive}/manifest.json"))
shutil.copy(f"{archive}/{manifest['Config']}", out)
for layer in manifest["Layers"]:
    subprocess.run(["tar", "-xf", f"{archive}/{layer}", "-C", root], check=True)
print(sum(os.stat(f"{archive}/{layer}").st_size for layer in manifest["Layers"]))
PYTHON
    )
}
config() { python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))["config"]
for key in sys.argv[2:]:
    value = value.get(key)
print(value)' "$dir/$1.json" "${@:2}"; }

# inside USER:GROUP IMAGE COMMAND...: with a read-only root and an empty /tmp with job.yaml in it.
inside() {
    unshare --mount --pid --fork --net --kill-child bash -c '
        set -e
        user=$1 root=$2 job=$3
        shift 3
        ip link set lo up
        mkdir -p "$root"/{dev,proc,sys}
        mount --bind -o ro "$root" "$root"
        mount -t proc proc "$root/proc"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/tmp"
        cp "$job" "$root/tmp"
        exec chroot --userspec="$user" --groups= "$root" "$@"
    ' - "$1" "$dir/$2" "$dir/job.yaml" "${@:3}"
}

cat >"$dir/job.yaml" <<JOB
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: image}
spec:
  model: {name: mlp, hidden: [16]}
  dataset: {name: fashion-mnist, limit: 1024}
  training: {steps: 4, threads: 1}
  replicas: {worker: {replicas: 2}}
JOB

for image in operator worker; do
    open_image $image
    echo "paceline-$image: $((size / 1000000)) MB"
    same "$image's user" "$(config $image User)" 65532:65532
    for label in title version licenses; do
        lacks "$image's label $label" "$(config $image Labels org.opencontainers.image.$label)" None
    done
    root=$dir/$image
    same "files that anybody may write in $image" \
        "$(find "$root" -perm /o+w ! -type l ! -path "$root/tmp" | head -3)" ""
    same "set-user-ID programs in $image" "$(find "$root" -perm /6000 -type f)" ""
    same "GPU and compiler libraries in $image" \
        "$(find "$root" -name 'libLLVM*' -o -name 'libamd*' -o -name 'libz3*' -o -name 'libcuda*')" ""
    for file in etc/os-release etc/ssl/certs/ca-certificates.crt var/lib/dpkg/status.d/libc6 \
        usr/share/doc/libc6/copyright usr/share/doc/paceline/copyright; do
        [ -e "$root/$file" ] || fail "$image has no $file"
    done
    for file in "$root"/var/lib/dpkg/status.d/*; do
        check "$file" "$(cat "$file")" "Version: "
    done
    case $image in
    operator) at_most "bytes of $image" "$size" 60000000 ;;
    worker) at_most "bytes of $image" "$size" 250000000 ;;
    esac
done

same "programs in the operator's image" "$(ls "$dir/operator/usr/bin")" paceline-operator
same "a shell in the operator's image" "$(find "$dir/operator" -name '*sh' -path '*bin/*')" ""
version=$(sed -n 's/^#define PACELINE_VERSION "\(.*\)"/\1/p' include/paceline/version.h)
same "the operator's entry point" "$(config operator Entrypoint)" "['/usr/bin/paceline-operator']"
check "the operator's version" "$(inside 65532:65532 operator /usr/bin/paceline-operator --version 2>&1)" \
    "$version"
inside 12345:0 operator /usr/bin/paceline-operator >"$dir/out" 2>&1
same "the operator without a cluster ends with" $? 3

same "the worker's entry point" "$(config worker Entrypoint)$(config worker Cmd)" \
    "['/usr/bin/paceline-agent']['serve']"
for user in 65532:65532 12345:0; do
    inside $user worker /usr/bin/env -i HOME=/tmp PATH=/usr/bin \
        sh -c 'cd /tmp && paceline run job.yaml --out out --json && ls out' >"$dir/out" 2>&1 ||
        fail "paceline run as $user ends with $?: $(tail -n 20 "$dir/out")"
    check "training as $user" "$(cat "$dir/out")" checkpoint-00000004.safetensors
    check "two ranks as $user" "$(cat "$dir/out")" '"ranks":2'
done
# Fetching loads libcurl, which no ldd tells of, and gets as far as the server.
error=$(inside 65532:65532 worker /usr/bin/paceline data fetch mnist --to /tmp/mnist --mirror http://127.0.0.1:9/ 2>&1)
check "fetching in the image" "$error" "http://127.0.0.1:9/"
lacks "fetching in the image" "$error" "is not on this machine"
check "the agent" "$(inside 65532:65532 worker /usr/bin/paceline-agent --help 2>&1)" serve

# shellcheck disable=SC2154 # check.sh sets it
if [ $failed -eq 0 ]; then echo "PASS $name"; else echo "FAIL $name"; fi
exit $failed
