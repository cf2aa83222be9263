#!/bin/bash
# validate of standard input and of several files: one verdict each, which names its file, and the exit code
# of the first that is not right; explain shows the defaults of what is below a field.
. tests/cli/lib.sh

cp "$repo/examples/mlp.yaml" good.yaml
sed 's/epochs: [0-9]*/epochs: 0/' good.yaml >bad.yaml
head='spec.training.epochs: found 0; allowed: an integer from 1 to 1000000'

# verdict_of CODE OUT ERRORS ARGUMENT...: validate ends with CODE and prints these lines' beginnings; standard
# input is bad.yaml.
verdict_of() {
    local code=$1 out=$2 errors=$3
    shift 3
    "$PACELINE" validate "$@" <bad.yaml >out 2>errors
    same "exit of validate $*" $? "$code"
    same "verdicts of $*" "$(grep -E '(^|: )ok$' out)" "$out"
    same "problems of $*" "$(grep -v warning errors)" "$errors"
}
verdict_of 0 ok '' good.yaml
verdict_of 2 '' "standard input:$(grep -n epochs bad.yaml | cut -d: -f1): $head" -
verdict_of 0 $'good.yaml: ok\ngood.yaml: ok' '' good.yaml good.yaml
line=$(grep -n epochs bad.yaml | cut -d: -f1)
verdict_of 2 'good.yaml: ok' "bad.yaml:$line: $head" bad.yaml good.yaml
verdict_of 2 'good.yaml: ok' "bad.yaml:$line: $head" good.yaml bad.yaml
verdict_of 3 'good.yaml: ok' "absent.yaml: No such file or directory
bad.yaml:$line: $head" absent.yaml good.yaml bad.yaml
verdict_of 0 $'bad.yaml: ok\nstandard input: ok' '' bad.yaml - --set training.epochs=1
same "nothing to validate" "$("$PACELINE" validate 2>&1)" \
    "paceline validate: JOB... is missing; \`paceline validate --help\` says more"

# A warning names its file where there are several.
sed 's/^spec:/spec:\n  strategy: {algorithm: ring}/' good.yaml >odd.yaml
"$PACELINE" validate good.yaml odd.yaml --set training.threads=64 --set training.lanes=8 >out 2>errors
check "a warning of the first" "$(cat errors)" "good.yaml: warning: "
check "a warning of the second" "$(cat errors)" "odd.yaml: warning: "

"$PACELINE" validate bad.yaml good.yaml --json >out 2>errors
same "exit of several as JSON" $? 2
same "several as JSON" "$(python3 -c 'import json
print([(r["file"], r["ok"], len(r.get("problems", []))) for r in json.load(open("out"))])')" \
    "[('bad.yaml', False, 1), ('good.yaml', True, 0)]"
"$PACELINE" validate good.yaml --json >out 2>errors
same "one as JSON" "$(python3 -c 'import json; print(json.load(open("out"))["file"])')" good.yaml

out=$("$PACELINE" explain training)
check "a default" "$out" "batchSize              <integer> default 128"
check "defaults by another field" "$("$PACELINE" explain training.optimizer)" \
    "momentum               <number> default 0.9 (sgd), 0 (rmsprop)"
check "no default" "$("$PACELINE" explain dataset)" $'path                   <string>\n'

verdict
