"""A rank's line to its host: events out in batches, commands in."""

from __future__ import annotations

import dataclasses
import logging
import os
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from workbench.core.control import Control
from workbench.runtime import frames
from workbench.runtime.meter import Meter
from workbench.runtime.stillness import Stillness

log = logging.getLogger(__name__)
FLUSH_S = 0.05
ORPHANED = 77  # exit code of a rank whose host has gone


class RankLink:
    """Reads and writes the control socket on two threads of its own, so that training never waits for a reader.

    Parameters
    ----------
    sock : socket
        Connected to the rank host; its end of file means that the host is gone, and ends this process.
    rank, generation : int
        Stamped on every event.
    worker : str
        Name of the Dask worker, for what is told of memory and load.
    """

    def __init__(self, sock: socket.socket, rank: int, generation: int, worker: str = "") -> None:
        self._sock, self._rank, self._generation, self._worker = sock, rank, generation, worker
        self._events: list[dict[str, Any]] = []
        self._lock = threading.Lock()  # guards the buffer
        self._sending = threading.Lock()  # keeps messages whole and in order
        self._training = threading.main_thread()
        self._stillness = Stillness(self._training)
        self.controls: deque[Control] = deque()
        self.counted_step = 0  # of the checkpoint that a restart would go on from
        self.store: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self.before_flush: Callable[[], None] | None = None  # tells what has gathered elsewhere

    def start(self) -> None:
        """Begin to read commands and to send events every 50 ms."""
        threading.Thread(target=self._read, name="workbench-control", daemon=True).start()
        threading.Thread(target=self._flush_often, name="workbench-events", daemon=True).start()

    def emit(self, kind: str, **data: Any) -> None:
        """Buffer one event."""
        event = {
            "kind": kind,
            "time_s": time.time(),
            "generation": self._generation,
            "rank": self._rank,
            "data": data,
        }
        if threading.current_thread() is self._training:
            self._stillness.moved()
        with self._lock:
            self._events.append(event)

    def send(self, message: frames.Message) -> None:
        """Send the buffered events, then one message."""
        with self._sending:
            with self._lock:
                events, self._events = self._events, []
            if events:
                frames.send(self._sock, {"op": "events", "events": events})
            if message:
                frames.send(self._sock, message)

    def flush(self) -> None:
        """Send the buffered events now."""
        self.send({})

    def _flush_often(self) -> None:
        meter = Meter()
        while True:
            time.sleep(FLUSH_S)
            stand = self._stillness.look()
            if measured := meter.read():
                where = {"role": "trainer", "index": self._rank, "worker": self._worker, "limit_bytes": None}
                self.emit("resources_measured", **where, **measured)
            if (gather := self.before_flush) is not None:
                gather()
            try:
                self.send({} if stand is None else {"op": "still", **dataclasses.asdict(stand)})
            except OSError:
                os._exit(ORPHANED)

    def _read(self) -> None:
        try:
            while True:
                message, _ = frames.recv(self._sock)
                if message["op"] == "control":
                    self.controls.append(Control(kind=message["kind"], id=message["id"]))
                elif message["op"] == "counted":
                    self.counted_step = message["step"]
                elif message["op"] == "store":
                    self.store.put((message["host"], message["port"]))
        except (EOFError, OSError):
            os._exit(ORPHANED)
