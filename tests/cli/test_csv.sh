#!/bin/bash
# Tables: learnt to the same bytes on any number of workers, packed or not, and predicted by the names of their columns,
# wherever these stand.
. tests/cli/lib.sh

mkdir data
python3 - <<'PY'
import random
draw = random.Random(5)
for name, n in (("train", 240), ("test", 60)):
    with open(f"data/{name}.csv", "w") as f:
        print('width,species,length,"odd, name"', file=f)
        for _ in range(n):
            k = draw.randrange(3)
            print(f"{2 * k + draw.gauss(0, .4):.4f},{k},{1e3 * (5 - k + draw.gauss(0, .4)):.2f},{draw.gauss(0, 1):.2e}", file=f)
PY
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: table}
spec:
  model: {layers: [{type: dense, units: 16}, {type: relu}, {type: dense, units: 3}]}
  dataset: {name: csv, path: data, labelColumn: species, normalizeBy: channel, validationSplit: 0.1}
  training: {epochs: 6, batchSize: 12, lanes: 4, threads: 1}
JOB
one_order
accuracy=$(sed -n 's/.*"event":"done".*"testAccuracy":\([0-9.]*\).*/\1/p' base/events.jsonl)
awk "BEGIN { exit !($accuracy > 0.9) }" || fail "test accuracy $accuracy"

mkdir packed
for file in train test; do gzip -c "data/$file.csv" >"packed/$file.csv.gz"; done
same "packed" "$(result packed-run --set dataset.path=packed)" "$want"
# The order of columns is that of the training table.
mkdir turned
cp data/train.csv turned
python3 - <<'PY'
import csv
rows = list(csv.reader(open("data/test.csv")))
csv.writer(open("turned/test.csv", "w"), lineterminator="\r\n").writerows(row[::-1] for row in rows)
PY
same "another order of columns" "$(result turned-run --set dataset.path=turned)" "$want"
loss() { grep -o '"event":"done".*' "$1/events.jsonl" | grep -o '"testLoss":[^,]*'; }
same "the test loss" "$(loss turned-run)" "$(loss base)"

# Two rows of the classes 0 and 2, with a column more, in two orders.
printf 'id,"odd, name",length,width\nx,0.1,5000,0\ny,0,3000,4\n' >new.csv
printf 'width,length,"odd, name"\n0,5000,0.1\n4,3000,0\n' >other.csv
told=$("$PACELINE" predict base new.csv 2>&1)
check "predict" "$told" "new.csv[0]: 0 9"
check "predict" "$told" "new.csv[1]: 2 9"
same "another order" "$("$PACELINE" predict base other.csv 2>&1)" "${told//new.csv/other.csv}"
printf 'width,length\n0,5\n' >few.csv
check "a column is missing" "$("$PACELINE" predict base few.csv 2>&1)" \
    "few.csv: found no column odd, name; the model was trained on one"
check "evaluate" "$("$PACELINE" evaluate base 2>&1)" "60 samples"

# What is wrong is told before the first step, and by validate.
sed -i '17s/,[0-9.e+-]*$/,much/' data/train.csv
for command in validate run; do
    check "$command" "$("$PACELINE" "$command" job.yaml 2>&1)" \
        'data/train.csv:17: column odd, name: found "much"; needed: a number'
done
check "no path" "$("$PACELINE" validate job.yaml --set 'dataset={name: csv}' 2>&1)" \
    "needed with dataset.name idx, images, arrays, csv and text"
check "augment" "$("$PACELINE" validate job.yaml --set dataset.augment.flip=true 2>&1)" \
    "what is done to pixels, with name arrays or csv"
verdict
