"""What a rank notes while it works: spans of time by phase, and bytes by kind."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.phases import Phase, Span

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(slots=True)
class _Reading:
    """Rows read by age, and those never written."""

    counts: Counter[int] = field(default_factory=Counter)
    num_cold: int = 0


class Recorder:
    """Collects spans and bytes until they are taken for an event.

    Durations come from ``time.perf_counter``. It is mapped to Unix time once, at the start, so that the spans of a
    rank never overlap or run backwards when the system's clock is set.
    """

    def __init__(self, unix_time_s: float | None = None) -> None:
        now = time.time() if unix_time_s is None else unix_time_s
        self._offset_s = now - time.perf_counter()
        self._spans: list[Span] = []
        self._open: list[tuple[Phase, float]] = []  # each span that is open: since when it, or its current piece, runs
        self._bytes: Counter[str] = Counter()
        self._total_bytes: Counter[str] = Counter()
        self._readings: dict[tuple[str, int | None], _Reading] = {}
        self._messages: Mapping[str, list[int]] = {}
        self._own_rounds: dict[str, list[int]] = {}

    def read(self, source: str, ages: ArrayLike, *, bound: int | None, num_cold: int = 0) -> None:
        """Note how old what was read is, in steps; readings of one source and bound add up until they are taken.

        Parameters
        ----------
        source : str
            As in the event ``staleness_measured``.
        ages : array_like of int
            One a row (or a set of parameters) read, rows that were never written left out.
        bound : int or None
            The greatest age that is allowed.
        num_cold : int
            Rows read that were never written.
        """
        found, counts = np.unique(np.asarray(ages, np.int64), return_counts=True)
        reading = self._readings.setdefault((source, bound), _Reading())
        reading.num_cold += int(num_cold)
        reading.counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def take_readings(self) -> list[dict[str, Any]]:
        """Return what was read since the last call: the fields of the event but the step."""
        readings, self._readings = self._readings, {}
        return [
            {
                "source": source,
                "ages": sorted(reading.counts),
                "counts": [reading.counts[age] for age in sorted(reading.counts)],
                "bound": bound,
                "num_cold": reading.num_cold,
            }
            for (source, bound), reading in readings.items()
        ]

    def count_round(self, kind: str) -> None:
        """Count a message that was sent past the transport, to a server that answers: a round by itself."""
        rounds, messages = self._own_rounds.get(kind, (0, 0))
        self._own_rounds[kind] = [rounds + 1, messages + 1]

    def news_of_messages(self, counted: Mapping[str, list[int]]) -> dict[str, dict[str, int]] | None:
        """Return rounds and messages by kind where they differ from those given last: the fields of the event."""
        counted, self._own_rounds = {**counted, **self._own_rounds}, {}
        if counted == self._messages:
            return None
        self._messages = counted
        rounds, messages = ({kind: both[i] for kind, both in sorted(counted.items())} for i in (0, 1))
        return {"rounds": rounds, "messages": messages}

    @contextmanager
    def span(self, phase: Phase) -> Iterator[None]:
        """Time what happens inside as `phase`, also where it raises.

        A span inside another interrupts it, so that no moment is counted twice: an exchange inside a forward leaves
        two spans of forward, before and after.
        """
        start = time.perf_counter()
        if self._open:
            self._note(*self._open[-1], start)
        self._open.append((phase, start))
        try:
            yield
        finally:
            end = time.perf_counter()
            self._note(*self._open.pop(), end)
            if self._open:
                self._open[-1] = self._open[-1][0], end

    def _note(self, phase: Phase, start: float, end: float) -> None:
        self._spans.append(Span(phase=phase, start_s=start + self._offset_s, duration_s=end - start))

    def count(self, kind: str, num_bytes: int) -> None:
        """Count bytes that moved."""
        if num_bytes:
            self._bytes[kind] += int(num_bytes)
            self._total_bytes[kind] += int(num_bytes)

    def count_all(self, bytes_by_kind: Mapping[str, int]) -> None:
        for kind, num_bytes in bytes_by_kind.items():
            self.count(kind, num_bytes)

    def take_spans(self) -> list[Span]:
        """Return the spans since the last call, in order of their start."""
        spans, self._spans = sorted(self._spans, key=lambda span: span.start_s), []
        return spans

    def take_bytes(self) -> dict[str, int]:
        """Return the bytes since the last call."""
        counted, self._bytes = dict(self._bytes), Counter()
        return counted

    def total_bytes(self) -> dict[str, int]:
        """Return all bytes counted since the start, by kind."""
        return dict(self._total_bytes)
