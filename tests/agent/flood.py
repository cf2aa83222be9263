"""flood.py ADDRESS PORT HOW SECONDS: connects from 127.0.0.2 as fast as it can and prints how often.
silent: says nothing; hello: begins TLS and says no more."""
import collections
import socket
import ssl
import sys
import time

IP_BIND_ADDRESS_NO_PORT = 24
OPEN = 900  # at a time


def client_hello():
    out = ssl.MemoryBIO()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        tls.wrap_bio(ssl.MemoryBIO(), out, server_hostname="x").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def connect(address, port):
    s = socket.socket()
    s.setblocking(False)
    s.setsockopt(socket.SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    s.bind(("127.0.0.2", 0))
    s.connect_ex((address, port))
    return s


def main():
    address, port, how, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    words = {"silent": b"", "hello": client_hello()}[how]
    crowd = collections.deque()
    count = 0
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        crowd.append(connect(address, port))
        count += 1
        if words:
            try:
                crowd[-1].send(words)
            except OSError:  # not connected yet, or sent away
                pass
        if len(crowd) > OPEN:
            crowd.popleft().close()
    print(f"{count / seconds:.0f}")


if __name__ == "__main__":
    main()
