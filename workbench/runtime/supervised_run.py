"""A run as the run manager holds it: its state, its log, and what it has yet to write there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.core.events import Event
from workbench.runtime.event_log import EventLog
from workbench.runtime.run_records import RunState


@dataclass(slots=True)
class SupervisedRun:
    """Mutable, for the run manager alone."""

    run_id: str
    folder: Path
    config: dict[str, Any]
    options: dict[str, Any]
    state: RunState
    log: EventLog
    unsent: list[Event] = field(default_factory=list)
    is_due: bool = False  # to be sent within milliseconds
    told: set[str] = field(default_factory=set)  # what is said once
    retries: bool = False  # to write its log
