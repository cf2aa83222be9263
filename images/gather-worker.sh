#!/bin/bash
# The worker's root folder: our programs, Open MPI without what needs its own hardware, Fashion-MNIST,
# and busybox for `kubectl exec`.
#   images/gather-worker.sh ROOT
set -euo pipefail
root=$1
shopt -s nullglob
cd "$(dirname "$0")"

lib=/usr/lib/$(gcc -print-multiarch)
paths=(/usr/bin/paceline{,-worker,-agent,-agent-portable} /usr/bin/{busybox,mpirun} /etc/openmpi
    /usr/share/datasets/fashion-mnist /usr/share/{openmpi,prte}/help-*.txt
    "$lib/libcurl.so.4") # what `paceline data fetch` loads
# Of Open MPI 4, of Open MPI 5, of both.
for path in /usr/bin/{orted,orterun,prted,prterun,prte} \
    "$lib"/pmix2/{lib/pmix,share/pmix}; do
    if [ -e "$path" ]; then paths+=("$path"); fi
done
# Open MPI 4 loads components from a folder. Those for InfiniBand, Omni-Path and GPUs stay behind
# with the libraries that they need, and so do those of OpenSHMEM.
unwanted='cuda|fabric|libucp|libpsm|libibverbs|liboshmem|librdmacm'
for path in "$lib"/openmpi/lib/openmpi3/*.so; do
    if ! ldd "$path" | grep -E "$unwanted" >/dev/null; then paths+=("$path"); fi
done
./gather.sh "$root" "${paths[@]}"
# Without ssh Open MPI 4 would start nothing, not even ranks on its own host.
printf "\nplm_rsh_agent =\n" >>"$root/etc/openmpi/openmpi-mca-params.conf"
for applet in $(busybox --list); do
    if ! [ -e "$root/usr/bin/$applet" ]; then ln -s busybox "$root/usr/bin/$applet"; fi
done
