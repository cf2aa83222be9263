#!/bin/bash
# paceline data: what it lists, what it refuses, how it ends; from a server of this test on loopback. What
# is done with the bytes that come is unit/cli/data/test_fetch. The command loads libcurl and libcrypto only when it fetches.
. tests/cli/lib.sh
unset PACELINE_DATA PACELINE_DATA_MIRROR http_proxy https_proxy
export HOME=$dir/home

# ends NAME CODE SENTENCE ARGUMENTS...: of data fetch; nothing on standard output.
ends() {
    local what=$1 code=$2 sentence=$3
    shift 3
    "$PACELINE" data fetch "$@" >output 2>errors
    same "$what, exit code" $? "$code"
    check "$what" "$(cat errors)" "$sentence"
    same "$what, output" "$(cat output)" ""
}

check "list" "$("$PACELINE" data list)" "handwritten digits"
check "list, the checksum" "$("$PACELINE" data list | grep ^ptb)" MD5
"$PACELINE" data list --json >list.json
PACELINE_DATA=/sets "$PACELINE" data list --json >there.json
python3 - <<'CHECKS' || fail "data list --json"
import json
sets = {s["name"]: s for s in json.load(open("list.json"))}
assert sets["cifar10"]["bytes"] == 170052171 and sets["cifar10"]["checksum"] == "SHA-256", sets
assert all(s["home"].startswith("https://") and s["files"] for s in sets.values()), sets
assert sets["mnist"]["folder"].endswith("/home/.local/share/paceline/mnist"), sets
assert json.load(open("there.json"))[0]["folder"] == "/sets/mnist"
CHECKS

"$PACELINE" data 2>errors
same "no verb" $? 2
check "no verb" "$(cat errors)" "list or fetch is missing"
"$PACELINE" data get 2>errors
check "an unknown verb" "$(cat errors)" 'found "get"; list and fetch are allowed'
ends "no name" 2 "NAME is missing"
ends "an unknown set" 2 'found "cifar-10", no data set that is known here; did you mean cifar10?' cifar-10
ends "plain http" 2 "no address of https; http is allowed to this machine itself only" mnist --mirror http://example.org
PACELINE_DATA_MIRROR=file:///etc ends "a file" 2 "no address of https" mnist
readelf -d "$PACELINE" | grep -E 'NEEDED.*(libcurl|libcrypto)' && fail "every command loads what only fetching needs"

# A mirror that has nothing of mnist, zeros for ptb (whose table is a real one), and hangs for the rest.
cat >server.py <<'SERVER'
import http.server, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        if self.path.startswith("/mnist/"):
            return self.send_error(404)
        self.send_response(200)
        self.send_header("ETag", '"1"')
        n = 1000 if self.path.startswith("/ptb/") else 170052171
        self.send_header("Content-Length", str(n))
        self.end_headers()
        self.wfile.write(bytes(1000))
        self.wfile.flush()
        if n > 1000: time.sleep(600)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
SERVER
mkfifo hold
python3 server.py <hold >port &
server=$!
exec 7>hold
until_true test -s port
PACELINE_DATA_MIRROR=http://127.0.0.1:$(cat port)
export PACELINE_DATA_MIRROR

ends "not there" 3 "/mnist/train-images-idx3-ubyte.gz: the server answers with status 404" mnist
ends "zeros" 3 "/ptb/ptb.train.txt: its MD5 is " ptb --to text
[ -e text ] && fail "zeros, but there is a folder"
[ -e text.part/ptb.train.txt ] && fail "zeros are kept"

"$PACELINE" data fetch cifar10 --to deep/pictures/ >output 2>errors &
pid=$!
came() { [ "$(stat -c %s deep/pictures.part/cifar-10-binary.tar.gz 2>&1)" = 1000 ]; }
until_true came
ends "two at once" 1 "deep/pictures.part: another fetch works on it" cifar10 --to deep/pictures
kill -INT $pid
wait $pid
same "interrupted, exit code" $? 130
check "interrupted" "$(cat errors)" "interrupted; the same command goes on where it ended"
same "interrupted, files" "$(ls deep)" "pictures.part"
same "interrupted, parts" "$(ls deep/pictures.part)" "cifar-10-binary.tar.gz
cifar-10-binary.tar.gz.etag"
same "interrupted, what has come" "$(stat -c %s deep/pictures.part/cifar-10-binary.tar.gz)" 1000

exec 7>&-
wait $server
verdict
