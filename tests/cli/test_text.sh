#!/bin/bash
# TIMEOUT: 300
# Words: a small text is learnt; the same bytes on any number of workers, threads and instruction
# sets, and when a run is resumed in the middle of an epoch; what cannot be is refused.
. tests/cli/lib.sh

words_job words "best: false"
one_order
# The state that rows go on with is there on whoever has them.
for n in 2 3; do
    same "split over $n" "$(result "layers$n" --workers $n --set strategy.type=ModelParallel --set training.clipNorm=0)" \
        "$(result "layers1-$n" --set training.clipNorm=0)"
done
same "micro-batches" "$(result micro --workers 2 --set strategy.type=ModelParallel --set strategy.microBatches=4 \
    --set training.clipNorm=0)" "$(result micro1 --set training.clipNorm=0)"
free_strategies --set training.clipNorm=0
check "accumulated" "$("$PACELINE" validate job.yaml --set training.accumulate=2 2>&1)" "found 2 with layer lstm1, whose state goes on"

plain=$(result plain --set training.clipNorm=0) # updates at once, without a gradient of the whole
same "servers" "$(result servers --workers 3 --set training.clipNorm=0 --set strategy.type=ParameterServer)" "$plain"

# What an LSTM keeps, and its gradients, is said before.
wide="model={layers: [{type: embedding, vocabulary: 12, units: 32}, {type: lstm, units: 48}, {type: dense, units: 12}]}"
said=$("$PACELINE" validate job.yaml --json --set "$wide" | sed -n 's/.*"activations": *\([0-9.]*\).*/\1/p')
result wide --set training.steps=1 --set "$wide" >/dev/null
kept=$(sed -n 's/.*"event":"start".*"savedActivations":\([0-9]*\),"activationGradients":\([0-9]*\).*/\1 \2/p' wide/events.jsonl)
same "what validate says of activations" "${said:-nothing}" "$((${kept/ /+}))"

# Stopped in the middle of an epoch.
"$PACELINE" run job.yaml --out resumed --set training.steps=19 >resumed.log 2>&1 || fail "$(cat resumed.log)"
same "resumed" "$(result resumed --resume --workers 2)" "$want"

# Seven of eight words follow from the one before them; half of the rest are ends of lines. What the events
# say of it is what follows from their losses, e to the power of the mean of a word; the best checkpoint is that
# of the least validation loss.
"$PACELINE" run job.yaml --json --out learns --set training.epochs=25 --set checkpoint.best=true >learns.events 2>learns.log ||
    fail "$(cat learns.log)"
python3 "$repo/tests/cli/perplexity.py" 7 learns.events >told || fail "perplexity: $(cat told)"
check "the best" "$(head -c 8000 learns/best.safetensors | tr -d '\0')" "\"step\":\"$(<told)\""
check "learnt" "$(tail -1 learns.events | grep -o '"testAccuracy":0.[6-9]')" testAccuracy

# Too large steps: the last epoch is not the best. And words stop early by perplexity.
"$PACELINE" run job.yaml --json --out worse --set checkpoint.best=true --set training.optimizer.learningRate=30 \
    >worse.events 2>worse.log || fail "$(cat worse.log)"
python3 "$repo/tests/cli/perplexity.py" 7 worse.events >told || fail "worse: $(cat told)"
"$PACELINE" run job.yaml --out shown --set "training.earlyStopping={monitor: perplexity, patience: 1, minDelta: 1000}" \
    >shown.text 2>&1 || fail "shown: $(cat shown.text)"
for text in "words/s  " "  perplexity " "  perplexity     " "stopped early  at epoch 2: no better for 1 epoch"; do
    check "on the screen" "$(<shown.text)" "$text"
done
for text in "Test perplexity" "Words per second" "Perplexity</h2>" "Throughput, words per second"; do
    check "in the report" "$(<shown/report.html)" "$text"
done
check "evaluated" "$("$PACELINE" evaluate learns/best.safetensors)" " words: perplexity "

# Words of any bytes. These have the same order as those they stand for, so all answers are the same.
mkdir bytes
for file in train valid test; do
    sed 's/fox/f\xf4x/g; s/hills/h\xef\xbf\xbdlls/g; s/over/o\xff\x80er/g' data/$file.txt >bytes/$file.txt
