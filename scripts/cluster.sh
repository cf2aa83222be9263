#!/bin/bash
# A real one-node Kubernetes on this machine, with no registry and no way out of it. As root:
#   scripts/cluster.sh up [NAME]              first `make cluster` builds the tools (many minutes)
#   scripts/cluster.sh down [--keep] [NAME]   removes every trace; --keep: images stay
#   scripts/cluster.sh import [--name NAME] FILE.tar...   docker-archives of images
#   scripts/cluster.sh memory [NAME]          resident MiB of each component
#   scripts/cluster.sh needs                  what this machine lacks for one (exit code 77)
# NAME is "main" unless given; clusters of different names run side by side. State lies in the
# user's cache. How it is built: tests/cluster/cluster.sh.
set -uo pipefail
# shellcheck source=tests/cluster/cluster.sh
source "$(dirname "$0")/../tests/cluster/cluster.sh"

usage() {
    sed -n '3,7s/^# *//p' "$0" >&2
    exit 2
}

attach() {
    cluster_needs || exit
    cluster_attach "$1" && return
    echo "no cluster \"$1\" is up; make cluster starts it" >&2
    exit 1
}

up() {
    local name=${1:-main}
    cluster_names "$name" || exit
    cluster_needs || exit
    if cluster_attach "$name"; then
        echo "the cluster \"$name\" is up already"
    else
        SECONDS=0
        cluster_up "$name" || exit
        echo "the cluster \"$name\" is up after $SECONDS s"
    fi
    cat <<USE
    export KUBECONFIG=$KUBECONFIG PATH=$node_tools:$cluster_bin:\$PATH
    kubectl get pods -A
    scripts/cluster.sh import FILE.tar    an image; there is no registry
    make cluster-down                     KEEP=1: the next start is quicker
USE
}

down() {
    local keep=
    if [ "${1:-}" = --keep ]; then
        keep=keep
        shift
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "to take a cluster down needs root, as to start it did" >&2
        exit 1
    fi
    cluster_down "${1:-main}" $keep
}

import() {
    local name=main
    if [ "${1:-}" = --name ]; then
        name=${2:-}
        shift 2
    fi
    [ $# -gt 0 ] || usage
    attach "$name"
    cluster_import "$@"
}

memory() {
    attach "${1:-main}"
    cluster_memory
}

needs() { cluster_needs; }

case ${1:-} in
up | down | import | memory | needs) "$@" ;;
*) usage ;;
esac
