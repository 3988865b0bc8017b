"""When rows that travel behind the computation are sent, and which of them a step reads: pure bookkeeping.

Bounded staleness (Besta & Hoefler, arXiv 2205.09702): what a step t reads from other ranks is of a step >= t - T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workbench.train.transport import NothingPending, Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Rows are sent every `refresh_every` steps and read until they are `bound` steps old.

    Parameters
    ----------
    bound : int
        T: the greatest age of a row that is read, in steps. 0: of this very step.
    refresh_every : int
        R, at most T + 1: steps from one sending to the next.
    """

    bound: int
    refresh_every: int = 1

    @property
    def lag(self) -> int:
        """The least age of a row that is read, ``T - R + 1``: for so many steps it may travel."""
        return self.bound - self.refresh_every + 1

    def is_due(self, step: int) -> bool:
        """Say whether rows are sent in a step (from 1)."""
        return (step - 1) % self.refresh_every == 0

    def choose(self, written: Iterable[int], step: int) -> int | None:
        """Return the newest of the steps in which rows were sent that may be read now, or None."""
        return max((s for s in written if self.lag <= step - s <= self.bound), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Rows that were sent in a step; `rows` holds them once `pending` has been waited for."""

    step: int
    rows: Tensor
    pending: Pending


class LateRows:
    """What the exchanges of one call bring, one a sending, kept until nobody reads it any more.

    Parameters
    ----------
    schedule : Schedule
    smoothing : float
        gamma in ``average <- gamma average + (1 - gamma) received``, from zeros on, taken once a sending; 0: none.
    """

    def __init__(self, schedule: Schedule, smoothing: float = 0.0) -> None:
        self._schedule, self._smoothing = schedule, smoothing
        self._kept: dict[int, Arrival] = {}
        self._first_step = 0  # in which something was sent; 0: nothing yet
        self._average: Tensor | None = None
        self._averaged_step = 0

    def choose(self, step: int, start: Callable[[], Arrival]) -> Arrival | None:
        """Send where it is due, and return what this step reads, or None while the first rows are on their way.

        Where later nothing of the right age is there, since the call was left out meanwhile, the step reads what it
        sends itself. Ranks that make the same calls choose alike.
        """
        if self._schedule.is_due(step):
            self._kept[step] = start()
            self._first_step = self._first_step or step
        chosen = self._schedule.choose(self._kept, step)
        oldest = step - self._schedule.bound if chosen is None else chosen
        if chosen is None and self._first_step and step - self._first_step >= self._schedule.lag:
            if step not in self._kept:
                self._kept[step] = start()
            chosen = step
        for old in [s for s in self._kept if s < oldest]:
            self._kept.pop(old).pending.wait()  # nobody reads it; its messages must not be waiting for ever
        return None if chosen is None else self._kept[chosen]

    def take(self, arrival: Arrival) -> Tensor:
        """Return the rows of an arrival that has been waited for, smoothed over those before it."""
        if not self._smoothing:
            return arrival.rows
        if self._average is None or self._averaged_step != arrival.step:
            before = torch.zeros_like(arrival.rows) if self._average is None else self._average
            self._average = self._smoothing * before + (1.0 - self._smoothing) * arrival.rows
            self._averaged_step = arrival.step
        return self._average

    def settle(self) -> None:
        """Wait for all that is under way."""
        for arrival in self._kept.values():
            arrival.pending.wait()

    def state_dict(self) -> dict[str, Any]:
        """Return what was sent and is still to be read, and the average; nothing may be under way."""
        rows = {step: arrival.rows for step, arrival in self._kept.items()}
        average = {"average": self._average, "averaged_step": self._averaged_step}
        return {"rows": rows, "first_step": self._first_step, **average}

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        """Put back what `state_dict` returned."""
        self._kept = {
            step: Arrival(step=step, rows=rows.to(device), pending=NothingPending())
            for step, rows in state["rows"].items()
        }
        self._first_step = state["first_step"]
        self._average = None if state["average"] is None else state["average"].to(device)
        self._averaged_step = state["averaged_step"]
