"""An API server's manners without its mind, for tests/unit/test_kube_client.c.

Usage: fake_server.py FOLDER, which holds ca.crt, server.crt, server.key, other.crt, other.key.
Prints the ports on one line: HTTPS, HTTPS with the certificate of another host, HTTP, and an HTTP
proxy. Ends when its standard input does.
"""
import json
import os
import socket
import ssl
import sys
import threading
import time

lock = threading.Lock()
state = {"connections": 0, "requests": 0, "posts": 0, "token": "", "proxied": 0, "proxy_headers": ""}
meeting = threading.Barrier(64)  # /meet is answered when so many ask for it at once


def bump(name, by=1):
    with lock:
        state[name] += by
        return state[name]


class Gone(Exception):
    pass


class Connection:
    def __init__(self, sock, number):
        self.sock, self.number, self.buffer = sock, number, b""

    def receive(self):
        data = self.sock.recv(65536)
        if not data:
            raise Gone
        self.buffer += data

    def request(self):
        while b"\r\n\r\n" not in self.buffer:
            self.receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *rest = head.decode().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {}
        for line in rest:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        while len(self.buffer) < length:
            self.receive()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return method, target, headers, body

    def answer(self, status, body=b"", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
        self.sock.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    def stream(self, chunks, end=True):
        self.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for chunk in chunks:
            self.sock.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if end:
            self.sock.sendall(b"0\r\n\r\n")

    def certificate(self):
        if not isinstance(self.sock, ssl.SSLSocket):
            return None
        names = (self.sock.getpeercert() or {}).get("subject", ())
        return dict(pair for part in names for pair in part).get("commonName")


def show(conn, method, target, headers, body):
    conn.answer(200, {"method": method, "target": target, "headers": headers, "length": len(body),
                      "body": body.decode("latin1")[:200], "connection": conn.number,
                      "certificate": conn.certificate(),
                      "tls": conn.sock.version() if isinstance(conn.sock, ssl.SSLSocket) else None})


def guarded(conn, method, target, headers, body):
    if headers.get("authorization") != state["token"]:
        conn.answer(401, {"message": "who are you?"})
        return
    if "watch=1" in target:
        conn.stream([b"welcome\n"])
    else:
        show(conn, method, target, headers, body)


def watch(conn, query):
    text = '{"text":"grün 漢字 🚀"}\n{"n":2}\n\n{"n":3}\n'.encode()
    kind = query.get("kind")
    if kind == "bytes":
        conn.stream(text[i:i + 1] for i in range(len(text)))
    elif kind == "cut":
        conn.stream([text, b'{"half'], end=False)
        raise Gone
    elif kind == "clean-half":
        conn.stream([text, b'{"half'])
    elif kind == "half-closed":
        conn.stream([text], end=False)
        conn.sock.unwrap() if query.get("unwrap") else conn.sock.shutdown(socket.SHUT_WR)
        time.sleep(30)
    elif kind == "silent":
        conn.stream([text], end=False)
        time.sleep(30)
    elif kind == "long":
        conn.stream([b'{"x":"', *[b"x" * 1000] * int(query["n"]), b'","n":1}\n'])
    elif kind == "gone":
        conn.answer(410, {"code": 410, "message": "too old"}, ["Retry-After: 3"])
    elif kind == "refused":
        conn.answer(422, {"details": ["x" * 5000] * 40, "message": "no" * 5000, "reason": "Invalid"})
    elif kind == "page":
        conn.answer(502, b"<html>" + b"x" * 100000)
    elif kind == "many":
        conn.stream([b"".join(b'{"n":%d}\n' % i for i in range(int(query["n"])))])


def objects(conn, query):
    size = int(query["size"])
    chunks = [b'{"kind":"List","items":[']
    for i in range(int(query["n"])):
        chunks.append(b'%s{"x":"%s","n":%d}' % (b"," if i else b"", b"x" * size, i))
    if "cut" in query:
        conn.stream(chunks, end=False)
        raise Gone
    conn.stream([*chunks, b'],"version":"7"}'])


def slow_headers(conn, query):
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok":
        conn.sock.sendall(bytes([byte]))
        time.sleep(float(query["each"]))


def handle(conn, method, target, headers, body):
    path, _, rest = target.partition("?")
    query = dict(item.partition("=")[::2] for item in rest.split("&") if item)
    bump("requests")
    if path == "/show":
        show(conn, method, target, headers, body)
    elif path == "/state":
        conn.answer(200, state)
    elif path == "/status":
        conn.answer(int(query["code"]), {"code": int(query["code"])},
                    [f"Retry-After: {query['after'].replace('+', ' ')}"] if "after" in query else ())
    elif path == "/token":
        with lock:
            state["token"] = body.decode()
        conn.answer(200, b"ok")
    elif path == "/guarded-later":
        accepted = headers.get("authorization") == state["token"]
        time.sleep(0.5)  # refused after the others were accepted
        conn.answer(200 if accepted else 401)
    elif path == "/guarded":
        guarded(conn, method, target, headers, body)
    elif path == "/watch":
        watch(conn, query)
    elif path == "/list":
        objects(conn, query)
    elif path == "/slow":
        slow_headers(conn, query)
    elif path == "/sleep":
        time.sleep(float(query["s"]))
        conn.answer(200, b"slept")
    elif path == "/meet":
        try:
            meeting.wait(60)
            conn.answer(200, b"met")
        except threading.BrokenBarrierError:
            conn.answer(504)
    elif path == "/cut":
        conn.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789")
        raise Gone
    elif path == "/mute":
        raise Gone
    elif path == "/swallow":
        bump("posts")
        raise Gone
    elif path == "/redirect":
        conn.answer(302, b"", [f"Location: {query['to']}", "Set-Cookie: crumb=1; Path=/"])
    elif path == "/big":
        conn.answer(200, b"b" * int(query["n"]))
    elif path == "/garbage":
        conn.sock.sendall(b"\x15\x03\x01 this is no HTTP\r\n\r\n")
        raise Gone
    else:
        conn.answer(404, {"message": "no such path"})


def serve(raw, context):
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = context.wrap_socket(raw, server_side=True) if context else raw
        conn = Connection(sock, bump("connections"))
        while True:
            handle(conn, *conn.request())
    except (Gone, OSError, ValueError):
        pass
    finally:
        raw.close()
        if context and "sock" in locals():
            sock.close()


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy(raw, _):
    try:
        method, target, headers, _ = Connection(raw, 0).request()
        with lock:
            state["proxied"] += 1
            state["proxy_headers"] = f"{method} {target} {json.dumps(headers)}"
        if method != "CONNECT" or headers.get("proxy-authorization", "") == "Basic bm86bm8=":
            raw.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            return
        # Whatever name was asked for, it is us.
        there = socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1])))
        raw.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        back = threading.Thread(target=pump, args=(there, raw), daemon=True)
        back.start()
        pump(raw, there)
        back.join()
        there.close()
    except (Gone, OSError, ValueError):
        pass
    finally:
        raw.close()


def listen(handler, context=None):
    server = socket.create_server(("127.0.0.1", 0), backlog=512)

    def loop():
        while True:
            raw, _ = server.accept()
            threading.Thread(target=handler, args=(raw, context), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return server.getsockname()[1]


def tls(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.crt", f"{folder}/{name}.key")
    context.load_verify_locations(f"{folder}/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def main():
    folder = sys.argv[1]
    ports = [listen(serve, tls(folder, "server")), listen(serve, tls(folder, "other")),
             listen(serve), listen(proxy)]
    print(*ports, flush=True)
    while os.read(0, 4096):
        pass
    os._exit(0)


main()
