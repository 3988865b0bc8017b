"""The events of a run as a reader gets them: everything so far, then each new one, in order, without gap or double.

The log's own lines are what travels. A reader knows how many bytes and which ``seq`` it has; what comes twice is
dropped, and where something is missing it asks the scheduler for the log from its byte on.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from workbench.core.events import TERMINAL_KINDS, Event, decode_log
from workbench.runtime.event_log import log_pieces
from workbench.runtime.run_folder import RunFolder

log = logging.getLogger(__name__)
LIVENESS_S = 1.0
Listener = Callable[[list[Event]], None]
_topics = threading.Lock()  # one stream lets go of a topic while another takes it


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
            self._read_file()
            self._ended.set()
            return
        with _topics:
            self._client.subscribe_topic(self._topic, self._heard)
        self._catch_up()
        threading.Thread(target=self._follow, name="workbench-run-events", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Say whether no further event will come."""
        return self._ended.is_set()

    def tail(self, offset: int, max_bytes: int, subscriber: str = "") -> bytes:
        """Return what the scheduler has of the log from a byte on; nothing where it is gone."""
        if self._client is None or self._client.status != "running":
            return b""
        ask = self._client.scheduler.workbench_tail
        fields = {"run_id": self._folder.id, "offset": offset, "client": subscriber, "max_bytes": max_bytes}
        data: bytes = self._client.sync(ask, **fields)
        return data

    @property
    def _topic(self) -> str:
        return f"workbench/{self._folder.id}"

    def _heard(self, message: tuple[float, bytes]) -> None:
        self._queue.put(message[1])

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
                self._take(events, lines)
        except Exception as error:  # the scheduler went away in the middle of a question
            log.info("lost the scheduler of %s: %s", self._folder.id, error)
        finally:
            self._finish()

    def _finish(self) -> None:
        self._let_go()
        if not self._ended.is_set():
            self._read_file()
        self._ended.set()
        self._on_events([])

    def _let_go(self) -> None:
        """End the subscription, so that the client keeps nothing of the run; another stream's stays."""
        handlers = self._client._event_handlers  # type: ignore[union-attr]
        with _topics, contextlib.suppress(Exception):  # a client that is closed has no line to tell it by
            if handlers.get(self._topic) == self._heard:
                handlers[self._topic] = _ignore  # Dask stumbles over a message on the way that nobody handles
                if self._client.status == "running":  # type: ignore[union-attr]
                    self._client.unsubscribe_topic(self._topic)  # type: ignore[union-attr]

    def _catch_up(self) -> None:
        """Subscribe and take the rest of the log, in as many pieces as it needs."""
        subscribing = functools.partial(self.tail, subscriber=self._client.id)  # type: ignore[union-attr]
        for events, end in log_pieces(subscribing, self._offset):
            self._deliver(events, end)

    def _read_file(self) -> None:
        for events, end in log_pieces(self._folder.log, self._offset):
            self._deliver(events, end)

    def _take(self, events: list[Event], lines: bytes) -> None:
        """Deliver what is new of some lines that end where an event ends."""
        num_known = sum(event.seq <= self._seq for event in events)
        fresh = lines.splitlines(keepends=True)[num_known : len(events)] if num_known else [lines]
        self._deliver(events[num_known:], self._offset + sum(map(len, fresh)))

    def _deliver(self, events: list[Event], end: int) -> None:
        if not events:
            return
        assert events[0].seq == self._seq + 1, f"events {self._seq + 1} to {events[0].seq - 1} are missing"
        self._seq, self._offset = events[-1].seq, end
        for event in events:
            if event.kind in TERMINAL_KINDS:
                self._ended.set()
            elif event.kind == "run_restarting":  # somebody went on with it after its end
                self._ended.clear()
        self._on_events(events)


def _ignore(_: object) -> None:
    """Take a message of a run that nobody follows any more."""
