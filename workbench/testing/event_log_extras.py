"""What only some strategies tell, put into an invented log: gathered rows, ages, predicted bytes, GPUs.

Each function takes a log and returns another, numbered anew. Nothing here is a measurement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from workbench.core.events import EVENT_KINDS, Event

NUM_ROWS = 9_000  # of a batch, not owned by its rank


def _numbered(events: Iterable[Event]) -> list[Event]:
    return [dataclasses.replace(event, seq=number) for number, event in enumerate(events, start=1)]


def _before_steps(events: Iterable[Event], make: Callable[[Event], Iterator[Event]]) -> list[Event]:
    def told() -> Iterator[Event]:
        for event in events:
            if event.kind == "step_finished":
                yield from make(event)
            yield event

    return _numbered(told())


def _like(event: Event, kind: str, **data: object) -> Event:
    assert set(data) == set(EVENT_KINDS[kind].fields), (kind, set(data) ^ set(EVENT_KINDS[kind].fields))
    return dataclasses.replace(event, kind=kind, data=data)


def with_cache(
    events: Iterable[Event], *, hit_ratio: float = 0.7, lost_at: int = 71, lost_rank: int = 1
) -> list[Event]:
    """Let every rank have a cache that fills within 20 steps; that of `lost_rank` is lost at step `lost_at`."""
    rng = np.random.default_rng(3)

    def make(event: Event) -> Iterator[Event]:
        step = event.data["step"]
        filled = step - lost_at if event.rank == lost_rank and step >= lost_at else step
        cached = int(NUM_ROWS * hit_ratio * (1 - np.exp(-filled / 6)) * (1 + 0.01 * rng.uniform(-1, 1)))
        rows = {"num_local": event.data["num_nodes"] - NUM_ROWS, "num_cached": cached, "num_remote": NUM_ROWS - cached}
        yield _like(event, "rows_gathered", step=step, **rows)

    return _before_steps(events, make)


def with_staleness(events: Iterable[Event], *, bound: int | None = 1, source: str = "halo") -> list[Event]:
    """Let every rank read rows up to `bound` steps old (12 where there is none); in the first step they are zeros."""
    rng = np.random.default_rng(4)

    def make(event: Event) -> Iterator[Event]:
        step = event.data["step"]
        most = min(step - 1, 12 if bound is None else bound)
        counts = [int(n) for n in rng.multinomial(4_000, np.full(most, 1 / most))] if most else []
        ages = list(range(1, most + 1))
        cold = 4_000 if not most else 0
        fields = {"step": step, "source": source, "bound": bound, "num_cold": cold}
        yield _like(event, "staleness_measured", ages=ages, counts=counts, **fields)

    return _before_steps(events, make)


def with_prediction(events: Iterable[Event], **bytes_by_kind: float) -> list[Event]:
    """Tell after the training's start what a step is predicted to move."""

    def told() -> Iterator[Event]:
        for event in events:
            yield event
            if event.kind == "train_started":
                formulas = dict.fromkeys(bytes_by_kind, "invented")
                yield _like(event, "traffic_predicted", bytes=bytes_by_kind, formulas=formulas)

    return _numbered(told())


def with_gpus(events: Iterable[Event], *, limit_bytes: int = 80 << 30) -> list[Event]:
    """Let every trainer have a device, a quarter of whose memory is used."""

    def told() -> Iterator[Event]:
        for event in events:
            if event.kind == "resources_measured" and event.data["role"] == "trainer":
                gpu = {"name": "invented", "percent": 55.0, "used_bytes": limit_bytes // 4, "limit_bytes": limit_bytes}
                event = dataclasses.replace(event, data={**event.data, "gpu": gpu})
            yield event

    return _numbered(told())
