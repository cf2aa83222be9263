#!/bin/bash
# How quick jobs are, as a table (docs/performance/operator.md says what for). Only meaningful on a quiet machine:
#   make test-cluster SHOW=1 TESTS=tests/cluster/test_speed.sh     RUNS=N: N runs of each, else 10
# TIMEOUT: 1800
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
paceline_images
paceline_install

echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
python3 -u tests/cluster/speed.py "https://$node_ip:6443" "$cluster_dir/pki" "$name" "${RUNS:-10}" ||
    fail "not measured"
for image in worker:250 operator:60; do
    size=$(k get node "$node_id" -o json | python3 -c '
import json, sys
for image in json.load(sys.stdin)["status"]["images"]:
    if any(name.endswith(sys.argv[1]) for name in image["names"] or []):
        print(image["sizeBytes"] // 1000000)' "/paceline-${image%:*}:$paceline_version")
    echo "| image paceline-${image%:*} | $size MB | | ${image#*:} MB |"
done
verdict
