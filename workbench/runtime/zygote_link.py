"""A Dask worker's connection to its host's zygote: starts it where there is none, forks ranks, hears of their ends."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from workbench.runtime import frames
from workbench.runtime.zygote import ENVIRONMENT, socket_name

RESPAWN_S = 30.0


def spawn_zygote(cluster_key: str, log: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start a zygote process in a session of its own; it writes to `log`, by default where this process does."""
    return subprocess.Popen(
        [sys.executable, "-m", "workbench.runtime.zygote", cluster_key],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


class ZygoteLink:
    """The connection; `on_exit(key, code, signal)` is called for every rank that ends.

    Parameters
    ----------
    cluster_key : str
        Names the zygote: one a cluster and host.
    on_exit : callable
        Called on the event loop when a rank's process has ended.
    """

    def __init__(self, cluster_key: str, on_exit: Callable[[str, int, int], None]) -> None:
        self._key, self._on_exit = cluster_key, on_exit
        self._sock: socket.socket | None = None
        self._pids: dict[str, int] = {}
        self._forking: set[str] = set()  # asked for, and not told yet
        self._doomed: dict[str, int] = {}  # the signals for those
        self._process: subprocess.Popen[bytes] | None = None
        self.info: frames.Message = {}

    async def connect(self) -> frames.Message:
        """Return the zygote's greeting (pid, threads, seconds of import) once it is ready to fork.

        Raises ``asyncio.IncompleteReadError`` or ``OSError`` where it ends before that.
        """
        spawned_s = -RESPAWN_S
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(socket_name(self._key))
                break
            except OSError:
                sock.close()
                if time.monotonic() - spawned_s > RESPAWN_S:
                    self._process = spawn_zygote(self._key)
                    spawned_s = time.monotonic()
                await asyncio.sleep(0.05)
        if frames.peer_uid(sock) != os.getuid():
            sock.close()
            raise PermissionError("the zygote's socket belongs to another user")
        self._sock = sock
        self._reader, self._writer = await asyncio.open_unix_connection(sock=sock.dup())
        self.info = await frames.read(self._reader)
        return self.info

    async def listen(self) -> None:
        """Hear of forks and exits until the zygote is gone; then report all its ranks as killed."""
        try:
            while True:
                message = await frames.read(self._reader)
                if message["op"] == "forked":
                    self._on_forked(message["key"], message["pid"])
                elif message["op"] == "exited":
                    self._pids.pop(message["key"], None)
                    self._on_exit(message["key"], message["code"], message["signal"])
        except (asyncio.IncompleteReadError, OSError):
            self.close()
            lost = [*self._pids, *self._forking]
            for kept in (self._pids, self._forking, self._doomed):
                kept.clear()
            for key in lost:
                self._on_exit(key, 0, 9)

    def _on_forked(self, key: str, pid: int) -> None:
        self._forking.discard(key)
        self._pids[key] = pid
        if key in self._doomed:
            self.kill(key, self._doomed.pop(key))

    def fork(self, key: str, log: str, env: dict[str, str], control: socket.socket) -> None:
        """Ask for a rank that writes its output to `log` and is steered through `control`."""
        if self._sock is None:
            raise ConnectionError("the zygote is gone")
        # The frame is small and the peer reads at once, so that a blocking send costs microseconds.
        self._sock.setblocking(True)
        frames.send(self._sock, {"op": "fork", "key": key, "log": log, "env": env}, [control.fileno()])
        self._forking.add(key)
        self._sock.setblocking(False)

    def kill(self, key: str, signal_number: int) -> None:
        """Send a signal to a rank's process, if it lives; one that is being forked gets it when its pid is known."""
        if key in self._pids:
            os.kill(self._pids[key], signal_number)
        elif key in self._forking:
            self._doomed[key] = signal_number

    def is_stopped(self, key: str) -> bool:
        """Say whether a rank's process stands still by a signal (SIGSTOP, not a debugger)."""
        try:
            stat = Path(f"/proc/{self._pids[key]}/stat").read_bytes()
        except (KeyError, OSError):
            return False
        return stat.rpartition(b") ")[2][:1] == b"T"

    def close(self) -> None:
        """Hang up; the zygote then kills the ranks of this worker."""
        if self._sock is not None:
            self._sock.close()
            self._writer.close()
            self._sock = None
