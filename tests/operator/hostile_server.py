"""An API server full of the greatest objects that etcd takes, for tests/operator/test_memory.sh.

Usage: hostile_server.py OBJECTS PODS JOBS
OBJECTS: how many of each kind. PODS: `hostile` (1.35 MB each, of nine shapes), `ordinary`, `none`.
JOBS: `refused` (templates of 1.3 MB), `greatest` (as large as the operator allows), `none`. Prints
its port. Lists have pages; watches show one object in five once more and stay open. Each pod is being
deleted and its job is not there, so the operator asks for the job and lets the pod go. GET /state
says how far all that is. Ends when its standard input does.
"""
import http.server
import json
import os
import sys
import threading
from urllib.parse import parse_qs, urlsplit

COUNT, PODS, JOBS = int(sys.argv[1]), sys.argv[2], sys.argv[3]
SIZE = 1_350_000
state = {"listed": 0, "watched": 0, "requests": 0, "patched": 0}
lock = threading.Lock()


def bump(name):
    with lock:
        state[name] += 1


def repeat(part, size=SIZE):
    return ",".join([part] * (size // (len(part) + 1)))


CONTAINERS = '"containers":[{"name":"trainer","image":"i"}]'
LABELS = ('"labels":{"app.kubernetes.io/managed-by":"paceline-operator","paceline.dev/job-name":"NAME",'
          '"paceline.dev/role":"worker","paceline.dev/index":"0","paceline.dev/incarnation":"0"%s}')
OWNER = ('"ownerReferences":[{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","name":"NAME",'
         '"uid":"job-NAME","controller":true}%s]')
STATUS = '"status":{"phase":"Running"%s}'


def pod(meta="", labels="", owner="", finalizers="", spec=CONTAINERS, status=""):
    return ('{"metadata":{"name":"NAME","namespace":"tenant","uid":"uid-NAME","resourceVersion":"VERSION",'
            '"deletionTimestamp":"2026-01-01T00:00:00Z",' + LABELS % labels + meta + "," + OWNER % owner
            + ',"finalizers":[%s"paceline.dev/tracking"]},"spec":{' % finalizers + spec + "},"
            + STATUS % status + "}")


SHAPES = [
    pod(spec='"containers":[{"name":"trainer","env":[{"name":"A","value":"%s"}]}]' % ("x" * SIZE)),
    pod(spec='"containers":[{"name":"trainer","env":[%s]}]' % repeat("{}")),
    pod(spec='"containers":[%s]' % repeat('{"name":"c","image":"i","readinessProbe":{"exec":{}}}')),
    pod(spec=CONTAINERS + ',"volumes":[%s]' % repeat('{"name":"v","secret":{"secretName":"s"}}')),
    pod(meta=',"managedFields":[{"fieldsV1":{%s}}]' % repeat('"f:a":{}')),
    pod(labels="," + ",".join('"l%d":""' % i for i in range(SIZE // 11))),
    pod(finalizers=repeat('"a/b"') + ","),
    pod(owner="," + repeat('{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}')),
    pod(status=',"conditions":[%s]' % repeat('{"type":"T","status":"True","message":"%s"}' % ("m" * 4000))),
]


def job(template_bytes, part):
    return ('{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"NAME",'
            '"namespace":"tenant","uid":"job-NAME","resourceVersion":"VERSION","generation":1},"spec":{'
            '"runPolicy":{"suspend":true},"replicas":{"worker":{"replicas":1,"template":{"spec":{'
            '"containers":[{"name":"trainer","image":"i","env":[%s]}]}}}}}}' % repeat(part, template_bytes))


VARIABLE = '{"name":"A","value":"%s"}'
LAYERS = ('{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"NAME","namespace":'
          '"tenant","uid":"job-NAME","resourceVersion":"VERSION","generation":1},"spec":{"runPolicy":'
          '{"suspend":true},"dataset":{"name":"fashion-mnist"},"model":{"layers":[%s'
          '{"type":"dense","units":10}]}}}'
          % "".join('{"type":"dense","units":10,"name":"layer-%d"},' % i for i in range(255)))
JOB_SHAPES = {
    "refused": [job(1_300_000, "{}"), job(1_300_000, VARIABLE % ("x" * 60000))],
    "greatest": [job(127_000, VARIABLE % ("x" * 80)), job(127_000, VARIABLE % ("x" * 60000)), LAYERS],
    "none": [],
}[JOBS]
OWNED = ('{"metadata":{"name":"NAME","namespace":"tenant","uid":"uid-NAME","resourceVersion":"VERSION",'
         + OWNER % "" + ',"annotations":{"a":"%s"},"managedFields":[{"fieldsV1":{%s}}]}}'
         % ("x" * 250000, repeat('"f:a":{}', 1_000_000)))
KINDS = {
    "pods": {"hostile": SHAPES, "ordinary": [pod()], "none": []}[PODS],
    "trainingjobs": JOB_SHAPES,
    "services": [OWNED] if PODS == "hostile" else [],
    "configmaps": [],
    "networkpolicies": [],
}
KINDS = {kind: [shape.encode() for shape in shapes] for kind, shapes in KINDS.items()}


def made(kind, i, version):
    name = b"%s-%d" % (kind.encode(), i)
    shape = KINDS[kind][i % len(KINDS[kind])]
    return shape.replace(b"NAME", name).replace(b"VERSION", b"%d" % version)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, *parts):
        self.send_response(status)
        self.send_header("Content-Length", str(sum(map(len, parts))))
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def status(self, code, reason):
        text = json.dumps({"kind": "Status", "code": code, "reason": reason, "message": reason})
        self.answer(code, text.encode())

    def page(self, kind, query):
        begin = int(query.get("continue", ["0"])[0])
        end = min(begin + int(query["limit"][0]), COUNT if KINDS[kind] else 0)
        more = b'"continue":"%d",' % end if end < COUNT and KINDS[kind] else b""
        parts = [b'{"kind":"List","metadata":{%s"resourceVersion":"5000"},"items":[' % more]
        for i in range(begin, end):
            parts.append((b"," if i > begin else b"") + made(kind, i, 100))
            bump("listed")
        self.answer(200, *parts, b"]}")

    def watch(self, kind):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(COUNT // 5 if KINDS[kind] else 0):
            event = b'{"type":"MODIFIED","object":%s}\n' % made(kind, i, 5001 + i)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            bump("watched")
        threading.Event().wait()

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        kind = url.path.rsplit("/", 1)[1]
        bump("requests")
        if url.path == "/state":
            self.answer(200, json.dumps(state).encode())
        elif "watch" in query:
            self.watch(kind)
        elif kind in KINDS and "limit" in query:
            self.page(kind, query)
        else:
            self.status(404, "NotFound")

    def do_write(self):
        """What was patched or made, as it is then; of a hostile pod all of it comes back."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = urlsplit(self.path).path.split("/")
        bump("requests")
        for kind in ("pods", "trainingjobs"):
            if self.command == "PATCH" and kind in name:
                bump("patched")
                i = int(name[name.index(kind) + 1].rsplit("-", 1)[1])
                self.answer(200, made(kind, i, 9000 + i).replace(b"paceline.dev/tracking", b"a/b"))
                return
        self.answer(201, body)

    do_POST = do_PATCH = do_PUT = do_DELETE = do_write


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
while os.read(0, 4096):
    pass
os._exit(0)
