#!/bin/bash
# validate, explain and models: what they print, exit codes, and the reference page.
# shellcheck disable=SC2154 # lib.sh sets repo
. tests/cli/lib.sh

"$PACELINE" explain --markdown >page || fail "explain --markdown"
cmp page "$repo/docs/reference/trainingjob.md" ||
    fail "docs/reference/trainingjob.md is out of date: paceline explain --markdown >docs/reference/trainingjob.md"

python3 "$repo/tests/cli/make_values.py" data 40 20 || exit 1
for example in "$repo"/examples/*.yaml; do
    set=()
    case $example in */regression.yaml) set=(--set "dataset.path=$PWD/data/numbers") ;; esac
    out=$("$PACELINE" validate "$example" "${set[@]}" 2>errors)
    same "exit of $example" $? 0
    same "first line of $example" "$(head -1 <<<"$out")" ok
done
out=$("$PACELINE" validate "$repo/examples/fashion-cnn.yaml" 2>&1)
check promise "$out" "same bytes on any number of workers"
check parameters "$out" "3,274,634 parameters, 72.0 MFLOP"
check ceiling "$out" "2x on 2 workers"
out=$("$PACELINE" validate "$repo/examples/fashion-cnn.yaml" --workers 3 2>&1)
check "ceiling of 3" "$out" "2.909x on 3 workers"
# Who has whole batches needs what one worker needs, and is not bound by lanes.
grep -v 'strategy:' "$repo/examples/fashion-cnn.yaml" >plain.yaml
activations() {
    "$PACELINE" validate plain.yaml "$@" 2>&1 | grep -o 'activations [0-9.]* [KMG]iB'
}
one=$(activations --workers 1)
check "activations" "$one" "activations 10.9 MiB"
same "shared batches" "$(activations --workers 2)" "activations 5.4 MiB"
for whole in LocalSGD ElasticAveraging 'ParameterServer --set strategy.mode=async' \
    'ParameterServer --set strategy.batch=join --set training.accumulate=3'; do
    # shellcheck disable=SC2086 # options are words
    same "activations of $whole" "$(activations --workers 3 --set strategy.type=$whole)" "$one"
    # shellcheck disable=SC2086
    check "ceiling of $whole" "$("$PACELINE" validate plain.yaml --workers 3 \
        --set strategy.type=$whole 2>&1)" "3x on 3 workers"
done

"$PACELINE" validate "$repo/examples/mlp.yaml" --set training.epochs=0 --set training.lr=1 \
    >out 2>errors
same "exit of a bad job" $? 2
same "output of a bad job" "$(cat out)" ""
same "problems" "$(wc -l <errors)" 2
check "first problem" "$(cat errors)" "--set training.epochs=0: spec.training.epochs: found 0;"
"$PACELINE" validate "$repo/examples/mlp.yaml" --set training.epochs=0 --json >out 2>errors
same "exit of a bad job as JSON" $? 2
check "problems as JSON" "$(cat out)" '"ok": false'
"$PACELINE" validate absent.yaml >out 2>errors
same "exit of an absent job" $? 3
check "absent job" "$(cat errors)" "absent.yaml: No such file"
sed 's/{type: flatten}/{type: relu}/' "$repo/examples/inline-graph.yaml" >bad.yaml
"$PACELINE" validate bad.yaml >out 2>errors
same "exit of shapes that do not fit" $? 2
check "shapes that do not fit" "$(cat errors)" "layer features: a dense layer gets a 32x7x7 image"

# The effective job that validate prints is a job again, and the same one.
"$PACELINE" validate "$repo/examples/adam-cosine.yaml" --json >first.json 2>errors
python3 -c 'import json; json.dump(json.load(open("first.json"))["job"], open("job.json", "w"))'
"$PACELINE" validate job.json --json >second.json 2>errors
cmp <(grep -v "\"file\":" first.json) <(grep -v "\"file\":" second.json) || fail "the effective job changes when it is read again"

# Only a cluster runs any image.
any=$repo/examples/any-image.yaml
check "any image" "$("$PACELINE" validate "$any")" "worker      2, as its template says"
check "any image as JSON" "$("$PACELINE" validate "$any" --json)" '"image": "debian:stable-slim"'
out=$("$PACELINE" run "$any" 2>&1)
same "exit of a run of any image" $? 2
same "a run of any image" "$out" \
    "$any: spec.model: found nothing; needed: a network, for only a cluster runs jobs of any image"
out=$("$PACELINE_WORKER" --spec "$any" 2>&1) && fail "the worker takes any image"
check "the CRD" "$("$PACELINE" crd)" "kind: CustomResourceDefinition"
check "help of crd" "$("$PACELINE" crd --help)" "usage: paceline crd"
"$PACELINE" crd extra >out 2>&1
same "exit of crd with an argument" $? 2
check "what may not change" "$("$PACELINE" explain model)" "CHANGES:  not after creation"

out=$("$PACELINE" explain training.batchSize)
check explain "$out" "an integer from 1 to 1048576"
check "explain default" "$out" "DEFAULT:  128"
check "explain below" "$("$PACELINE" explain model.layers)" "kernel"
out=$("$PACELINE" explain batchSzie 2>&1)
same "exit of an unknown field" $? 2
check "unknown field" "$out" "did you mean spec.training.batchSize?"
out=$("$PACELINE" explain status.launch)
check "a field of status" "$out" "FIELD:    status.launch <object>"
check "a field below it" "$out" "  from                   <time>"
out=$("$PACELINE" explain status.launch.reason)
[[ $out != *ALLOWED* ]] || fail "explain says what is allowed in status: $out"
check "a field of status as JSON" "$("$PACELINE" explain status.progress.loss --json)" '"type": "number"'
check "a field that status lacks" "$("$PACELINE" explain status.progress.los 2>&1)" "did you mean status.progress.loss?"
check "the page of one field" "$("$PACELINE" explain training --markdown 2>&1)" "it takes no other field"
check models "$("$PACELINE" models fashion-cnn)" "64x14x14"
out=$("$PACELINE" models fashion-cn 2>&1)
same "exit of an unknown model" $? 2
check "unknown model" "$out" "did you mean fashion-cnn?"
out=$("$PACELINE" modles 2>&1)
same "exit of an unknown command" $? 2
check "unknown command" "$out" "did you mean models?"

verdict
