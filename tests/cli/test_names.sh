#!/bin/bash
# Names from data may hold any byte: of classes, files, columns, and what stands in a field. Whoever reads an answer
# in a pipe gets one line for each sample, and a terminal nothing that it obeys.
# LANE: waiting
. tests/cli/lib.sh

title=$'\033]0;title\a'
shown='\x1b]0;title\x07'
class=$'eel\nforged: cat 99.9%'$title
file=$'4\nforged: cat 99.9%'$title.png

python3 "$repo/tests/cli/make_pictures.py" . 12 4 || exit 1
for set in train test; do
    mv images/$set/eel "images/$set/$class"
done
cp "images/test/$class/3.png" "$file"
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: hostile}
spec:
  model: {layers: [{type: flatten}, {type: dense, units: 2}]}
  dataset: {name: images, path: images, imageSize: 8}
  training: {epochs: 3, batchSize: 4}
JOB
units=$(find images/train -mindepth 1 -maxdepth 1 -type d -printf . | wc -c)
sed -i "s/units: 2/units: $units/" job.yaml
"$PACELINE" run job.yaml --out run >log 2>&1 || fail "run: $(cat log)"

# answers NAME LINES PART COMMAND...: to a pipe and to a terminal.
answers() {
    local got terminal
    got=$("$PACELINE" "${@:4}" 2>&1)
    same "$1: lines" "$(wc -l <<<"$got")" "$2"
    harmless "$1" "$got"
    check "$1" "$got" "$3"
    terminal=$(on_terminal "$PACELINE" "${@:4}")
    harmless "$1, on a terminal" "$terminal"
    check "$1, on a terminal" "$terminal" "$3"
}
shown_class='eel\x0aforged: cat 99.9%'$shown
answers "a prediction" 1 "$shown_class " predict run "images/test/$class/3.png" --top "$units"
answers "the name of a file" 1 '4\x0aforged: cat 99.9%'$shown.png predict run "$file"
answers "an evaluation" $((units + 4)) 'eel\x0aforged: cat 99.9%'"${shown:0:1}" evaluate run
check "the report" "$(<run/report.html)" 'eel\x0aforged: cat 99.9%'"${shown:0:1}"
printf 'no image' >"$file"
answers "a message" 1 '4\x0aforged: cat 99.9%'$shown.png predict run "$file"
answers "a message beside an answer" 3 '4\x0aforged: cat 99.9%'$shown.png predict run "$file" "images/test/$class/3.png"

# A name that is not UTF-8: the events are.
raw=$'raw\xff\xe2\x82(.png'
utf8() {
    local got
    got=$("$PACELINE" "${@:3}" 2>/dev/null)
    python3 -c '
import json, sys
events = [json.loads(line.decode()) for line in sys.stdin.buffer]
print(events[0]["event"], events[0].get("input", events[0].get("message")))' <<<"$got" >out 2>&1
    check "$1" "$(<out)" "$2"
}
cp "images/test/$class/3.png" "$raw"
utf8 "a prediction for a name that is not UTF-8" 'prediction raw\xff\xe2\x82(.png' predict run "$raw" --json
answers "a name that is not UTF-8" 1 'raw\xff\xe2\x82(.png: ' predict run "$raw"
printf 'no image' >"$raw"
utf8 "what is skipped" 'skipped raw\xff\xe2\x82(.png' predict run "$raw" "images/test/$class/3.png" --json
utf8 "a refused name" 'error raw\xff\xe2\x82(.png' predict run "$raw" --json

# Tables of text.
printf 'a,"b\nforged: 1%s"\n1,2\n' "$title" >table.csv
answers "the columns of a table" 1 'table.csv: found 2 columns of numbers (a, b\x0aforged: 1'$shown predict run table.csv
values=$((3 * 8 * 8))
{
    seq -s , -f 'v%g' $((values - 1)) | tr -d '\n'
    printf ',"last\nforged: 1%s"\n' "$title"
    yes 1 | head -n $values | paste -sd ,
    yes 1 | head -n $((values - 1)) | paste -sd , | tr -d '\n'
    printf ',"x\nforged: 1%s"\n' "$title"
} >table.csv
answers "a field of a table" 3 "column last\\x0aforged: 1$shown: found \"x\\x0aforged: 1$shown\"; needed: a whole number" \
    predict run table.csv
verdict
