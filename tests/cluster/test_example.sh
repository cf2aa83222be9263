#!/bin/bash
# The example that everybody begins with: to its end on two workers, as well trained as it says, and its
# model can be read.
# TIMEOUT: 900
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=600
cluster_test
paceline_images
paceline_install

# As it is, but for what it asks to be kept free for it: the node may have no two CPUs to spare.
sed 's/^\( *\)limits: .*/&\n\1requests: {cpu: 100m}/' examples/fashion-cnn.yaml | apply
await fashion-cnn Succeeded
t get tj
accuracy=$(of tj/fashion-cnn '{.status.progress.accuracy}')
awk "BEGIN { exit !($accuracy >= 0.90) }" || fail "accuracy is $accuracy, at least 0.90 is promised"
"$PACELINE" get-model fashion-cnn -n "$name" -o "$dir/got" >/dev/null || fail "get-model"
check "evaluate" "$("$PACELINE" evaluate "$dir/got/model.safetensors")" "accuracy"
"$PACELINE" run examples/fashion-cnn.yaml --out "$dir/here" >/dev/null 2>"$dir/here.log" || fail "here: $(cat "$dir/here.log")"
cmp "$dir/got/model.safetensors" "$(checkpoint_in "$dir/here")" ||
    fail "the model is not that of one machine"
verdict
