#!/bin/bash
# The user's command against a real cluster: the model out of the chief's memory is that of one machine
# to the byte, a sweep measures and leaves nothing, and what is missing is said.
# TIMEOUT: 900
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
keep_seconds=86400
cluster_test
paceline_images
paceline_install
chief_phase() { t get pod "$(worker_pod "$1" 0)" -o 'jsonpath={.status.phase}'; }
# get_model JOB [ARGUMENT...]
get_model() { "$PACELINE" get-model "$@" -n "$name" >"$dir/output" 2>"$dir/errors"; }

# To the end on two workers; the chief stays with its model until it was fetched.
train kept 2 3 >"$dir/kept.yaml"
"$PACELINE" run "$dir/kept.yaml" --out "$dir/here" >/dev/null 2>"$dir/here.log" || fail "here: $(cat "$dir/here.log")"
apply <"$dir/kept.yaml"
await kept Succeeded
same "the chief" "$(chief_phase kept)" Running
get_model kept -o "$dir/got" || fail "get-model: $(cat "$dir/errors")"
cat "$dir/output"
cmp "$dir/got/model.safetensors" "$(checkpoint_in "$dir/here")" || fail "the model is another one"
check "evaluate" "$("$PACELINE" evaluate "$dir/got/model.safetensors" --json)" '"accuracy"'
has_ended() { [ "$(chief_phase kept)" = Succeeded ]; }
until_true has_ended
get_model kept -o "$dir/again" && fail "fetched from a pod that has ended"
check "fetched twice" "$(cat "$dir/errors")" "the pod of its worker 0 is gone and the model with it"

# As a plugin of kubectl, and while it still trains.
apply <<<"$(train slow 1 400)"
until_step slow 50
get_model slow -o "$dir/slow" && fail "a model before the end"
check "still training" "$(cat "$dir/errors")" "job slow is still training: step "
[ -e "$dir/slow" ] && fail "a folder without a model"
t delete tj slow --wait=false >/dev/null
apply <<<"$(train quick 1 1)"
await quick Succeeded
PATH=$(dirname "$PACELINE"):$PATH kubectl paceline get-model quick -n "$name" -o "$dir/quick" >/dev/null ||
    fail "kubectl paceline"
[ -s "$dir/quick/model.safetensors" ] || fail "the plugin's model"

# Who may look but not exec; what is not there.
t create serviceaccount reader >/dev/null
t create rolebinding reader --clusterrole=view --serviceaccount="$name:reader" >/dev/null
apply <<<"$(train guarded 1 1)"
await guarded Succeeded
cluster_kubeconfig "$dir/reader.conf" "token: $(t create token reader)" "https://$node_ip:6443"
KUBECONFIG=$dir/reader.conf get_model guarded -o "$dir/guarded" && fail "fetched without the right to"
check "no right to exec" "$(cat "$dir/errors")" "you may not \`create pods/exec\` there"
get_model absent && fail "a job that is not there"
check "no such job" "$(cat "$dir/errors")" "there is no job absent in namespace $name"

# A sweep.
sweep() { "$PACELINE" speedup "$dir/kept.yaml" --on cluster -n "$name" --out "$dir/out" "$@" >"$dir/output" 2>"$dir/errors"; }
none_is_left() { ! t get tj -o name | grep -q speedup; }
sweep --workers 1,2 --steps 300 || fail "the sweep: $(cat "$dir/errors")"
cat "$dir/output"
same "rows" "$(grep -cE '^ *[12] +[0-9]' "$dir/output")" 2
[ -s "$dir/out/report.html" ] || fail "no report"
none_is_left || fail "jobs are left: $(t get tj)"
sed 's/cpu: 50m/cpu: "1000"/' "$dir/kept.yaml" >"$dir/large.yaml"
"$PACELINE" speedup "$dir/large.yaml" --on cluster -n "$name" --out "$dir/out" --workers 1 --patience 10 2>"$dir/errors" &&
    fail "1000 CPUs"
check "too large a request" "$(tail -n 1 "$dir/errors")" "Insufficient cpu"
none_is_left || fail "a job that did not start is left"
"$PACELINE" speedup "$dir/kept.yaml" --on cluster -n "$name" --out "$dir/out" --workers 1 \
    --steps 100000 >/dev/null 2>&1 &
pid=$!
trains() { [ "$(step_of kept-speedup-1)" -gt 0 ] 2>/dev/null; }
until_true trains
kill -INT $pid
wait $pid
same "interrupted" $? 130
until_true none_is_left
verdict