done
# answer RUN TEXT: of predict, without names.
answer() {
    "$PACELINE" predict "$1" "$2" --json 2>&1 | timeless | sed 's/"input":"[^"]*",//; s/,"label":"[^"]*"//g'
}
"$PACELINE" run job.yaml --out letters >log 2>&1 || fail "letters: $(cat log)"
"$PACELINE" run job.yaml --out bytes.run --set dataset.path=bytes >log 2>&1 || fail "bytes: $(cat log)"
want_answer=$(answer letters data/test.txt)
check "no word is unknown" "$want_answer" '"unknown":0,"loss":'
same "words of any bytes" "$(answer bytes.run bytes/test.txt)" "$want_answer"
# evaluation ARGUMENTS...: without names.
evaluation() {
    "$PACELINE" evaluate "$@" --json 2>&1 | timeless | sed 's/"classes":[^]]*],//'
}
same "words of any bytes, evaluated" "$(evaluation bytes.run)" "$(evaluation letters)"
check "names of as many words as the text has, for more outputs" "$("$PACELINE" evaluate letters --json)" ',"<unk>"],"confusion":['
check "how other readers see them" "$("$PACELINE" predict bytes.run bytes/test.txt --top 12 --json)" '"label":"fôx"'
# Numbers of other words would be silently wrong.
says=$("$PACELINE" evaluate letters --set dataset.path=bytes 2>&1)
same "evaluated with another text, exit code" $? 2
check "evaluated with another text" "$says" '" in the data; needed: data with the training text that the model was trained on'
cp -r letters other.text
says=$("$PACELINE" run job.yaml --out other.text --resume --set training.epochs=4 --set dataset.path=bytes 2>&1)
same "resumed with another text, exit code" $? 2
check "resumed with another text" "$says" '" in the data; needed: data with the training text that the model was trained on'
# An earlier version has written U+FFFD for some bytes: which word it was nobody knows.
python3 - bytes.run/checkpoint-*[0-9].safetensors earlier.safetensors <<'PY' || fail "an earlier version"
import json, sys
data = open(sys.argv[-2], "rb").read()
n = 8 + int.from_bytes(data[:8], "little")
header = json.loads(data[8:n])
about = header["__metadata__"]
names = json.loads(about["classNames"])
for i in json.loads(about.pop("classNamesBytes")):
    names[i] = names[i].encode("latin-1").decode(errors="replace")
about["classNames"] = json.dumps(names)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[-1], "wb").write(len(text).to_bytes(8, "little") + text + data[n:])
PY
says=$("$PACELINE" predict earlier.safetensors bytes/test.txt 2>&1)
same "words that are spoiled, exit code" $? 2
check "words that are spoiled" "$says" "an earlier version could not write words that are not UTF-8; train it again with this version"
same "words that are spoiled, evaluated" "$(evaluation earlier.safetensors --set dataset.path=bytes)" "$(evaluation letters)"

sed 's/vocabulary: 12, units/vocabulary: 9, units/' job.yaml >other.yaml
check "too few words" "$("$PACELINE" run other.yaml --out other 2>&1)" "layer embedding1 has a vocabulary of 9, but the data have 10 different words"
sed 's/type: dense, units: 12/type: dense, units: 9/' job.yaml >other.yaml
check "too few scores" "$("$PACELINE" run other.yaml --out other 2>&1)" "has 9 outputs, but the data have 10 different words"
check "too short" "$("$PACELINE" validate job.yaml --set training.batchSize=500 2>&1)" "needed for spec.training.batchSize 500 and spec.dataset.steps 7: 4000"
sed '/type: lstm/d; s/- {type: embedding.*/- {type: flatten}/' job.yaml >other.yaml
check "no embedding" "$("$PACELINE" validate other.yaml 2>&1)" "so the first layer is an embedding"
sed 's/- {type: tanh}/- {type: flatten}/' job.yaml >other.yaml
check "no map" "$("$PACELINE" validate other.yaml 2>&1)" "layer flatten1: it gets a sequence of 7 positions; allowed there: dense, layernorm, add, relu, sigmoid, tanh, gelu, dropout, lstm"
sed 's/name: text, path: data, steps: 7/name: fashion-mnist/' job.yaml >other.yaml
check "an image" "$("$PACELINE" validate other.yaml 2>&1)" "an embedding gets 1x28x28 values; it takes the samples themselves, of a text"
check "shuffled" "$("$PACELINE" validate job.yaml --set dataset.shuffle=true 2>&1)" "shuffle"

verdict
