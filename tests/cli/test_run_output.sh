#!/bin/bash
# What is printed: plain lines to a pipe, one line redrawn on a terminal, events with --json.
. tests/cli/lib.sh
fake

plain=$("$PACELINE" run job.yaml --out plain)
check "plain" "$plain" "epoch 1/2  loss 0.5000  accuracy 80.00%  test 85.00%"
check "plain" "$plain" "test accuracy  90.00%  (loss 0.4000, top-5 99.00%)"
check "plain" "$plain" "report         plain/report.html"
case $plain in *$'\r'* | *$'\033'*) fail "plain: control characters" ;; esac

json=$("$PACELINE" run job.yaml --out json --json)
same "json is the events" "$json" "$(cat json/events.jsonl)"
json=$(FAKE=vanish "$PACELINE" run job.yaml --out lost --json 2>/dev/null | timeless)
same "json of a failure" "$json" \
    '{"event":"error","code":1,"message":"the worker ended before it was done and gave no reason"}'
json=$(FAKE=error "$PACELINE" run job.yaml --out err --json 2>/dev/null | grep -c '"error"')
same "an error of the worker is not said twice" "$json" 1

# terminal COLUMNS TERM: the bytes that a terminal gets.
terminal() {
    python3 - "$1" "$2" "$PACELINE" run job.yaml --out terminal <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.environ["TERM"] = sys.argv[2]
    os.environ["LC_ALL"] = "C.UTF-8"
    os.execv(sys.argv[3], sys.argv[3:])
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

live=$(terminal 100 xterm)
check "live" "$live" $'\r\033[Kepoch 1/2 '
check "live" "$live" "█"
check "live" "$live" $'\r\033[Kepoch 1/2  loss 0.5000'
# No redrawn line is wider than the terminal, whatever its width.
for columns in 30 60 80 200; do
    widest=$(terminal $columns xterm | python3 -c '
import re, sys
text = sys.stdin.buffer.read().decode()
bars = [re.sub(r"\x1b\[[0-9;]*[mK]", "", s) for s in re.findall(r"\r\x1b\[K([^\r\n]*)", text)]
print(max(len(bar) for bar in bars if "ETA" in bar or "%" in bar and "test" not in bar))')
    if [ "$widest" -ge $columns ]; then fail "a bar of $widest on $columns columns"; fi
done
dumb=$(terminal 100 dumb)
case $dumb in *$'\033'*) fail "dumb terminal: control characters" ;; esac
verdict
