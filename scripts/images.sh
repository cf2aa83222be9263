#!/bin/bash
# Builds the images paceline-operator:VERSION and paceline-worker:VERSION (images/Dockerfile) with
# docker, podman or buildah, whichever works here, and prints what they are and how large.
#   scripts/images.sh [OPTION...]
#   --local-base        builds on a base of scripts/base-image.sh, with scripts/buildah.sh: no registry
#   --release NAME      trixie (the default) or bookworm
#   --save FOLDER       also writes FOLDER/paceline-{operator,worker}.tar (docker-archive)
# Exit code 77: there is nothing here to build images with, and the last line says so.
set -euo pipefail
cd "$(dirname "$0")/.."
local_base='' release=trixie save=''
while [ $# -gt 0 ]; do
    case $1 in
    --local-base) local_base=1 ;;
    --release | --save)
        [ $# -gt 1 ] || {
            echo "$0: $1 needs a value" >&2
            exit 2
        }
        declare "${1#--}=$2"
        shift
        ;;
    *)
        echo "usage: $0 [--local-base] [--release NAME] [--save FOLDER]" >&2
        exit 2
        ;;
    esac
    shift
done

base=debian:$release-slim prefix=
if [ -n "$local_base" ]; then
    builder=scripts/buildah.sh
    base=$(scripts/base-image.sh "$base")
elif docker info >/dev/null 2>&1; then
    builder=docker
elif command -v podman >/dev/null; then
    builder=podman
elif command -v buildah >/dev/null; then
    builder=buildah
    export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} # works as root in containers, too
else
    echo "no images are built: none of docker (running), podman and buildah is here"
    exit 77
fi
case $builder in
docker) options=() ;;
*) options=(--layers --format docker) prefix=docker.io/library/ ;;
esac
if [ -n "$local_base" ]; then options+=(--pull=never); fi

version=$(sed -n 's/^#define PACELINE_VERSION "\(.*\)"/\1/p' include/paceline/version.h)
revision=$(git rev-parse HEAD 2>/dev/null || true)
for target in operator worker; do
    image=${prefix}paceline-$target:$version
    "$builder" build "${options[@]}" --target "$target" -t "$image" -f images/Dockerfile \
        --build-arg BASE="$base" \
        --build-arg VERSION="$version" --build-arg REVISION="$revision" . >&2
    echo "$image $("$builder" images --format '{{.Size}}' "$image")"
    [ -n "$save" ] || continue
    mkdir -p "$save"
    rm -f "$save/paceline-$target.tar"
    case $builder in
    *buildah*) "$builder" push -q "$image" "docker-archive:$save/paceline-$target.tar:$image" >&2 ;;
    *) "$builder" save -o "$save/paceline-$target.tar" "$image" >&2 ;;
    esac
    echo "$save/paceline-$target.tar"
done
