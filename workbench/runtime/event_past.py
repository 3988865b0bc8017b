"""The events of a run so far: the newest in memory, the older in the log alone, however long the run is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from workbench.core.errors import RunError
from workbench.core.events import Event, of_kind
from workbench.runtime.event_log import Read, log_pieces
from workbench.runtime.run_folder import RunFolder

WINDOW_EVENTS = 8192  # some 15 MB
_LAST = ("train_started", "rank_failed", "run_failed")


class EventPast:
    """What happened in a run, in bounded memory.

    Parameters
    ----------
    folder : RunFolder
        Its log holds everything.
    tail : callable
        Returns what follows a byte of the log by way of the scheduler, for what the file does not show (yet).
    num_kept : int
        Newest events that stay in memory.
    """

    def __init__(self, folder: RunFolder, tail: Read, num_kept: int = WINDOW_EVENTS) -> None:
        self._folder, self._tail = folder, tail
        self._newest: deque[Event] = deque(maxlen=num_kept)
        self._last: dict[str, Event] = {}
        self._epochs: dict[int, Event] = {}
        self.seq = 0

    def add(self, events: list[Event]) -> None:
        """Take in the next events, in order."""
        if not events:
            return
        assert events[0].seq == self.seq + 1, f"event {events[0].seq} follows {self.seq}"
        self.seq = events[-1].seq
        self._newest.extend(events)
        for event in of_kind(events, *_LAST, "epoch_finished", "run_restarting"):
            if event.kind == "epoch_finished":
                self._epochs.pop(event.data["epoch"], None)  # the order is that of the last telling
                self._epochs[event.data["epoch"]] = event
            elif event.kind == "run_restarting":
                self._last.pop("run_failed", None)  # it goes on
            else:
                self._last[event.kind] = event

    @property
    def milestones(self) -> list[Event]:
        """Return what history, progress and failure are told from: the epochs, the start, the last failure."""
        return [*self._last.values(), *self._epochs.values()]

    def newest(self, after: int) -> list[Event] | None:
        """Return the events after a ``seq``, or None where some of them are no longer in memory."""
        first = self.seq - len(self._newest) + 1
        if after + 1 < first:
            return None
        return list(self._newest)[after + 1 - first :]

    def pieces(self, after: int, upto: int) -> Iterator[list[Event]]:
        """Yield the events after one ``seq`` and up to another from the log, some thousand at a time.

        Raises
        ------
        RunError
            Where the log does not hold them: somebody removed or damaged it.
        """
        for events in self._logged():
            wanted = [event for event in events if after < event.seq <= upto]
            if wanted:
                yield wanted
            if events[-1].seq >= upto:
                return
        raise RunError(
            f"run {self._folder.id}: events up to {upto:,} happened, and its log does not hold them. "
            f"Fix: put {self._folder.log} back"
        )

    def _logged(self) -> Iterator[list[Event]]:
        offset = 0
        for events, end in log_pieces(self._folder.log):
            offset = end
            yield events
        # What a full disk has not taken yet, or a shared file system does not show yet.
        yield from (events for events, _ in log_pieces(self._tail, offset))
