"""A run of the past as it looked then: the same events through the same panels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.core.events import Event
from workbench.dashboard.base import Dashboard, Panel, View


def view_at(events: Sequence[Event], time_s: float, panels: Mapping[str, Panel[Any]] | None = None) -> dict[str, View]:
    """Return what the dashboard showed at a moment (Unix seconds) of a run's past."""
    dashboard = Dashboard(panels)
    dashboard.apply(event for event in events if event.time_s <= time_s)
    return dashboard.view()


def frames(events: Sequence[Event], every_s: float) -> Iterator[tuple[float, list[Event]]]:
    """Yield (time, new events until then) in equal steps of a run's own time; a player chooses the speed.

    Events keep the order of the log, also where clocks of processes differ; every event comes in exactly one frame.
    """
    assert every_s > 0, "a frame lasts some time"
    if not events:
        return
    end_s, waiting = events[0].time_s + every_s, list[Event]()
    for event in events:
        while event.time_s > end_s:
            yield end_s, waiting
            waiting, end_s = [], end_s + every_s
        waiting.append(event)
    yield end_s, waiting
