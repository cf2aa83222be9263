"""A TLS proxy in front of a Kubernetes API server that spoils chosen requests.

`Proxy(upstream, fault, period).start()` listens on a port of its own and counts the requests that
come through it; requests number `period`, 2 * `period`, ... suffer `fault`, LIMIT of them: a server
that never answers right proves nothing, and with period 2 nothing that reads, then writes, gets by.

Faults: an answer of our own in place of the server's (409, 410, 429 with Retry-After, 500); cut or
delayed before the server sees the request, or after it has done what was asked. HTTP/1.1 only.
"""

import asyncio
import json
import ssl

FAULTS = ("409", "410", "429", "500", "cut-before", "cut-after", "delay-before", "delay-after")
REASONS = {
    "409": ("Conflict", "the object has been modified; please apply your changes to the latest version"),
    "410": ("Expired", "too old resource version"),
    "429": ("TooManyRequests", "too many requests, please try again later"),
    "500": ("InternalError", "etcdserver: leader changed"),
}
LIMIT = 20
DELAY_S = 0.4
WATCH_S = 0.3  # how long a watch that is cut lives before


class Closed(Exception):
    """The other side has gone."""


async def read_head(reader):
    """The first line and the headers as they are, and what we need of them."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        raise Closed from None
    headers = {}
    for line in raw.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return raw, headers


async def read_body(reader, headers, sink):
    """Passes a body on, piece by piece, as it was framed; True when the connection ends with it."""
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        while True:
            size = await reader.readuntil(b"\r\n")
            piece = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
            await sink(size + piece)
            if int(size.split(b";")[0], 16) == 0:
                return False
    if b"content-length" in headers:
        await sink(await reader.readexactly(int(headers[b"content-length"])))
        return False
    return True


class Proxy:
    """One listening port with one kind of fault."""

    def __init__(self, upstream, certificate, key, upstream_ca, fault=None, period=0):
        self.host, self.port = upstream
        self.fault, self.period = fault, period
        self.requests = self.spoiled = 0
        self.log = []  # "METHOD path -> status or fault"
        self.server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server_tls.load_cert_chain(certificate, key)
        self.client_tls = ssl.create_default_context(cafile=upstream_ca)
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_server(
            self.serve, "127.0.0.1", 0, ssl=self.server_tls, limit=1 << 20
        )
        return self.server.sockets[0].getsockname()[1]

    async def stop(self):
        self.server.close()
        for task in list(self.connections):
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    def due(self):
        self.requests += 1
        if not self.fault or self.requests % self.period:
            return None
        if self.spoiled == LIMIT:
            return None
        self.spoiled += 1
        return self.fault

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.connections.add(task)
        upstream = None
        try:
            up_reader, upstream = await asyncio.open_connection(
                self.host, self.port, ssl=self.client_tls, limit=1 << 20
            )
            while await self.exchange(reader, writer, up_reader, upstream):
                pass
        except (Closed, ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            pass
        finally:
            self.connections.discard(task)
            for w in (writer, upstream):
                if w:
                    w.transport.abort()

    async def exchange(self, reader, writer, up_reader, upstream):
        """One request and its answer; False when the connection is over."""
        head, headers = await read_head(reader)
        body = []

        async def keep(piece):
            body.append(piece)

        if b"content-length" in headers or b"transfer-encoding" in headers:
            await read_body(reader, headers, keep)
        line = head.split(b"\r\n", 1)[0].decode()
        method, path, _ = line.split(" ", 2)
        watch = "watch=1" in path or "watch=true" in path
        fault = self.due()
        self.log.append(f"{method} {path}" + (f" !! {fault}" if fault else ""))
        if fault in REASONS:
            return await self.refuse(writer, fault, path)
        if fault == "cut-before":
            return False
        if fault == "delay-before":
            await asyncio.sleep(DELAY_S)

        upstream.write(head + b"".join(body))
        answer, answer_headers = await read_head(up_reader)
        if fault == "delay-after":
            await asyncio.sleep(DELAY_S)
        if fault == "cut-after" and not watch:
            await read_body(up_reader, answer_headers, keep)
            return False

        async def pass_on(piece):
            writer.write(piece)
            await writer.drain()

        await pass_on(answer)
        if fault == "cut-after":  # a watch: let it tell something first
            try:
                await asyncio.wait_for(read_body(up_reader, answer_headers, pass_on), WATCH_S)
            except asyncio.TimeoutError:
                pass
            return False
        # The client may leave while a watch tells nothing.
        relay = asyncio.ensure_future(read_body(up_reader, answer_headers, pass_on))
        if watch:
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not relay.done():
                relay.cancel()
                return False
            gone.cancel()
            return False  # a byte of the next request may be lost: better a new connection
        return not await relay

    async def refuse(self, writer, fault, path):
        reason, message = REASONS[fault]
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": {"retryAfterSeconds": 1} if fault == "429" else {},
            "code": int(fault),
        }
        body = json.dumps(status).encode() + b"\n"
        extra = "Retry-After: 1\r\n" if fault == "429" else ""
        writer.write(
            f"HTTP/1.1 {fault} {reason}\r\nContent-Type: application/json\r\n{extra}"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        return True
