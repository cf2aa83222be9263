#!/bin/bash
# A terminal never gets a byte of others' words that it would obey: events, logs of the engine, names
# in job files and checkpoints, names of files. Pipes and files get the engine's log and the events as they are.
. tests/cli/lib.sh
fake

title=$'\033]0;title\a'
shown='\x1b]0;title\x07'

got=$(FAKE=hostile on_terminal "$PACELINE" run job.yaml --out run)
harmless "a run" "$got"
check "a run: the job's name" "$got" "fake$shown"'\x1b[2J\xc2\x9b31m\xe2\x80\xae'
check "a run: the engine's log" "$got" "log $shown"
check "a run: other characters" "$got" "é€"
case $got in *'\xc3'*) fail "a run: a character that buffers have parted" ;; esac
check "a run: the bar" "$got" $'\r\033[Kepoch 1/2 '
check "a run: styles" "$got" $'\033[1m'
piped=$(FAKE=hostile "$PACELINE" run job.yaml --out piped 2>&1 >/dev/null)
check "a pipe" "$piped" "log $title"
lines=$(FAKE=hostile "$PACELINE" run job.yaml --out lines --json 2>/dev/null)
same "events as they are" "$lines" "$(cat lines/events.jsonl)"

# Names in job files, and of the files.
sed "s/name: small/name: \"\\\\x9b31m\\\\e]0;title\\\\a\"/" job.yaml >"bad$title.yaml"
got=$(on_terminal "$PACELINE" validate "bad$title.yaml")
harmless "validate" "$got"
check "validate: the file's name" "$got" "bad$shown.yaml"
got=$(on_terminal "$PACELINE" "run$title")
harmless "an unknown command" "$got"
check "an unknown command" "$got" "run$shown"

# Names of tensors and metadata.
python3 - "$title" <<'PY'
import json, struct, sys
def write(path, value, number):
    name = "dense" + sys.argv[1] + "\u009b"
    head = {"__metadata__": {"note": value},
            name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    text = json.dumps(head, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<f", number))
write("a.safetensors", "x" + sys.argv[1], 1)
write("b.safetensors", "y", 2)
PY
got=$(on_terminal "$PACELINE" diff a.safetensors b.safetensors)
harmless "diff" "$got"
check "diff: a tensor" "$got" "first difference: dense$shown"'\xc2\x9b'
check "diff: metadata" "$got" "x$shown"
# In a pipe neither names nor a message about them is a line of its own.
sed "s/name: small/name: \"a\\nok\"/" job.yaml >$'two\nlines.yaml'
got=$("$PACELINE" validate $'two\nlines.yaml' 2>&1)
check "validate in a pipe" "$got" 'two\x0alines.yaml:'
same "validate in a pipe: lines" "$(wc -l <<<"$got")" 1
got=$("$PACELINE" diff a.safetensors b.safetensors)
harmless "diff in a pipe" "$got"
check "diff in a pipe: a tensor" "$got" "first difference: dense$shown"'\xc2\x9b'
check "diff in a pipe: metadata" "$got" "x$shown"
verdict
