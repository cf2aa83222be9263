#!/usr/bin/env python3
"""A web server on loopback for test_fetch: fetch_server.py FOLDER makes files in FOLDER, prints its port,
and serves /MODE/SET/FILE until its standard input ends. MODE is how it misbehaves (serve). Each request
is a line "MODE FILE RANGE IF-RANGE" in FOLDER/log."""
import gzip
import http.server
import io
import os
import random
import sys
import tarfile
import threading
import time

folder = sys.argv[1]
CUT = 1000
seen = {}


def write(name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def archive(entries, packed=True):
    """entries: (name, bytes), or a function that changes the TarInfo as third."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, *change in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for c in change:
                c(info)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0) if packed else out.getvalue()


def as_type(kind):
    def change(info):
        info.type = kind
        info.linkname = "/etc/passwd"
        info.size = 0

    return change


def sparse_archive():
    """A file of 16 MiB in 3 KiB. Readers that know sparse files take its name from GNU.sparse.name."""
    data = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    info = tarfile.TarInfo("root/file")
    info.size = len(data)
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "../evil",
        "GNU.sparse.realsize": str(16 << 20),
    }
    return info.tobuf(tarfile.PAX_FORMAT) + data.ljust(1024, b"\0") + bytes(1024)


def make_files():
    noise = random.Random(7).randbytes
    write("a", noise(5000))
    write("b", noise(300))
    for name in "ab":
        with open(os.path.join(folder, name), "rb") as f:
            write(name + ".gz", gzip.compress(f.read(), mtime=0))
    good = [("root/x.bin", noise(5000)), ("root/deep/y.bin", noise(10)), ("other/z", b"z"), ("root/empty", b"")]
    write("good.tar.gz", archive(good))
    write("plain.tar", archive(good, packed=False))
    write("up.tar.gz", archive(good[:1] + [("root/../../evil", b"evil")]))
    write("absolute.tar.gz", archive([("/tmp/paceline-evil", b"evil")]))
    write("link.tar.gz", archive(good[:1] + [("root/link", b"", as_type(tarfile.SYMTYPE))]))
    write("hardlink.tar.gz", archive(good[:1] + [("root/link", b"", as_type(tarfile.LNKTYPE))]))
    write("device.tar.gz", archive(good[:1] + [("root/null", b"", as_type(tarfile.CHRTYPE))]))
    write("twice.tar.gz", archive(good[:1] * 2))
    write("none.tar.gz", archive(good[2:3]))
    write("short.tar", archive(good, packed=False)[:3000])
    write("boundary.tar", archive(good, packed=False)[:512 + 5120])  # cut between two entries
    write("sparse.tar", sparse_archive())
    write("many.tar.gz", archive([("root/%d" % i, b"") for i in range(250)]))
    whole = archive(good)
    write("cut.tar.gz", whole[:-20])
    write("damaged.tar.gz", whole[:2000] + b"\0" * 16 + whole[2016:])
    write("text.tar.gz", gzip.compress(b"no archive " * 100, mtime=0))
    write("cut.gz", gzip.compress(noise(5000), mtime=0)[:-100])
    write("bomb.gz", gzip.compress(bytes(1 << 20), mtime=0))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        _, mode, _, name = self.path.split("/")
        asked, condition = self.headers.get("Range"), self.headers.get("If-Range")
        with open(os.path.join(folder, "log"), "a", encoding="ascii") as log:
            print(mode, name, asked or "-", condition or "-", file=log)
        seen[mode] = seen.get(mode, 0) + 1
        self.close_connection = True
        if mode in ("404", "500"):
            self.send_response(int(mode))
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"sorry")
        elif mode == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:%d/plain/set/%s" % (self.server.server_port, name))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.serve(mode, name, asked, condition)

    def serve(self, mode, name, asked, condition):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        if mode == "large":
            data += b"more"
        if mode == "small":
            data = data[:-4]
        if mode == "other":
            data = bytes(len(data))
        tag = '"%s-%d"' % (name, seen[mode] if mode == "changes" else 0)
        begin = 0
        if asked and condition == tag and mode not in ("ignores", "cuts-ignores"):
            begin = int(asked[len("bytes="):-1])
        if asked and begin >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", "bytes */%d" % len(data))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if begin else 200)
        if begin:
            first = begin + (7 if mode == "lies" else 0)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, len(data) - 1, len(data)))
        if mode != "nameless":
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        part = data[begin:]
        if mode in ("cuts", "lies", "nameless", "cuts-ignores") or (mode in ("ignores", "changes") and seen[mode] == 1):
            part = part[:CUT]
        if mode == "hangs":
            self.wfile.write(part[:CUT])
            self.wfile.flush()
            time.sleep(600)
        self.wfile.write(part)


make_files()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
