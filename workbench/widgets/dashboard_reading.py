"""Where a dashboard's events come from: first all that happened, a piece at a time, then what happens."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.core.errors import Findings
from workbench.core.events import Event
from workbench.dashboard.panels.progress import ENDED, STATUS
from workbench.dashboard.replay import EventsAfter, in_pieces
from workbench.runtime.event_file import EventFile
from workbench.runtime.run_folder import RunFolder


class LoggedRun:
    """A run as its folder tells it: read a piece at a time, so that a log of any length is shown at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.id = folder, folder.resolve().name
        self._file = EventFile(folder / "events.log")

    @property
    def status(self) -> str:
        """Return how it ended; a run that told no end counts as failed, as its scheduler is not asked."""
        last = self._file.last()
        status = "pending" if last is None else STATUS.get(last.kind, "failed")
        return status if status in ENDED else "failed"

    @property
    def events(self) -> list[Event]:
        """Return every event, in order."""
        return [event for piece in self._file.after(0) for event in piece]

    def subscribe(self, callback: Callable[[list[Event]], None], *, replay: bool = False) -> Callable[[], None]:
        """Bring what the log holds; nothing comes after it."""
        if replay:
            for piece in self._file.after(0):
                callback(piece)
        return lambda: None

    def control(self, kind: Any, *, force: bool = False) -> None:
        """Refuse: a folder takes no commands."""
        findings = Findings(f"run {self.id}")
        findings.add("control", "a run at work", "its folder", "wb.attach(run_id) reaches a run that is at work")
        findings.raise_if_any()


def run_of(run: Any) -> Any:
    """Return a run from itself, its id, or its folder.

    Raises
    ------
    InputError
        Where there is none.
    """
    if not isinstance(run, (str, Path)):
        return run
    folder = Path(run)
    if (folder / "events.log").is_file():
        return LoggedRun(folder)
    if isinstance(run, Path) or "/" in run:
        findings = Findings("replay")
        findings.add("run", "the folder of a run, with events.log in it", repr(str(run)), "see wb.runs() for ids")
        findings.raise_if_any()
    return LoggedRun(RunFolder.find(str(run)).path)


def _log_of(run: Any) -> EventFile | None:
    folder = getattr(run, "folder", None)
    return EventFile(folder / "events.log") if isinstance(folder, Path) and (folder / "events.log").exists() else None


def source_of(run: Any) -> EventsAfter:
    """Return where the events of a run are read from again: its log, else what it holds."""
    file = _log_of(run)
    return file.after if file is not None else lambda seq: in_pieces(run.events[seq:])


class Reading:
    """Follows a run: `start` brings what happened so far on the caller's thread, `take` what has come since."""

    def __init__(self, run: Any) -> None:
        self._run, self._inbox = run, deque[list[Event]]()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._reader: threading.Thread | None = None
        self._fold: Callable[[list[Event]], None] = lambda events: None
        self._wake: Callable[[], None] = lambda: None
        self._taken = 0
        self.done = threading.Event()
        file = _log_of(run)
        first = next(source_of(run)(0), [])
        last = file.last() if file is not None else (run.events or [None])[-1]
        self.first_s = first[0].time_s if first else 0.0
        self.last_s = last.time_s if last else self.first_s
        self._last_seq = last.seq if last else 0

    @property
    def share(self) -> float | None:
        """Return how much of what had happened at the start is read, or None once it all is."""
        return None if self.done.is_set() or not self._last_seq else min(1.0, self._taken / self._last_seq)

    def length_s(self, latest_s: float) -> float:
        """Return the seconds from the run's first event to the last that is known, here or to who asks (Unix time)."""
        return max(0.0, max(latest_s, self.last_s) - self.first_s)

    def start(self, fold: Callable[[list[Event]], None], wake: Callable[[], None]) -> None:
        """Hand what happened so far to `fold`, and from then on call `wake` whenever something has come."""
        self._reader, self._fold, self._wake = threading.current_thread(), fold, wake
        self._unsubscribe = self._run.subscribe(self._on_events, replay=True)
        self._reader = None

    def _on_events(self, events: list[Event]) -> None:
        """Take events on whatever thread brings them: only a note, so that the run's stream never waits.

        While the past is read, on our own thread, the piece before is folded in: the last one is brought while the
        stream waits, and is left for `take`.
        """
        if not self.first_s and events:
            self.first_s = events[0].time_s
        if threading.current_thread() is self._reader:
            self._fold(self.take())
        self._inbox.append(events)
        self._wake()

    def take(self) -> list[Event]:
        """Return what came since the last call, in order."""
        taken: list[Event] = []
        while self._inbox:
            taken.extend(self._inbox.popleft())
        self._taken = taken[-1].seq if taken else self._taken
        return taken

    def stop(self) -> None:
        """Hear no more of the run."""
        self._unsubscribe()
