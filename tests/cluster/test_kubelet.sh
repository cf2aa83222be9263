#!/bin/bash
# The node's kubelet hangs while jobs train: who may wait trains on and ends, its success heard from its
# agent; who may not is given up, and trained to its end when the kubelet is back. Same weights.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=180
cluster_test
paceline_images
paceline_install
# Whoever comes next finds a kubelet.
trap 'cluster_signal kubelet CONT; cluster_test_end' EXIT

node_is() { [ "$(k get node "$node_id" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$1" ]; }
given_up() { [ "$(of tj/moved '{.status.conditions[?(@.type=="Running")].reason}')" != Training ]; }

{
    train steady 2 60 "nodeLossSeconds: 300"
    train moved 1 150 "nodeLossSeconds: 1, fenceSeconds: 1"
} | apply
until_step steady 50
until_step moved 50
before=$(generation_of moved)
cluster_signal kubelet STOP
until_true node_is Unknown
await steady Succeeded
same "launches of steady" "$(generation_of steady)" 1
until_true given_up
cluster_signal kubelet CONT
until_true node_is True
until_relaunched moved "$before"
await moved Succeeded
same "weights of steady" "$(digest_of steady)" "$(digest_here 2 60)"
same "weights of moved" "$(digest_of moved)" "$(digest_here 1 150)"
verdict
