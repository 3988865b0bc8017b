"""The phases of a training step: what a rank or a sampler can be doing at a moment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """One kind of work inside a step; the value is the name in events and on screen."""

    SAMPLE = "sample"
    GATHER = "gather"
    TRANSFER = "transfer"
    FORWARD = "forward"
    BACKWARD = "backward"
    EXCHANGE = "exchange"
    ALL_REDUCE = "all_reduce"
    UPDATE = "update"
    WAIT_FOR_BATCH = "wait_for_batch"
    WAIT_FOR_RANK = "wait_for_rank"
    EVALUATE = "evaluate"
    CHECKPOINT = "checkpoint"

    @property
    def group(self) -> str:
        """Return ``data``, ``compute``, ``communication`` or ``idle``."""
        return _GROUPS[self]


_GROUPS = {
    Phase.SAMPLE: "data",
    Phase.GATHER: "data",
    Phase.TRANSFER: "data",
    Phase.FORWARD: "compute",
    Phase.BACKWARD: "compute",
    Phase.UPDATE: "compute",
    Phase.EVALUATE: "compute",
    Phase.CHECKPOINT: "data",
    Phase.EXCHANGE: "communication",
    Phase.ALL_REDUCE: "communication",
    Phase.WAIT_FOR_BATCH: "idle",
    Phase.WAIT_FOR_RANK: "idle",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A phase with its time: `start_s` is Unix time, so that spans of all processes share one axis."""

    phase: Phase
    start_s: float
    duration_s: float

    def to_json(self) -> list[float | str]:
        return [self.phase.value, self.start_s, self.duration_s]
