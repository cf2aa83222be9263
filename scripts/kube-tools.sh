#!/bin/bash
# Builds what the tests against a real API server need, once, and prints the folder it is in:
# kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, etcd, kwok.
#   scripts/kube-tools.sh [KUBERNETES]   a folder of tests/tools; "kubernetes" otherwise
#   scripts/kube-tools.sh --node         what a real node needs beside them: kubelet, kube-proxy,
#                                        coredns, helm, and the CNI plugins in cni/
# Versions are pinned by the go.mod and go.sum files in tests/tools. The folder lies in the user's
# cache, named by the hash of those files. KUBEBUILDER_ASSETS with kube-apiserver, etcd and kubectl in
# it is used as it is. Exit code 77: there is no way to build them here, and the last line says why.
set -euo pipefail
tools=$(cd "$(dirname "$0")/../tests/tools" && pwd)
if [ "${1:-}" = --node ]; then
    set=node
    shift
else
    set=api
fi
kubernetes=${1:-kubernetes}

if [ $set = api ] && [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    for name in kube-apiserver etcd kubectl; do
        [ -x "$KUBEBUILDER_ASSETS/$name" ] || {
            echo "$0: KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, which has no $name" >&2
            exit 1
        }
    done
    echo "$KUBEBUILDER_ASSETS"
    exit 0
fi

cd "$tools"
[ -f "$kubernetes/go.mod" ] || {
    echo "$0: no tests/tools/$kubernetes/go.mod" >&2
    exit 2
}
declare -A modules=([api]="etcd kwok" [node]="coredns cni helm")
hash=$(for module in $kubernetes ${modules[$set]}; do cat "$module"/go.{mod,sum}; done |
    sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/kube-tools
folder=$cache/$hash
if [ -d "$folder" ]; then
    echo "$folder"
    exit 0
fi

go_version() { go version | sed -n 's/^go version go1\.\([0-9]*\).*/\1/p'; }
if ! command -v go >/dev/null; then
    echo "the Kubernetes tools are not built: Go 1.24 or newer (1.21 fetches one) is not installed"
    exit 77
fi
if ! [ "$(go_version)" -ge 21 ] 2>/dev/null; then
    echo "the Kubernetes tools are not built: $(go version) is too old, 1.21 is needed"
    exit 77
fi

mkdir -p "$cache"
exec 9>"$cache/$hash.lock"
flock 9 # whoever comes second waits for the first
if [ -d "$folder" ]; then
    echo "$folder"
    exit 0
fi
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$new"

export CGO_ENABLED=0 GOWORK=off GOFLAGS=-buildvcs=false
# build FOLDER OUT LDFLAGS PACKAGE...
build() {
    local where=$1 out=$2 flags=$3
    shift 3
    echo "building $* (once; minutes)" >&2
    (cd "$where" && go list -deps "$@") >/dev/null || {
        echo "the Kubernetes tools are not built: their Go modules cannot be had, see above"
        exit 77
    }
    (cd "$where" && go build -trimpath -ldflags "-s -w $flags" -o "$new/$out" "$@") >&2
}

# pinned FOLDER MODULE: the version in its go.mod
pinned() { sed -n "s|^\(require\)\?[[:space:]]*$2 \(v[0-9.]*\).*|\2|p" "$1/go.mod"; }
# kubernetes_programs NAME...
kubernetes_programs() {
    local package stamp=
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        stamp+=" -X $package.gitVersion=$version -X $package.gitMajor=$major"
        stamp+=" -X $package.gitMinor=$minor -X $package.gitTreeState=clean"
    done
    build "$kubernetes" "" "$stamp" "${@/#/k8s.io/kubernetes/cmd/}"
}
version=$(pinned "$kubernetes" k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"

build_api() {
    build etcd etcd "" go.etcd.io/etcd/server/v3
    kubernetes_programs kube-apiserver kube-controller-manager kube-scheduler kubectl
    build kwok kwok "" sigs.k8s.io/kwok/cmd/kwok
}

build_node() {
    local plugins=github.com/containernetworking/plugins/plugins helm=helm.sh/helm/v3 package stamp
    kubernetes_programs kubelet kube-proxy
    build coredns coredns "" github.com/coredns/coredns
    build cni cni/ "" $plugins/{main/bridge,main/loopback,ipam/host-local,meta/portmap}
    stamp="-X $helm/internal/version.version=$(pinned helm $helm)"
    for package in $helm/pkg/lint/rules $helm/pkg/chartutil; do # what `helm template` says it runs on
        stamp+=" -X $package.k8sVersionMajor=$major -X $package.k8sVersionMinor=$minor"
    done
    build helm helm "$stamp" $helm/cmd/helm
}
"build_$set"

mv -T "$new" "$folder"
echo "$folder"
