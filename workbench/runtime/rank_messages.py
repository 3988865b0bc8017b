"""What a rank's messages mean: signals for the state machine of its run, and how an event of it is completed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.core.events import Event
from workbench.runtime.rank_host import rank_log, read_tail
from workbench.runtime.run_records import Publish, RankReported, RankStill, RankTold, Signal, StoreOpened


def signals_of(message: dict[str, Any], rank: int, generation: int, now_s: float) -> Iterator[Signal]:
    """Yield the signals of one message of a rank, by its ``op``."""
    fields = {key: value for key, value in message.items() if key != "op"}
    match message["op"]:
        case "events":
            for event in message["events"]:
                of_event = {name: event[name] for name in ("time_s", "kind", "data")}
                yield RankTold(rank=rank, generation=generation, **of_event)
        case "store":
            yield StoreOpened(time_s=now_s, generation=generation, **fields)
        case "report":
            yield RankReported(time_s=now_s, rank=rank, generation=generation, **fields)
        case "still":
            yield RankStill(time_s=now_s, rank=rank, generation=generation, **fields)


def event_of(told: Publish, folder: Path) -> Event:
    """Return the event to publish; the end of a lost rank's output comes from the run's folder."""
    data = dict(told.data)
    if told.kind == "rank_failed" and not data["log_tail"]:
        data["log_tail"] = read_tail(rank_log(folder, told.rank))
    return Event(kind=told.kind, time_s=told.time_s, generation=told.generation, rank=told.rank, data=data)
