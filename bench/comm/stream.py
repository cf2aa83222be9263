#!/usr/bin/env python3
"""What the line itself carries: a plain TCP connection, BYTES each way at once, ROUNDS times.

    stream.py listen ADDRESS BYTES ROUNDS      prints a line when it can be connected to
    stream.py connect ADDRESS BYTES ROUNDS     prints lines as allreduce.c's
"""

import socket
import sys
import threading
import time

PORT = 5999


def exchange(connection, mine, theirs):
    sender = threading.Thread(target=connection.sendall, args=(mine,))
    sender.start()
    left = memoryview(theirs)
    while left:
        n = connection.recv_into(left)
        if n == 0:
            sys.exit("stream: the other end has gone")
        left = left[n:]
    sender.join()


def main():
    side, address, size, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if side == "listen":
        with socket.create_server((address, PORT)) as server:
            print("listening", flush=True)
            connection, _ = server.accept()
    else:
        connection = socket.create_connection((address, PORT))
    mine, theirs = bytes(size), bytearray(size)
    for i in range(rounds):
        start = time.perf_counter()
        exchange(connection, mine, theirs)
        if side == "connect":
            print(f"stream,2,{size},{i},{time.perf_counter() - start:.9f}", flush=True)


if __name__ == "__main__":
    main()
