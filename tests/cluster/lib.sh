# shellcheck shell=bash
# Sourced by the tests on a real cluster. cluster_test starts one named CLUSTER ("test"), or takes the
# one that is up, and gives the test a namespace of its own. On EXIT both go again; a cluster that was
# up before stays. KEEP=1 leaves everything.
set -uo pipefail
export LC_ALL=C TERM=dumb
name=$(basename "$0" .sh)
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo" || exit
# shellcheck source=tests/cluster/cluster.sh
source "$repo/tests/cluster/cluster.sh"
# shellcheck source=tests/api/check.sh
source "$repo/tests/api/check.sh"
dir=$(mktemp -d)
cluster_name=${CLUSTER:-test}
cluster_ours=

cluster_test_end() {
    local status=$?
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $dir, cluster $cluster_name"
    else
        rm -rf "$dir"
        if [ -n "$cluster_ours" ]; then
            cluster_down "$cluster_name" keep
        elif [ -n "${KUBECONFIG:-}" ]; then
            k delete namespace "$name" --wait=false --ignore-not-found >/dev/null
        fi
    fi
    exit $status
}
trap cluster_test_end EXIT
trap 'exit 130' INT TERM

# cluster_test: KUBECONFIG points to a cluster that is up, and kubectl of `k` to our namespace.
cluster_test() {
    local status
    cluster_needs >"$dir/needs" || {
        status=$?
        tail -n 1 "$dir/needs"
        exit $status
    }
    if ! cluster_attach "$cluster_name"; then
        cluster_ours=1
        cluster_up "$cluster_name" || exit 1
    fi
    name=${name//_/-}
    k delete namespace "$name" --ignore-not-found >/dev/null 2>&1
    k create namespace "$name" >/dev/null || exit 1
    cluster_wait 30 k get serviceaccount default -n "$name"
}

# t ARGS...: kubectl in the test's namespace.
t() { k -n "$name" "$@"; }

# cluster_debian: a Debian in the cluster; its name is then cluster_image.
cluster_debian() {
    local file
    cluster_image=$(scripts/base-image.sh debian:trixie-slim) || exit
    file=$cluster_cache/images/$(scripts/buildah.sh images -q "$cluster_image").tar
    (
        flock 9
        [ -e "$file" ] && exit
        scripts/buildah.sh push -q "$cluster_image" "docker-archive:$file.new:$cluster_image" &&
            mv "$file.new" "$file"
    ) 9>"$cluster_cache/images/archive.lock" && cluster_import "$file"
}

verdict() {
    if [ $failed -eq 0 ]; then echo "PASS $name"; else echo "FAIL $name"; fi
    exit $failed
}
