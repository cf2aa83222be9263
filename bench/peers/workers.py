"""Several workers of a peer on one machine, for `--workers N`: the first one starts copies of itself and
passes on what it is told to do. Each has its share of the batch; they meet over loopback."""

import atexit
import os
import socket
import subprocess
import sys
import threading

RANK = "PEER_RANK"  # in the environment of those that are started


class Workers:
    def __init__(self, args, meeting):
        """meeting(): what the first one puts into the environment of all, so that they find each other."""
        self.count, self.rank = args.workers, int(os.environ.get(RANK, 0))
        if self.count < 1 or args.batch % self.count:
            raise SystemExit(f"--batch {args.batch} cannot be shared by --workers {self.count}")
        self.share = args.batch // self.count
        self.others, self.ended = [], False
        if self.rank == 0 and self.count > 1:
            os.environ.update(meeting())
            self.others = [self.start(rank) for rank in range(1, self.count)]
            atexit.register(self.end)

    def start(self, rank):
        other = subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, RANK: str(rank)},
                                 stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.watch, args=(other,), daemon=True).start()
        return other

    def watch(self, other):
        """Who waits for a worker that has died would do so for the library's half an hour."""
        other.wait()
        if not self.ended:
            os._exit(1)

    def tell(self, line):
        for other in self.others:
            other.stdin.write(line)
            other.stdin.flush()

    def end(self):
        self.ended = True
        for other in self.others:
            other.kill()
            other.wait()


def free_ports(count):
    """Ports of loopback that nobody has: all are held before any is let go, so they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
