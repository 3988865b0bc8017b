"""The sockets of a ring: where samplers come, show their token, and are told plan and slots."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.runtime import frames
from workbench.runtime.ring import Layout, extent, host_identity


class Connection:
    """One sampler that serves this rank.

    Parameters
    ----------
    sock : socket
    hello : dict
        What the sampler says of itself: ``sampler``, ``worker``, ``pid``, ``is_local``.
    """

    def __init__(self, sock: socket.socket, hello: frames.Message) -> None:
        self.sock, self.hello = sock, hello
        self.is_local: bool = hello["is_local"]
        self.num_given = 0
        self.versions: list[int] = []  # of each slot that the sampler has mapped

    @property
    def sampler(self) -> int:
        return int(self.hello["sampler"])

    def ask(self, message: frames.Message, fds: Sequence[int] = ()) -> None:
        """Send a message; where the sampler has gone, the thread that reads from it will notice."""
        try:
            frames.send(self.sock, message, fds)
        except OSError:
            hang_up(self.sock)

    def receive(self, layout: Layout, room: NDArray[np.uint8]) -> None:
        """Read the arrays that a sampler of another host sends after its answer."""
        for entry in layout:
            begin, end = extent(entry)
            frames.recv_into(self.sock, memoryview(room)[begin:end])  # type: ignore[arg-type]  # an array is a buffer


class RingServer:
    """Listens for samplers on a unix socket (same host: shared memory) and on TCP (other hosts).

    Parameters
    ----------
    host : str
        The rank's address.
    serve : callable
        Called with a connection, on a thread of its own, once the sampler has shown the token.
    """

    def __init__(self, host: str, serve: Callable[[Connection], None]) -> None:
        self._serve = serve
        self._token = secrets.token_hex(16)
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(f"\0workbench-ring-{os.getpid()}-{secrets.token_hex(8)}")
        unix.listen(64)
        tcp = socket.create_server((host, 0))
        self._listeners = (unix, tcp)
        self.address: dict[str, Any] = {
            "unix": unix.getsockname(),
            "tcp": list(tcp.getsockname()),
            "token": self._token,
            "host_identity": host_identity(),
        }

    def start(self) -> None:
        """Accept samplers from now on."""
        for listener in self._listeners:
            threading.Thread(target=self._accept, args=(listener,), name="workbench-ring", daemon=True).start()

    def close(self) -> None:
        """Accept no more."""
        for listener in self._listeners:
            hang_up(listener)  # wakes the thread that waits on it; closing alone does not

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                listener.close()
                return
            threading.Thread(target=self._meet, args=(sock,), name="workbench-ring", daemon=True).start()

    def _meet(self, sock: socket.socket) -> None:
        with sock:
            try:
                hello, _ = frames.recv(sock)
            except (OSError, EOFError):
                return
            if secrets.compare_digest(str(hello.get("token")), self._token):
                self._serve(Connection(sock, hello))


def hang_up(sock: socket.socket) -> None:
    """End a connection for both sides, also for a thread that waits on it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        sock.close()
