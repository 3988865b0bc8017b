"""What a run's readers share: one stream of its events, the past of it, and who wants to hear of the next."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from workbench.core.events import Event
from workbench.runtime.event_past import EventPast
from workbench.runtime.event_stream import EventStream, Listener
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_records import Status
from workbench.runtime.run_report import status_of

log = logging.getLogger(__name__)


class EventFeed:
    """The events of a run for any number of listeners, in bounded memory.

    Parameters
    ----------
    folder : RunFolder
    client : distributed.Client, optional
        Connected to the run's scheduler; None where that is gone.
    """

    def __init__(self, folder: RunFolder, client: Any | None) -> None:
        self._run_id = folder.id
        self._status = Status.PENDING
        self._listeners: list[Listener] = []
        self.changed = threading.Condition(threading.RLock())
        self._stream = EventStream(folder, client, self._take)
        self._past = EventPast(folder, self._stream.tail)
        self._stream.start()

    @property
    def status(self) -> Status:
        """Return what the events say; a run whose scheduler is gone before it told an end has failed."""
        with self.changed:
            return Status.FAILED if self._stream.ended and not self._status.ended else self._status

    @property
    def has_ended(self) -> bool:
        """Say whether nothing more will come of it."""
        return self._status.ended or self._stream.ended

    @property
    def milestones(self) -> list[Event]:
        """Return the few events that tell how far it came and how it failed: epochs, the start, the last failure."""
        with self.changed:
            return self._past.milestones

    def all(self) -> list[Event]:
        """Return every event so far, in order."""
        events: list[Event] = []
        self._replay(events.extend)
        return events

    def subscribe(self, callback: Listener, *, replay: bool = False) -> Callable[[], None]:
        """Call `callback` with each list of new events; return what ends that."""
        if replay:
            self._replay(callback, self._listeners.append)
        else:
            with self.changed:
                self._listeners.append(callback)

        def unsubscribe() -> None:
            with self.changed, contextlib.suppress(ValueError):
                self._listeners.remove(callback)

        return unsubscribe

    def _replay(self, callback: Listener, then: Callable[[Listener], None] | None = None) -> None:
        """Bring all events so far in pieces, then, before another comes, do what is to be done with the listener."""
        after = 0
        while True:
            with self.changed:
                newest, upto = self._past.newest(after), self._past.seq
                if newest is not None:
                    if newest:
                        callback(newest)
                    if then is not None:
                        then(callback)
                    return
            for events in self._past.pieces(after, upto):
                callback(events)
                after = events[-1].seq

    def _take(self, events: list[Event]) -> None:
        with self.changed:
            self._past.add(events)
            self._status = status_of(events, self._status)
            self.changed.notify_all()
            for listener in list(self._listeners):
                try:
                    listener(events)
                except Exception:
                    log.exception("a listener of run %s failed", self._run_id)
