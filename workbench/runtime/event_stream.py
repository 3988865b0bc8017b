"""The events of a run as a reader gets them: everything so far, then each new one, in order, without gap or double.

The log's own lines are what travels. A reader knows how many bytes and which ``seq`` it has; what comes twice is
dropped, and where something is missing it asks the scheduler for the log from its byte on.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from workbench.core.events import TERMINAL_KINDS, Event, decode_log
from workbench.runtime.run_folder import RunFolder

log = logging.getLogger(__name__)
LIVENESS_S = 1.0
Listener = Callable[[list[Event]], None]


class EventStream:
    """Reads a run's events through its scheduler while that lives, and from its folder in any case.

    Parameters
    ----------
    folder : RunFolder
    client : distributed.Client, optional
        Connected to the scheduler that supervises the run; None reads the folder once.
    on_events : callable
        Gets lists of new events, in order, on one thread.
    """

    def __init__(self, folder: RunFolder, client: Any | None, on_events: Listener) -> None:
        self._folder, self._client, self._on_events = folder, client, on_events
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._seq = 0
        self._offset = 0
        self._ended = threading.Event()

    def start(self) -> None:
        """Deliver what the log holds, then, on a thread, what comes until the run ends or its scheduler is gone."""
        if self._client is None:
            self._take(self._folder.log.read_bytes() if self._folder.log.exists() else b"")
            self._ended.set()
            return
        self._client.subscribe_topic(f"workbench/{self._folder.id}", lambda event: self._queue.put(event[1]))
        self._catch_up()
        threading.Thread(target=self._follow, name="workbench-run-events", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Say whether no further event will come."""
        return self._ended.is_set()

    def _follow(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    lines = self._queue.get(timeout=LIVENESS_S)
                except queue.Empty:
                    if self._client.status != "running":  # type: ignore[union-attr]
                        break
                    continue
                events, _ = decode_log(lines)
                if events and events[0].seq > self._seq + 1:
                    self._catch_up()
                self._take(lines)
        except Exception as error:  # the scheduler went away in the middle of a question
            log.info("lost the scheduler of %s: %s", self._folder.id, error)
        finally:
            self._finish()

    def _finish(self) -> None:
        if not self._ended.is_set() and self._folder.log.exists():
            data = self._folder.log.read_bytes()
            self._take(data[self._offset :])
        self._ended.set()
        self._on_events([])

    def _catch_up(self) -> None:
        """Subscribe and take the rest of the log, in as many pieces as it needs."""
        client, max_bytes = self._client, 1 << 22
        assert client is not None
        while True:
            ask = client.scheduler.workbench_tail
            data = client.sync(ask, run_id=self._folder.id, offset=self._offset, client=client.id, max_bytes=max_bytes)
            before = self._offset
            self._take(data)
            if len(data) < max_bytes:
                return
            if self._offset == before:
                max_bytes *= 2  # one event larger than a piece

    def _take(self, lines: bytes) -> None:
        events, _ = decode_log(lines)
        fresh = [event for event in events if event.seq > self._seq]
        if not fresh:
            return
        assert fresh[0].seq == self._seq + 1, f"events {self._seq + 1} to {fresh[0].seq - 1} are missing"
        whole = lines.splitlines(keepends=True)[len(events) - len(fresh) : len(events)]
        self._offset += sum(map(len, whole))
        self._seq = fresh[-1].seq
        for event in fresh:
            if event.kind in TERMINAL_KINDS:
                self._ended.set()
            elif event.kind == "run_restarting":  # somebody went on with it after its end
                self._ended.clear()
        self._on_events(fresh)
