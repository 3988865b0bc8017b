"""What tests look at in a run, and how they wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from workbench.core.events import of_kind
from workbench.runtime.run import Run

PATIENCE_S = 240.0  # for what takes a second on an idle machine
Launch = Callable[..., Run]


def losses(run: Run) -> list[tuple[int, int, float]]:
    """Return (step, rank, loss) of every step, of the last telling where a restart repeated one."""
    told = {(e.data["step"], e.rank): e.data["loss"] for e in of_kind(run.events, "step_finished")}
    return [(step, rank, loss) for (step, rank), loss in sorted(told.items())]


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds, and return its value."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}")


def step_of(run: Run) -> int:
    """Return the last global step that a run has told."""
    return max((e.data["step"] for e in of_kind(run.events, "step_finished")), default=0)


def rank_pid(run: Run, rank: int) -> int:
    """Return the process id of a rank in the newest generation."""
    return int([e for e in of_kind(run.events, "rank_ready") if e.rank == rank][-1].data["pid"])


def has_no_gap(run: Run) -> bool:
    """Say whether the events are numbered 1, 2, 3, ..."""
    return [event.seq for event in run.events] == list(range(1, len(run.events) + 1))
