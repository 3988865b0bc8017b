"""The way to any moment of a run's past: a bounded number of noted moments, and the events between them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator

from workbench.core.events import Event
from workbench.dashboard.base import Dashboard, Moment

EventsAfter = Callable[[int], Iterator[list[Event]]]  # seq -> the events after it, in order, in pieces
CAPACITY = 96
FIRST_STRIDE = 512


class Past:
    """Moments at equal distances of events, at most `capacity`: where there are more, every other one goes.

    Parameters
    ----------
    capacity : int
        Moments at most.
    stride : int
        Events between two at first.
    """

    def __init__(self, capacity: int = CAPACITY, stride: int = FIRST_STRIDE) -> None:
        assert capacity >= 2
        assert stride >= 1
        self._capacity, self._stride = capacity, stride
        self._moments: list[Moment] = [Dashboard().moment]

    def __len__(self) -> int:
        return len(self._moments)

    def apply(self, dashboard: Dashboard, events: list[Event]) -> None:
        """Let a dashboard take events in, and note its moments on the way."""
        for start in range(0, len(events), self._stride):
            dashboard.apply(events[start : start + self._stride])
            self._note(dashboard)

    def _note(self, dashboard: Dashboard) -> None:
        if dashboard.seq < self._moments[-1].seq + self._stride:
            return
        self._moments.append(dashboard.moment)
        if len(self._moments) > self._capacity:
            self._moments = self._moments[::2]
            self._stride *= 2

    def before(self, time_s: float) -> Moment:
        """Return the last noted moment at which nothing later than a time (Unix seconds) had been told."""
        times = [moment.time_s for moment in self._moments]
        return self._moments[max(0, bisect.bisect_right(times, time_s) - 1)]


class Reel:
    """A dashboard at a moment that moves: forward event by event, anywhere by way of the past.

    The moment `time_s` shows the events of the log up to the first that happened later: a log's events are in the
    order in which they arrived, and clocks of processes differ a little.
    """

    def __init__(self, past: Past, events_after: EventsAfter, panels: Dashboard | None = None) -> None:
        self.dashboard = panels or Dashboard()
        self._past, self._events_after = past, events_after
        self._pieces: Iterator[list[Event]] | None = None
        self._waiting: list[Event] = []

    def seek(self, time_s: float) -> None:
        """Go to a moment, forward or back."""
        self.dashboard.go_to(self._past.before(time_s))
        self._pieces, self._waiting = None, []
        self.advance(time_s)

    def advance(self, time_s: float, max_events: int | None = None) -> bool:
        """Go forward to a moment; return whether it was reached with at most `max_events`."""
        taken = 0
        while self._fill():
            count = next((i for i, event in enumerate(self._waiting) if event.time_s > time_s), len(self._waiting))
            if max_events is not None:
                count = min(count, max_events - taken)
            self.dashboard.apply(self._waiting[:count])
            self._waiting = self._waiting[count:]
            taken += count
            if self._waiting:
                return self._waiting[0].time_s > time_s
        return True

    def _fill(self) -> bool:
        """Have events that wait; False at the end of the log (which may have grown when it is asked again)."""
        if self._waiting:
            return True
        if self._pieces is None:
            self._pieces = self._events_after(self.dashboard.seq)
        self._waiting = next(self._pieces, [])
        if not self._waiting:
            self._pieces = None
        return bool(self._waiting)


def in_pieces(events: Iterable[Event], size: int = 2048) -> Iterator[list[Event]]:
    """Yield events as lists of at most `size`."""
    piece: list[Event] = []
    for event in events:
        piece.append(event)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece
