#!/bin/bash
# A terminal never gets a byte of others' words that it would obey: events, logs of the engine, names
# in job files and checkpoints, names of files. Pipes and files get every byte as it is.
. tests/cli/lib.sh
fake

# on_terminal COMMAND...: the bytes that a terminal gets.
on_terminal() {
    python3 - "$@" <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.environ["LC_ALL"] = "C.UTF-8"
    os.execv(sys.argv[1], sys.argv[1:])
data = b""
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:
        part = b""
    if not part:
        break
    data += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(data)
PY
}

# harmless NAME TEXT: beside line ends and the bar's own commands, no byte that a terminal obeys.
harmless() {
    printf '%s' "$2" | python3 -c '
import re, sys
text = sys.stdin.buffer.read().decode().rstrip("\r")  # fails where it is no UTF-8
text = re.sub(r"\r\x1b\[K|\x1b\[(0|1|2|32)m|\r\n", "", text)
bad = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
sys.exit(f"control characters: {bad}" if bad else 0)' || fail "$1: harmful"
}

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
verdict
